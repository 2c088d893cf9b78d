"""`iez loopback set`: makes an OST slow, full, read-only, dead … while it is mounted."""

import argparse
import errno
from dataclasses import replace
from pathlib import Path

from iez_client.cli.commands import Parser
from iez_client.cli.loopback_up import OST_BYTES_MIN, amount_option
from iez_client.loopback.config import SILENT, STATES, Config, Ost
from iez_common.errors import UsageError
from iez_common.mock import INJECTIONS
from iez_common.units import parse_indices


def parser(command: str) -> Parser:
    change = Parser(
        command,
        "Changes the OSTs WHICH (3, 0-4, oss1 for those of a server, all) of a loopback file\n"
        f"system while it is mounted. States: {', '.join(STATES)}; ok for none.\n"
        "--inject forces an answer on everybody who asks for a layout.",
        "  iez loopback set 3 --bandwidth 2M\n  iez loopback set oss1 --state degraded\n"
        "  iez loopback set --inject silent",
    )
    change.add_argument("which", metavar="WHICH", nargs="?", default="", help="OSTs")
    change.add_argument("--dir", type=Path, metavar="DIR", help="the file system, if several")
    change.add_argument(
        "--bandwidth", type=amount_option, metavar="SIZE", help="in a second; 0: no limit"
    )
    change.add_argument(
        "--oss-bandwidth", type=amount_option, metavar="SIZE", help="of ossN as a whole"
    )
    change.add_argument("--window", type=amount_option, metavar="SIZE", help="what may wait for it")
    change.add_argument(
        "--size", type=amount_option, metavar="SIZE", help="of OSTs that are directories"
    )
    change.add_argument("--state", metavar="NAMES", help="such as degraded,full; ok: none")
    change.add_argument("--inject", metavar="ERROR", help="EINVAL, ENOSPC, …, silent or none")
    change.set_defaults(run=run_set)
    return change


def run_set(options: argparse.Namespace) -> int:
    from iez_client.loopback import daemon
    from iez_client.loopback.store import locked_stores, store_of

    store = store_of(options.dir)
    with locked_stores():
        daemon.change(store, _changed(store.config, options))
    return 0


def _changed(config: Config, options: argparse.Namespace) -> Config:
    wishes = (options.bandwidth, options.window, options.size, options.state)
    has_wish = any(wish is not None for wish in (*wishes, options.oss_bandwidth))
    if has_wish and not options.which:
        raise UsageError("which OSTs are to change is not said", "iez loopback set all …")
    if not has_wish and (options.which or not options.inject):
        raise UsageError("nothing to change", "iez loopback set 3 --bandwidth 2M")
    if options.size is not None and config.images:
        raise UsageError("the size of an image stays as it is", "iez loopback up --directories")
    if options.size is not None and options.size < OST_BYTES_MIN:
        raise UsageError("an OST is at least 1M large", "--size 1G")
    if options.inject is not None:
        config = replace(config, inject=_inject(options.inject))
    if options.oss_bandwidth is not None:
        config = _with_server(config, options.which, options.oss_bandwidth)
    chosen = _chosen(config, options.which) if has_wish else ()
    return config.with_osts({ost.index: _changed_ost(ost, options) for ost in chosen})


def _changed_ost(ost: Ost, options: argparse.Namespace) -> Ost:
    return replace(
        ost,
        bandwidth=ost.bandwidth if options.bandwidth is None else options.bandwidth,
        window_bytes=ost.window_bytes if options.window is None else options.window,
        size_bytes=ost.size_bytes if options.size is None else options.size,
        states=ost.states if options.state is None else _states(options.state),
    )


def _with_server(config: Config, which: str, bandwidth: int) -> Config:
    number = which.removeprefix("oss")
    if which == number or not number.isdigit() or int(number) >= len(config.oss_bandwidths):
        raise UsageError("--oss-bandwidth is for a server", "iez loopback set oss0 …")
    rates = list(config.oss_bandwidths)
    rates[int(number)] = bandwidth
    return replace(config, oss_bandwidths=tuple(rates))


def _chosen(config: Config, which: str) -> list[Ost]:
    if which == "all":
        return list(config.osts)
    if which.startswith("oss"):
        found = [ost for ost in config.osts if f"oss{ost.oss}" == which]
    else:
        try:
            indices = parse_indices(which)
        except ValueError as error:
            raise UsageError(str(error), "3, 0-4, oss1 or all") from error
        found = [ost for ost in config.osts if ost.index in indices]
        if len(found) < len(indices):
            found = []
    if not found:
        raise UsageError(f"there is no OST {which}", "iez loopback status")
    return found


def _states(text: str) -> int:
    names = [] if text == "ok" else text.replace(",", " ").split()
    for name in names:
        if name not in STATES:
            raise UsageError(f"{name!r} is not a state", f"one of: {', '.join(STATES)}, ok")
    return sum(STATES[name] for name in set(names))


def _inject(name: str) -> int:
    if name in ("none", "silent"):
        return SILENT if name == "silent" else 0
    if name not in INJECTIONS:
        known = ", ".join(("none", "silent", *INJECTIONS))
        raise UsageError(f"{name!r} cannot be injected", f"one of: {known}")
    return int(getattr(errno, name))
