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
from iez_common.errors import IezError, LoopbackError, OutputError, reason

_MADE_MOUNT = "made-mount-point"  # holds its name: `up` made it, so it is removed with the store
# All that a store may hold: what is not here is somebody else's and is left alone.
CONTENTS = (
    CONFIG_FILE, "meta", "mdt", "ost", "image", "client", "server", "log", "daemon", "generation",
    "identity", _MADE_MOUNT,
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
    def mounts(self) -> list[str]:
        """Where it is mounted now, whatever its settings say."""
        return [directory for directory, path in loopback_mounts().items() if path == self.path]

    def mark_made_mount(self, mount: Path) -> None:
        (self.path / _MADE_MOUNT).write_bytes(os.fsencode(mount))

    def remove_made_mount(self) -> None:
        """The mount point, if `up` made it."""
        marker = self.path / _MADE_MOUNT
        with contextlib.suppress(OSError):
            os.rmdir(marker.read_bytes())  # noqa: PTH106 - bytes
        marker.unlink(missing_ok=True)

    def remove(self) -> None:
        """The store with all it holds, the mount point if `up` made it, and the link to it."""
        for link in links_to(self.path):
            link.unlink()
        self.remove_made_mount()
        self.empty()
        with contextlib.suppress(OSError):  # a directory of the user's may hold more
            self.path.rmdir()

    def empty(self) -> None:
        """Removes what belongs to the store, and nothing else."""
        try:
            for name in CONTENTS:
                _remove(self.path / name)
        except OSError as error:
            raise OutputError(
                f"{error.filename} cannot be removed: {reason(error)}", f"remove {self.path}"
            ) from error


def _remove(path: Path) -> None:
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    # A user's own directories may be closed to the user: that is how files are tested.
    path.chmod(0o700)
    for folder, names, _ in os.walk(path):
        for each in (Path(folder) / name for name in names):
            if not each.is_symlink():
                each.chmod(0o700)
    shutil.rmtree(path)


def stores_directory() -> Path:
    state = settings.load().path("state_dir")
    if state is None:
        raise LoopbackError("there is no state directory", "IEZ_STATE_DIR=DIR")
    return state / "loopback"


@contextlib.contextmanager
def locked_stores() -> Iterator[Path]:
    """The directory of all stores. No other command adds, changes or cleans them meanwhile."""
    home = stores_directory()
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise OutputError(f"{home}: {reason(error)}", "IEZ_STATE_DIR=DIR") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield home
    finally:
        os.close(descriptor)


def _entries() -> list[Path]:
    try:
        return sorted(stores_directory().iterdir())
    except OSError:
        return []


def links_to(path: Path) -> list[Path]:
    """The names of a store that lies elsewhere."""
    return [entry for entry in _entries() if entry.is_symlink() and entry.resolve() == path]


def stores() -> Iterator[Store]:
    """All that this user has brought up, by name."""
    for path in _entries():
        if (path / CONFIG_FILE).exists():
            yield Store(path.resolve())


def store_of(directory: Path | None) -> Store:
    """The store of the file system at `directory`, or the only one there is."""
    if directory is not None:
        mount = os.path.realpath(directory)
        path = loopback_mounts().get(mount)
        if path and os.access(path / CONFIG_FILE, os.R_OK):
            return Store(path)
        for store in stores():
            if store_is_at(store, mount):
                return store
        if path:
            raise LoopbackError(f"{directory} is not yours, or is dead", "iez loopback clean")
        raise LoopbackError(f"{directory} is no loopback file system", "iez loopback status")
    found = list(stores())
    if not found:
        raise LoopbackError("there is no loopback file system", "iez loopback up DIR")
    if len(found) > 1:
        names = ", ".join(_mount_of(store) or str(store.path) for store in found)
        raise LoopbackError(f"there are several loopback file systems: {names}", "name one")
    return found[0]


def store_is_at(store: Store, mount: str) -> bool:
    """Whether its settings name this mount point."""
    return _mount_of(store) == mount


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
