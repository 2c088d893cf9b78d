"""A daemon that is killed in the middle of writes loses nothing that was acknowledged."""

import errno
import itertools
import os
import random
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from loopback_fixtures import Loopback, Mounted, must
from lustre_calls import MDT, layout_of
from posix_checks import KIB, MIB, await_child, opened, pattern, start_child

from iez_client.loopback.store import Store, wait_until_dead
from iez_common.layout import Component, Layout, plain

pytestmark = pytest.mark.fuse

OSTS = 5
ROUNDS = 2
ROUNDS_FULL = 20
DELAY_MAX_S = 0.4
WRITERS = 3
FILES = 4  # of each writer
FILE_BYTES = 8 * MIB
RECORD_BYTES = 300 * KIB
RENAMERS = 2
NAMES = 12  # of each renamer
CREATE, RENAME, REMOVE = "create", "rename", "remove"

LAYOUTS = {
    "striped": plain(3, 64 * KIB),
    "composite": Layout(
        (
            Component(mdt=True, extent_end_bytes=64 * KIB),
            Component(2, 64 * KIB, extent_end_bytes=256 * KIB),
            Component(OSTS, 128 * KIB, extent_end_bytes=MIB),
            Component(0, 64 * KIB, osts=(4, 1, 4), overstripe=True),
        )
    ),
}
MOUNTS = {"directories": {}, "mapped": {"mmap": True}, "images": {"images": True}}
EVERY = list(itertools.product(MOUNTS, LAYOUTS))
SOME = [pair for pair in EVERY if pair not in [("directories", "composite"), ("mapped", "striped")]]

Tell = Callable[[str], None]


@dataclass(slots=True)
class Worker:
    """A process that works until the file system is gone, and what it told."""

    process: int
    pipe: int
    folder: Path
    told: bytes = b""

    @property
    def lines(self) -> list[list[str]]:
        return [line.split() for line in self.told.decode().splitlines()]


def start(work: Callable[[Path, random.Random, Tell], None], folder: Path, seed: int) -> Worker:
    reading, writing = os.pipe()

    def run() -> None:
        os.close(reading)
        try:
            work(folder, random.Random(seed), lambda text: must_write(writing, text))
        except OSError:
            return  # the daemon is dead; that it was not before, the checks find out

    process = start_child(run)
    os.close(writing)
    return Worker(process, reading, folder)


def must_write(fd: int, text: str) -> None:
    data = f"{text}\n".encode()
    assert os.write(fd, data) == len(data)


def listen(workers: list[Worker], is_enough: Callable[[], bool] = lambda: False) -> None:
    """Takes down what they tell, until it is enough, or until they have all ended."""
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            selector.register(worker.pipe, selectors.EVENT_READ, worker)
        while selector.get_map() and not is_enough():
            for key, _ in selector.select(0.001):
                data = os.read(key.fd, 1 << 16)
                key.data.told += data
                if not data:
                    selector.unregister(key.fd)


# what goes on


def content_of(folder: Path, number: int) -> bytes:
    return random.Random(f"{folder.name}/{number}").randbytes(FILE_BYTES)


def write_records(folder: Path, chance: random.Random, tell: Tell) -> None:
    """Appends to a few files, and tells up to where they are safe."""
    contents = [content_of(folder, number) for number in range(FILES)]
    fds = [os.open(folder / f"{n}", os.O_CREAT | os.O_RDWR, 0o644) for n in range(FILES)]
    sizes = [0] * FILES
    while min(sizes) < FILE_BYTES:
        n = chance.randrange(FILES)
        end = sizes[n] + chance.choice((1, 4096, 64 * KIB, chance.randrange(1, RECORD_BYTES)))
        record = contents[n][sizes[n] : end]
        written = os.pwrite(fds[n], record, sizes[n])
        sizes[n] += written
        if chance.random() < 0.1:
            os.ftruncate(fds[n], sizes[n])
        os.fsync(fds[n])
        tell(f"{n} {sizes[n]}")


def change_names(folder: Path, chance: random.Random, tell: Tell) -> None:
    """Makes files, and renames them over one another, and removes them, telling before and after
    each step."""
    names: set[str] = set()
    for step in range(1_000_000):
        name, other = (f"{chance.randrange(NAMES)}" for _ in range(2))
        kind = chance.choice((CREATE, CREATE, RENAME, RENAME, REMOVE))
        if kind == CREATE and name not in names:
            tell(f"try {CREATE} {name} {step}")
            with opened(folder / name, os.O_CREAT | os.O_EXCL | os.O_WRONLY) as fd:
                os.write(fd, f"{step}".encode())
                os.fsync(fd)
            names.add(name)
        elif kind == RENAME and name in names and name != other:
            tell(f"try {RENAME} {name} {other}")
            (folder / name).rename(folder / other)
            names = names - {name} | {other}
        elif kind == REMOVE and name in names:
            tell(f"try {REMOVE} {name} -")
            (folder / name).unlink()
            names.remove(name)
        else:
            continue
        sync_directory(folder)
        tell("done")


def sync_directory(folder: Path) -> None:
    with opened(folder, os.O_RDONLY) as fd:
        os.fsync(fd)


# what is to be found afterwards


def check_records(worker: Worker) -> None:
    safe = [0] * FILES
    for number, size in worker.lines:
        safe[int(number)] = int(size)
    for number in range(FILES):
        path = worker.folder / f"{number}"
        if not path.exists():
            assert not safe[number], f"{path} is gone"
            continue
        found = path.read_bytes()
        assert len(found) == path.stat().st_size
        assert safe[number] <= len(found) <= safe[number] + RECORD_BYTES
        is_same = content_of(worker.folder, number).startswith(found)
        assert is_same, f"{path} has other content"


def after(names: dict[str, str], step: list[str]) -> dict[str, str]:
    """The names, and what is in each, after a step that worked."""
    _, kind, name, other = step
    left = {each: text for each, text in names.items() if each != name}
    if kind == REMOVE:
        return left
    return left | ({name: other} if kind == CREATE else {other: names[name]})


def check_names(worker: Worker) -> None:
    names: dict[str, str] = {}
    under_way: list[str] = []
    for line in worker.lines:
        if line == ["done"]:
            names, under_way = after(names, under_way), []
        else:
            under_way = line
    found = {path.name: path.read_text() for path in worker.folder.iterdir()}
    if not under_way:
        assert found == names
        return
    if under_way[1] == CREATE and found.get(under_way[2]) == "":
        found[under_way[2]] = under_way[3]  # created, and not written yet
    assert found in (names, after(names, under_way)), under_way


def has_layout(path: Path) -> bool:
    """A file whose creation was under way may have none yet."""
    try:
        return bool(layout_of(path))
    except OSError as error:
        assert error.errno == errno.ENODATA
        return False


Object = tuple[int, str]  # the index of an OST, or that of the MDT, and the object's name there
ON_MDT = -1


def named_objects(mount: Path) -> dict[Object, int]:
    """Those that the layouts of all files name, and which file each belongs to."""
    named = {}
    for path in mount.rglob("*"):
        if path.is_file() and has_layout(path):
            inode = path.stat().st_ino
            for number, part in enumerate(layout_of(path).components):
                osts = (ON_MDT,) if part.pattern & MDT and part.instantiated else part.osts
                for stripe, ost in enumerate(osts):
                    named[ost, f"{inode:x}.{number:x}.{stripe:x}"] = inode
    return named


def stored_objects(mounted: Mounted) -> dict[Object, int]:
    """Those that are there, and their sizes. Nothing may be mounted."""
    found = {(ON_MDT, name): size for name, size in listed(mounted.store / "mdt" / "objects")}
    for index in (ost.index for ost in mounted.config.osts):
        if mounted.config.images:
            objects = listed_in_image(mounted.store / "image" / f"{index:04x}")
        else:
            objects = listed(mounted.store / "ost" / f"{index:04x}" / "objects")
        found |= {(index, name): size for name, size in objects}
    return found


def listed(folder: Path) -> list[tuple[str, int]]:
    return [(path.name, path.stat().st_size) for path in folder.iterdir()]


def listed_in_image(image: Path) -> list[tuple[str, int]]:
    command = ["/usr/sbin/debugfs", "-R", "ls -p /objects", image]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    fields = [line.split("/") for line in done.stdout.split()]
    return [(field[5], int(field[6])) for field in fields if field[5] not in ("", ".", "..")]


def kill(mounted: Mounted) -> None:
    store = Store(mounted.store)
    os.kill(store.pid, signal.SIGKILL)
    assert wait_until_dead(store, 60)


def crash_once(mounted: Mounted, layout: Layout, number: int, seed: int) -> None:
    chance = random.Random(seed)
    workers: dict[Callable[[Worker], None], list[Worker]] = {check_records: [], check_names: []}
    base = mounted.mount / f"round{number}"
    base.mkdir()
    os.setxattr(base, "lustre.lov", layout.wire())
    for work, check, count in (
        (write_records, check_records, WRITERS),
        (change_names, check_names, RENAMERS),
    ):
        for i in range(count):
            folder = base / f"{check.__name__}{i}"
            folder.mkdir()
            workers[check].append(start(work, folder, chance.randrange(1 << 30)))
    every = [worker for some in workers.values() for worker in some]
    listen(every, lambda: all(worker.told for worker in every))
    end_s = time.monotonic() + chance.uniform(0, DELAY_MAX_S)
    listen(every, lambda: time.monotonic() > end_s)
    kill(mounted)
    listen(every)
    for worker in every:
        os.close(worker.pipe)
        await_child(worker.process)
    must(mounted.iez("loopback", "up", mounted.mount))
    for check, some in workers.items():
        for worker in some:
            check(worker)


def crash(mounted: Mounted, layout: Layout, seed: int, rounds: int) -> None:
    for number in range(rounds):
        crash_once(mounted, layout, number, seed + number)
    (mounted.mount / "new").write_bytes(pattern(MIB))
    assert (mounted.mount / "new").read_bytes() == pattern(MIB)
    inodes = {path.stat().st_ino for path in mounted.mount.rglob("*")}
    named = named_objects(mounted.mount)
    must(mounted.iez("loopback", "down", "--keep", mounted.mount))
    stored = stored_objects(mounted)
    assert set(named) <= set(stored)
    # An object that was made for a file, which then did not come to name it, holds nothing.
    unnamed = {name: size for (ost, name), size in stored.items() if (ost, name) not in named}
    assert set(unnamed.values()) <= {0}
    assert {int(name.split(".")[0], 16) for name in unnamed} <= inodes
    must(mounted.iez("loopback", "up", mounted.mount))
    for path in mounted.mount.glob("round*"):
        shutil.rmtree(path)
    (mounted.mount / "new").unlink()
    kill(mounted)
    must(mounted.iez("loopback", "up", mounted.mount))
    assert list(mounted.mount.iterdir()) == []
    must(mounted.iez("loopback", "down", "--keep", mounted.mount))
    assert stored_objects(mounted) == {}


@pytest.mark.parametrize(("kind", "layout"), SOME)
def test_killed_daemon_loses_nothing_acknowledged(
    kind: str, layout: str, loopback: Loopback
) -> None:
    if kind == "images" and os.geteuid() != 0:
        pytest.skip("only root can mount images")
    with loopback(osts=OSTS, size="512M", **MOUNTS[kind]) as mounted:
        crash(mounted, LAYOUTS[layout], 1, ROUNDS)


@pytest.mark.full
@pytest.mark.parametrize(("kind", "layout"), EVERY)
def test_daemon_killed_many_times_loses_nothing_acknowledged(
    kind: str, layout: str, loopback: Loopback
) -> None:
    if kind == "images" and os.geteuid() != 0:
        pytest.skip("only root can mount images")
    with loopback(osts=OSTS, size="4G", **MOUNTS[kind]) as mounted:
        crash(mounted, LAYOUTS[layout], 1000, ROUNDS_FULL)
