"""Store: where a loopback file system keeps its objects, and how stores are found."""

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from iez_client.filesystems import loopback_mounts
from iez_client.loopback.config import CONFIG_FILE, Config, read_config
from iez_common import config as settings
from iez_common.errors import IezError, LoopbackError

_MADE_MOUNT = "made-mount-point"  # `up` made the mount point, so it is removed with the store
# All that a store may hold: what is not here is somebody else's and is left alone.
CONTENTS = (
    CONFIG_FILE, "meta", "mdt", "ost", "image", "client", "server", "log", "daemon", "generation",
    _MADE_MOUNT,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Store:
    """A directory with a config file in it."""

    path: Path

    @property
    def config(self) -> Config:
        return read_config(self.path)

    @property
    def pid(self) -> int:
        """Its daemon's number; 0: none is running."""
        try:
            descriptor = os.open(self.path / "daemon", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return 0
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            text = os.read(descriptor, 32).strip()
            return int(text) if text.isdigit() else 0
        else:
            return 0
        finally:
            os.close(descriptor)

    @property
    def is_mounted(self) -> bool:
        return self.config.mount in loopback_mounts()

    def mark_made_mount(self) -> None:
        (self.path / _MADE_MOUNT).touch()

    def remove(self) -> None:
        """The store with all it holds, the mount point if `up` made it, and the link to it."""
        mount = Path(self.config.mount)
        made_mount = (self.path / _MADE_MOUNT).exists()
        for link in _links():
            if link.is_symlink() and link.resolve() == self.path:
                link.unlink()
        for name in CONTENTS:
            path = self.path / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, onerror=_make_removable)
            else:
                path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # a directory of the user's may hold more
            self.path.rmdir()
        if made_mount:
            with contextlib.suppress(OSError):
                mount.rmdir()


def _make_removable(_function: object, path: str, _error: object) -> None:
    """A user's own directories may be closed to the user: that is how files are tested."""
    with contextlib.suppress(OSError):
        os.chmod(Path(path).parent, 0o700)  # noqa: PTH101
        os.chmod(path, 0o700, follow_symlinks=False) if not os.path.islink(path) else None  # noqa: PTH101, PTH114
    if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            os.unlink(path)  # noqa: PTH108


def stores_directory() -> Path:
    state = settings.load().path("state_dir")
    if state is None:
        raise LoopbackError("there is no state directory", "IEZ_STATE_DIR=DIR")
    return state / "loopback"


def _links() -> list[Path]:
    try:
        return sorted(stores_directory().iterdir())
    except OSError:
        return []


def stores() -> Iterator[Store]:
    """All that this user has brought up, by name."""
    for path in _links():
        if (path / CONFIG_FILE).exists():
            yield Store(path.resolve())


def store_of(directory: Path | None) -> Store:
    """The store of the file system at `directory`, or the only one there is."""
    if directory is not None:
        mount = os.path.realpath(directory)
        path = loopback_mounts().get(mount)
        if path and (path / CONFIG_FILE).exists():
            return Store(path)
        for store in stores():
            if _mount_of(store) == mount:
                return store
        raise LoopbackError(f"{directory} is no loopback file system", "iez loopback status")
    found = list(stores())
    if not found:
        raise LoopbackError("there is no loopback file system", "iez loopback up DIR")
    if len(found) > 1:
        names = ", ".join(_mount_of(store) for store in found)
        raise LoopbackError(f"there are several loopback file systems: {names}", "name one")
    return found[0]


def _mount_of(store: Store) -> str:
    try:
        return store.config.mount
    except IezError:
        return ""


def wait_until_dead(store: Store, limit_s: float) -> bool:
    end_s = time.monotonic() + limit_s
    while store.pid:
        if time.monotonic() > end_s:
            return False
        time.sleep(0.02)
    return True
