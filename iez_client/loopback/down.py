"""Down: unmounts a file system; and clean: what a crash has left behind."""

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from iez_client.filesystems import loopback_mounts
from iez_client.loopback import daemon, images
from iez_client.loopback.config import CONFIG_FILE
from iez_client.loopback.store import Store, locked_stores, stores
from iez_client.loopback.unmount import unmount


def take_down(store: Store, keep: bool) -> None:
    for directory in store.mounts:
        unmount(directory)
    daemon.end(store)
    if not keep:
        store.remove()


def clean() -> Iterator[str]:
    """Removes mounts and stores whose daemon is gone. Tells what was removed."""
    with locked_stores():
        for directory, path in loopback_mounts().items():
            if Store(path).pid or not _is_dead(directory):
                continue
            unmount(directory, lazily=True)
            yield f"the mount {directory}"
            if _is_ours(path):
                yield _remove(Store(path))
        for store in stores():
            if not store.pid:
                yield _remove(store)


def _remove(store: Store) -> str:
    images.wait_until_free(store.path)
    store.remove()
    return f"the store {store.path}"


def _is_ours(store: Path) -> bool:
    try:
        return (store / CONFIG_FILE).stat().st_uid == os.geteuid()
    except OSError:
        return False


def _is_dead(directory: str) -> bool:
    """Other errors come from the mounts of other users, which are closed to this one."""
    try:
        os.statvfs(directory)  # what the kernel does not remember it has to ask for
    except OSError as error:
        return error.errno == errno.ENOTCONN
    return False
