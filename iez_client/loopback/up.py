"""Up: makes a store, or finds the one that was kept, and mounts it."""

import contextlib
import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path

from iez_client.filesystems import loopback_mounts
from iez_client.loopback import daemon, images, interrupt
from iez_client.loopback.config import CONFIG_FILE, Config, Ost, write_config
from iez_client.loopback.store import Store, links_to, locked_stores, store_is_at, stores
from iez_client.loopback.unmount import unmount
from iez_common.errors import LoopbackError, OutputError, UsageError, reason

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
    """Mounts a file system at `directory`. What goes wrong leaves everything as it was."""
    daemon.check_machine()
    mount = Path(os.path.realpath(directory))
    with locked_stores() as home, interrupt.held_back(), contextlib.ExitStack() as undo:
        for store in stores():
            if store_is_at(store, str(mount)):
                upped = Upped(store, store.config, is_again=True)
                break
        else:
            upped = _other_store(home, mount, wish, undo)
        if upped.store.pid:
            raise LoopbackError(f"{mount} is up already", f"iez loopback down {mount}")
        for dead in upped.store.mounts:
            unmount(dead, lazily=True)
        _make_mount_point(mount, upped.store, undo)
        _start(upped)
        undo.pop_all()
    return upped


def ptrace_warning() -> str:
    """Why layouts could not be set; empty: they can."""
    try:
        scope = int(_PTRACE_SCOPE.read_text())
    except (OSError, ValueError):
        return ""
    is_root = os.geteuid() == 0
    if scope <= (2 if is_root else 0):
        return ""
    whose = "no" if is_root else "only root's"
    return f"this kernel (kernel.yama.ptrace_scope) lets {whose} daemon see layouts by ioctl"


def _start(upped: Upped) -> None:
    if upped.config.images:
        osts = upped.config.osts
        images.make_images(upped.store.path, ((ost.index, ost.size_bytes) for ost in osts))
    daemon.start(upped.store)


def _make_mount_point(mount: Path, store: Store, undo: contextlib.ExitStack) -> None:
    """An empty directory may be there already."""
    if str(mount) in loopback_mounts():
        raise LoopbackError(
            f"another loopback file system is mounted at {mount}",
            f"iez loopback down {mount}, or iez loopback clean",
        )
    try:
        if mount.is_dir():
            if any(mount.iterdir()):
                raise UsageError(f"{mount} is not empty", "name an empty or a new directory")
            return
        undo.callback(store.remove_made_mount)
        store.mark_made_mount(mount)
        mount.mkdir()
    except OSError as error:
        is_far = isinstance(error, FileNotFoundError)
        hint = f"mkdir -p {mount.parent}" if is_far else "name an empty or a new directory"
        raise OutputError(f"{mount}: {reason(error)}", hint) from error


def _other_store(home: Path, mount: Path, wish: Wish, undo: contextlib.ExitStack) -> Upped:
    """A new store, or one that was kept and gets another mount point."""
    path = Path(os.path.realpath(wish.store)) if wish.store else None
    if path and (path.is_relative_to(mount) or mount.is_relative_to(path)):
        raise UsageError(f"{path} and {mount} are one in the other", "--store OTHER")
    try:
        if path and (path / CONFIG_FILE).exists():
            return _moved(home, Store(path), mount, wish, undo)
        return _new(home, path, mount, wish, undo)
    except OSError as error:
        hint = "name another place by --store"
        raise OutputError(f"{error.filename or mount}: {reason(error)}", hint) from error


def _moved(home: Path, store: Store, mount: Path, wish: Wish, undo: contextlib.ExitStack) -> Upped:
    before = store.config
    if store.pid:
        raise LoopbackError(
            f"{store.path} is up at {before.mount}", f"iez loopback down --keep {before.mount}"
        )
    name = before.fsname
    if store.path.parent != home.resolve() and not links_to(store.path):
        name = _link(_place(home, wish), store.path, undo)
    after = replace(before, mount=str(mount), fsname=name)
    undo.callback(write_config, store.path, before)
    write_config(store.path, after)
    store.remove_made_mount()
    return Upped(store, after, is_again=True)


def _new(
    home: Path, path: Path | None, mount: Path, wish: Wish, undo: contextlib.ExitStack
) -> Upped:
    place = _place(home, wish)
    store = Store(path or place.resolve())
    if not store.path.exists():
        store.path.mkdir(mode=0o700)
        undo.callback(store.path.rmdir)
    elif any(store.path.iterdir()):
        raise UsageError(f"{store.path} is neither empty nor a store", "name an empty directory")
    if path:
        _link(place, path, undo)
    config = _config(mount, place.name, wish)
    undo.callback(store.empty)
    write_config(store.path, config)
    return Upped(store, config, is_again=False)


def _place(home: Path, wish: Wish) -> Path:
    """Where a store is to be, or a link to it."""
    place = home / (wish.name or _free_name(home))
    if place.exists() or place.is_symlink():
        raise UsageError(f"there is a loopback file system called {place.name}", "--name OTHER")
    return place


def _link(place: Path, path: Path, undo: contextlib.ExitStack) -> str:
    place.symlink_to(path)
    undo.callback(place.unlink)
    return place.name


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
