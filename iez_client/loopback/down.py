"""Down: unmounts a file system; and clean: what a crash has left behind."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from iez_client.filesystems import loopback_mounts
from iez_client.loopback import daemon
from iez_client.loopback.config import CONFIG_FILE
from iez_client.loopback.store import Store, stores
from iez_common.errors import IezError, LoopbackError


def take_down(store: Store, keep: bool) -> None:
    config = store.config
    if store.is_mounted:
        _unmount(config.mount)
    daemon.end(store)
    if not keep:
        store.remove()


def clean() -> list[str]:
    """Removes mounts and stores whose daemon is gone. Tells what was removed."""
    removed = []
    for directory, path in loopback_mounts().items():
        store = Store(path)
        if store.pid or not _is_dead(directory):
            continue
        _unmount(directory, lazily=True)
        removed.append(f"the mount {directory}")
        if (store.path / CONFIG_FILE).exists() and _is_ours(store):
            store.remove()
            removed.append(f"the store {store.path}")
    for store in stores():
        if store.pid:
            continue
        try:
            store.remove()
        except IezError:
            continue  # its settings are damaged: who knows what it is
        removed.append(f"the store {store.path}")
    return removed


def _is_ours(store: Store) -> bool:
    return store.path.stat().st_uid == os.geteuid()


def _is_dead(directory: str) -> bool:
    try:
        os.stat(directory)  # noqa: PTH116 - the error matters
    except OSError:
        return True
    return False


def _unmount(directory: str, lazily: bool = False) -> None:
    words = ["umount"] if os.geteuid() == 0 else ["fusermount3", "-u"]
    if lazily:
        words.append("-l" if words[0] == "umount" else "-z")
    try:
        done = subprocess.run([*words, directory], capture_output=True, text=True, check=False)
    except OSError as error:
        raise LoopbackError(f"{words[0]} cannot be run", "apt-get install fuse3") from error
    if done.returncode == 0 or directory not in loopback_mounts():
        return
    users = ", ".join(list(_users(directory))[:5])
    if users:
        raise LoopbackError(f"{directory} is in use by {users}", "end them, and try again")
    raise LoopbackError(f"{directory} cannot be unmounted: {done.stderr.strip()}")


def _users(directory: str) -> Iterator[str]:
    """Processes with a directory or a file open there, as far as this user may see them."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            held = [process / "cwd", process / "root", process / "exe", *(process / "fd").iterdir()]
            if any(_is_below(os.readlink(each), directory) for each in held):  # noqa: PTH115
                name = (process / "comm").read_text().strip()
                yield f"{name} (process {process.name})"
        except OSError:
            continue


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")
