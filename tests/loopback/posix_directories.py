"""Checks of reading directories: large ones, deep ones, and while they change."""

import ctypes
import errno
import os
from pathlib import Path

from posix_checks import LIBC, Place, await_child, check, opened, pattern, raises, start_child

LARGE = 20_000
NAME_AT = 19  # struct dirent64: inode, offset, length, type, name

LIBC.opendir.restype = ctypes.c_void_p
LIBC.readdir64.restype = ctypes.c_void_p
LIBC.telldir.restype = ctypes.c_long


class Stream:
    """A directory by libc's own calls: Python has no telldir."""

    def __init__(self, path: str) -> None:
        self.at = ctypes.c_void_p(LIBC.opendir(os.fsencode(path)))
        assert self.at

    def next(self) -> str | None:
        entry = LIBC.readdir64(self.at)
        return os.fsdecode(ctypes.string_at(entry + NAME_AT)) if entry else None

    def rest(self) -> list[str]:
        names = []
        while (name := self.next()) is not None:
            if name not in (".", ".."):
                names.append(name)
        return names

    def tell(self) -> int:
        return int(LIBC.telldir(self.at))

    def seek(self, position: int) -> None:
        LIBC.seekdir(self.at, ctypes.c_long(position))

    def rewind(self) -> None:
        LIBC.rewinddir(self.at)

    def close(self) -> None:
        LIBC.closedir(self.at)


def fill(folder: str, count: int) -> set[str]:
    os.mkdir(folder)
    names = {f"a name of some length, number {i:06}" for i in range(count)}
    for name in names:
        os.close(os.open(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY))
    return names


@check(heavy=True)
def a_large_directory_lists_each_file_once(place: Place) -> None:
    names = fill("large", LARGE)
    listed = os.listdir("large")
    assert len(listed) == LARGE
    assert set(listed) == names
    assert sum(1 for _ in os.scandir("large")) == LARGE
    remove_while_reading("large", names)


def remove_while_reading(folder: str, names: set[str]) -> None:
    """As `rm -r` does: each name comes once, though others are going away."""
    stream = Stream(folder)
    seen = []
    while (name := stream.next()) is not None:
        if name not in (".", ".."):
            seen.append(name)
            os.unlink(f"{folder}/{name}")
    stream.close()
    assert len(seen) == len(set(seen))
    assert set(seen) == names
    assert os.listdir(folder) == []


@check()
def a_directory_can_be_emptied_while_it_is_read(place: Place) -> None:
    remove_while_reading("folder", fill("folder", 700))


@check()
def positions_in_a_directory_can_be_returned_to(place: Place) -> None:
    names = fill("folder", 300)
    stream = Stream("folder")
    positions, order = [], []
    while True:
        position = stream.tell()
        name = stream.next()
        if name is None:
            break
        positions.append(position)
        order.append(name)
    assert set(order) == names | {".", ".."}
    for at in (0, 1, 7, 150, 301):
        stream.seek(positions[at])
        assert stream.next() == order[at]
    stream.seek(positions[250])
    assert stream.rest() == [name for name in order[250:] if name not in (".", "..")]
    os.unlink(f"folder/{max(names)}")
    Path("folder/new").touch()
    stream.rewind()
    assert set(stream.rest()) == names - {max(names)} | {"new"}
    stream.close()


@check()
def entries_tell_their_kind_and_number(place: Place) -> None:
    Path("file").touch()
    Path("folder").mkdir()
    Path("link").symlink_to("file")
    os.mkfifo("fifo")
    found = {entry.name: entry for entry in os.scandir(".")}
    assert found["file"].is_file(follow_symlinks=False)
    assert found["folder"].is_dir(follow_symlinks=False)
    assert found["link"].is_symlink()
    for name, entry in found.items():
        assert entry.inode() == os.lstat(name).st_ino


@check()
def unchanged_names_are_listed_while_others_come_and_go(place: Place) -> None:
    steady = fill("folder", 400)
    stop_read, stop_write = os.pipe()

    def churn() -> None:
        os.set_blocking(stop_read, False)
        i = 0
        while True:
            try:
                if os.read(stop_read, 1):
                    return
            except BlockingIOError:
                pass
            Path(f"folder/old{i}").touch()
            os.rename(f"folder/old{i}", f"folder/new{i}")
            os.unlink(f"folder/new{i}")
            i += 1

    child = start_child(churn)
    for _ in range(15):
        listed = [name for name in os.listdir("folder") if name in steady]
        assert len(listed) == len(steady)
        assert set(listed) == steady
    os.write(stop_write, b"x")
    await_child(child)
    os.close(stop_read)
    os.close(stop_write)


@check()
def a_renamed_file_is_never_absent(place: Place) -> None:
    Path("target").write_bytes(b"0" * 100_000)

    def replace() -> None:
        for i in range(60):
            Path("next").write_bytes(b"%d" % (i % 10) * 100_000)
            os.rename("next", "target")

    child = start_child(replace)
    for _ in range(100):
        data = Path("target").read_bytes()
        assert len(data) == 100_000
        assert data == data[:1] * 100_000
    await_child(child)


@check()
def paths_may_be_deeper_than_one_call_can_say(place: Place) -> None:
    name = "d" * 200
    levels = 25  # more than PATH_MAX bytes
    fd = os.open(".", os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=fd)
        below = os.open(name, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    at = os.open("file", os.O_CREAT | os.O_RDWR, dir_fd=fd)
    os.write(at, pattern(100_000))
    assert os.pread(at, 100_000, 0) == pattern(100_000)
    os.close(at)
    assert os.stat("file", dir_fd=fd).st_size == 100_000
    os.close(fd)
    with raises(errno.ENAMETOOLONG):
        os.stat(f"{name}/" * levels)


@check()
def a_tree_is_walked_and_removed(place: Place) -> None:
    made = set()
    for a in range(6):
        for b in range(6):
            folder = Path(f"{a}/{b}")
            folder.mkdir(parents=True)
            (folder / "file").write_bytes(b"%d%d" % (a, b))
            made.add(f"./{folder}/file")
    walked = {f"{at}/{name}" for at, _, names in os.walk(".") for name in names}
    assert walked == made
    with opened(".", os.O_RDONLY | os.O_DIRECTORY) as fd:
        assert len(os.listdir(fd)) == 6
