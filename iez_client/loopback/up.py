"""Up: makes a store, or finds the one that was kept, and mounts it."""

import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path

from iez_client.loopback import daemon, images
from iez_client.loopback.config import CONFIG_FILE, Config, Ost, write_config
from iez_client.loopback.store import Store, stores, stores_directory
from iez_common.errors import IezError, InputError, LoopbackError, OutputError, UsageError, reason

_PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")


@dataclass(frozen=True, slots=True)
class Wish:
    """What a new file system is to be like."""

    oss_count: int = 3
    osts_per_oss: int = 5
    size_bytes: int = 10 << 30
    bandwidth: int = 20 << 20
    oss_bandwidth: int = 0
    window_bytes: int = 8 << 20
    stripe_count: int = 1
    stripe_size: int = 4 << 20
    seed: int = 0  # 0: drawn
    maxage: int = 5
    jobid: str = "procname_uid"
    mmap: bool = False
    images: bool = False
    pools: tuple[tuple[str, tuple[int, ...]], ...] = ()
    name: str = ""
    store: Path | None = None


@dataclass(frozen=True, slots=True)
class Upped:
    """What came of it."""

    store: Store
    config: Config
    is_again: bool  # the store was there, with its files


def bring_up(directory: Path, wish: Wish) -> Upped:
    """Mounts a file system at `directory`. What goes wrong leaves nothing behind."""
    daemon.check_machine()
    mount = Path(os.path.realpath(directory))
    for store in stores():
        if _is_at(store, mount):
            return _again(store)
    made_mount = _prepare_mount_point(mount)
    try:
        store = _make_store(mount, wish)
    except BaseException:
        _undo_mount_point(mount, made_mount)
        raise
    if made_mount:
        store.mark_made_mount()
    try:
        _start(store)
    except BaseException:
        store.remove()
        raise
    return Upped(store, store.config, is_again=False)


def ptrace_warning() -> str:
    """Why layouts could not be set; empty: they can."""
    try:
        is_closed = int(_PTRACE_SCOPE.read_text()) > 0
    except (OSError, ValueError):
        return ""
    if not is_closed or os.geteuid() == 0:
        return ""
    return "this kernel (kernel.yama.ptrace_scope) lets only root's daemon see layouts by ioctl"


def _is_at(store: Store, mount: Path) -> bool:
    try:
        return store.config.mount == str(mount)
    except IezError:
        return False


def _again(store: Store) -> Upped:
    config = store.config
    if store.pid:
        raise LoopbackError(f"{config.mount} is up already", f"iez loopback down {config.mount}")
    if _prepare_mount_point(Path(config.mount)):
        store.mark_made_mount()
    _start(store)
    return Upped(store, config, is_again=True)


def _start(store: Store) -> None:
    config = store.config
    if config.images:
        images.make_images(store.path, ((ost.index, ost.size_bytes) for ost in config.osts))
    daemon.start(store)


def _prepare_mount_point(mount: Path) -> bool:
    """True: it was made here."""
    try:
        if mount.is_dir():
            if any(mount.iterdir()):
                raise UsageError(f"{mount} is not empty", "name an empty or a new directory")
            return False
        mount.mkdir(parents=True)
    except OSError as error:
        raise OutputError(f"{mount}: {reason(error)}", "iez loopback clean") from error
    return True


def _undo_mount_point(mount: Path, made_mount: bool) -> None:
    if made_mount:
        mount.rmdir()


def _make_store(mount: Path, wish: Wish) -> Store:
    try:
        home = stores_directory()
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = wish.name or _free_name(home)
        place = home / name
        if place.exists() or place.is_symlink():
            raise UsageError(f"there is a loopback file system called {name}", "--name OTHER")
        path = Path(os.path.realpath(wish.store)) if wish.store else place
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (path / CONFIG_FILE).exists():
            place.symlink_to(path)
            _move(Store(path), mount, name)
            return Store(path)
        if any(path.iterdir()):
            raise UsageError(f"{path} is neither empty nor a store", "name an empty directory")
        write_config(path, _config(mount, name, wish))
        if path != place:
            place.symlink_to(path)
    except OSError as error:
        raise InputError(f"{error.filename or mount}: {reason(error)}") from error
    return Store(path)


def _move(store: Store, mount: Path, name: str) -> None:
    """A store that was kept is mounted elsewhere."""
    write_config(store.path, replace(store.config, mount=str(mount), fsname=name))


def _free_name(home: Path) -> str:
    number = 0
    while (home / f"loop{number}").exists() or (home / f"loop{number}").is_symlink():
        number += 1
    return f"loop{number}"


def _config(mount: Path, name: str, wish: Wish) -> Config:
    osts = tuple(
        Ost(index, index // wish.osts_per_oss, wish.size_bytes, wish.bandwidth, wish.window_bytes)
        for index in range(wish.oss_count * wish.osts_per_oss)
    )
    return Config(
        fsname=name,
        mount=str(mount),
        instance=secrets.token_hex(8),
        osts=osts,
        oss_bandwidths=(wish.oss_bandwidth,) * wish.oss_count,
        seed=wish.seed or secrets.randbelow(1 << 32) + 1,
        maxage=wish.maxage,
        stripe_count=wish.stripe_count,
        stripe_size=wish.stripe_size,
        jobid=wish.jobid,
        mmap=wish.mmap,
        others=os.geteuid() == 0,
        images=wish.images,
        pools=wish.pools,
    )
