"""The text and the JSON of `iez loopback status`."""

import errno
from collections.abc import Sequence

from iez_client.cli.commands import print_json, print_table
from iez_client.loopback.config import SILENT, Config, Ost
from iez_client.loopback.store import Store
from iez_common.units import format_indices, format_size

_COLUMNS = ("OST", "OSS", "SIZE", "BANDWIDTH", "WINDOW", "STATE")


def print_stores(stores: Sequence[Store]) -> None:
    for number, store in enumerate(stores):
        if number:
            print()
        config = store.config
        print(f"{config.mount} ({config.fsname}): {_life(store)}, kept in {store.path}")
        print_table(_COLUMNS, [_row(ost) for ost in config.osts])
        for oss, rate in enumerate(config.oss_bandwidths):
            if rate:
                print(f"OSS {oss}: {_rate(rate)} for all its OSTs")
        for name, members in config.pools:
            print(f"pool {name}: OST {format_indices(members)}")
        if config.inject:
            print(f"every layout that is asked for is answered with {_inject(config)}")


def _life(store: Store) -> str:
    pid = store.pid
    return f"up, process {pid}" if pid else "down (try: iez loopback up, or iez loopback clean)"


def _row(ost: Ost) -> tuple[str, ...]:
    return (
        str(ost.index),
        str(ost.oss),
        format_size(ost.size_bytes),
        _rate(ost.bandwidth),
        format_size(ost.window_bytes),
        ", ".join(ost.state_names) or "ok",
    )


def _rate(bandwidth: int) -> str:
    return f"{format_size(bandwidth)}/s" if bandwidth else "no limit"


def _inject(config: Config) -> str | None:
    if config.inject == SILENT:
        return "silent"
    return errno.errorcode.get(config.inject) if config.inject else None


def print_stores_json(stores: Sequence[Store]) -> None:
    print_json({"file_systems": [_store_json(store) for store in stores]})


def _store_json(store: Store) -> dict[str, object]:
    config = store.config
    return {
        "name": config.fsname,
        "mount": config.mount,
        "store": str(store.path),
        "pid": store.pid or None,
        "mmap": config.mmap,
        "images": config.images,
        "inject": _inject(config),
        "oss_bandwidths": list(config.oss_bandwidths),
        "pools": {name: list(members) for name, members in config.pools},
        "osts": [
            {
                "index": ost.index,
                "oss": ost.oss,
                "size_bytes": ost.size_bytes,
                "bandwidth_bytes_per_s": ost.bandwidth,
                "window_bytes": ost.window_bytes,
                "states": list(ost.state_names),
            }
            for ost in config.osts
        ],
    }
