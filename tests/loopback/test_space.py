"""An OST takes data until it is full and not a byte more; what it has left is told the same by all.

For OSTs that are directories the daemon counts, for images the file system in each.
"""

import contextlib
import errno
import json
import mmap
import os
import random
import time
from collections.abc import Callable, Iterator
from ctypes import c_long
from pathlib import Path
from typing import Any

import pytest
from loopback_fixtures import Loopback, Mounted, must
from lustre_calls import create, specific
from posix_checks import KIB, LIBC, MIB, called, opened, raises

from iez_client.observe.statfs import ask_ost

pytestmark = pytest.mark.fuse

OSTS = 3
OST_BYTES = 24 * MIB
BLOCK = 4096
# What the file system in an image may need besides: it notes where the data of a file is.
EXTRA_BYTES = {"directories": 0, "images": 2 * BLOCK}
WAIT_S = 20
PUNCH = 0x01 | 0x02  # FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
images = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount images")


@pytest.fixture(scope="module", params=["directories", pytest.param("images", marks=images)])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def mounted(kind: str, loopback: Loopback) -> Iterator[Mounted]:
    with loopback(osts=OSTS, size=str(OST_BYTES), images=kind == "images") as up:
        yield up


@pytest.fixture
def folder(mounted: Mounted) -> Iterator[Path]:
    """An empty directory; what it takes up is given back before the next test."""
    before = available(mounted)
    made = mounted.mount / "folder"
    made.mkdir()
    yield made
    for path in made.iterdir():
        path.unlink()
    made.rmdir()
    wait_until(lambda: available(mounted) == before)


def wait_until(condition: Callable[[], bool]) -> None:
    """A file system in an image gives blocks back a moment later; statistics come each second."""
    end_s = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end_s, "it never came true"
        time.sleep(0.01)


def available(mounted: Mounted) -> int:
    """Of all OSTs, as `df` tells it."""
    told = os.statvfs(mounted.mount)
    return told.f_bavail * told.f_frsize


def room(mounted: Mounted, ost: int) -> int:
    """Of one OST, as it tells by ioctl."""
    with opened(mounted.mount, os.O_RDONLY) as fd:
        return ask_ost(fd, ost).available_bytes


@contextlib.contextmanager
def file_on(path: Path, *osts: int) -> Iterator[int]:
    """A new file on these OSTs."""
    fd = create(path, specific(osts, 64 * KIB))
    try:
        yield fd
    finally:
        os.close(fd)


def content() -> memoryview:
    """Bytes for a file, more than an OST can hold, where a page begins: so each write is a request
    of its own."""
    made = mmap.mmap(-1, OST_BYTES + 4 * MIB)
    made.write(random.Random(1).randbytes(len(made)))
    return memoryview(made)


CONTENT = content()


def fill(fd: int, step: int = MIB, at: int = 0) -> int:
    """Writes from there on until there is no space, and tells where that was."""
    for most in (step, BLOCK):  # in an image, what is too much for the last blocks gets none
        with contextlib.suppress(NoSpaceError):
            while True:
                at += write_some(fd, at, most)
    return at


class NoSpaceError(Exception):
    pass


def write_some(fd: int, at: int, most: int) -> int:
    try:
        return os.pwrite(fd, CONTENT[at : at + most], at)
    except OSError as error:
        assert error.errno == errno.ENOSPC
        raise NoSpaceError from error


@pytest.mark.parametrize("step", [MIB, 100_000])
def test_file_takes_all_its_ost_has_and_no_more(
    step: int, kind: str, mounted: Mounted, folder: Path
) -> None:
    free, before = room(mounted, 1), available(mounted)
    with file_on(folder / "file", 1) as fd:
        end = fill(fd, step)
        assert free - EXTRA_BYTES[kind] <= end <= free
        assert (room(mounted, 1), available(mounted)) == (0, before - free)
        assert os.fstat(fd).st_size == end
        assert end <= os.fstat(fd).st_blocks * 512 <= end + EXTRA_BYTES[kind]
        for _ in range(3):
            with raises(errno.ENOSPC):
                os.pwrite(fd, b"more" * BLOCK, end)
        assert os.fstat(fd).st_size == end
    is_same = (folder / "file").read_bytes() == CONTENT[:end]
    assert is_same


@pytest.mark.parametrize("kind", ["directories"], indirect=True)
def test_full_ost_takes_the_rest_of_a_block_that_is_there(mounted: Mounted, folder: Path) -> None:
    with file_on(folder / "file", 1) as fd, file_on(folder / "other", 1) as other:
        os.pwrite(fd, b"start", 0)
        fill(other)
        assert os.pwrite(fd, b"more", 5) == 4
        with raises(errno.ENOSPC):
            os.pwrite(fd, b"x", BLOCK)


def test_other_osts_go_on(mounted: Mounted, folder: Path) -> None:
    with (
        file_on(folder / "full", 1) as full,
        file_on(folder / "late", 1) as late,
        file_on(folder / "well", 0, 2) as well,
    ):
        fill(full)
        assert os.write(well, CONTENT[:MIB]) == MIB
        with raises(errno.ENOSPC):
            os.write(late, b"x")
        mounted.set("0", "--state", "ok")  # the MDS looks at its OSTs then
        with pytest.raises(OSError, match="No space"), file_on(folder / "refused", 1):
            pass
        with file_on(folder / "new", 2) as fd:
            os.write(fd, CONTENT[:MIB])
    for name in ("well", "new"):
        assert (folder / name).read_bytes() == CONTENT[:MIB]


def test_striped_file_ends_where_the_first_of_its_osts_is_full(
    mounted: Mounted, folder: Path
) -> None:
    with file_on(folder / "striped", 0, 1, 2) as fd:
        with file_on(folder / "heavy", 1) as heavy:
            fill(heavy)
            os.ftruncate(heavy, os.fstat(heavy).st_size - 75 * BLOCK)
        wait_until(lambda: room(mounted, 1) == 75 * BLOCK)
        end = fill(fd, step=1_000_000)
        # OST 1 has the second of every three stripes of 64K: 300K are four and a half.
        assert end == (4 * 3 + 1) * 64 * KIB + 11 * BLOCK
        assert os.fstat(fd).st_size == end
        is_same = os.pread(fd, 2 * MIB, 0) == CONTENT[:end]
        assert is_same
        with raises(errno.ENOSPC):
            os.pwrite(fd, b"x", end + BLOCK)
        assert os.pwrite(fd, b"x", 3 * MIB) == 1  # on OST 0
        assert os.pread(fd, 3, 3 * MIB - 2) == b"\0\0x"


def test_deleting_cutting_punching_and_replacing_give_space_back(
    kind: str, mounted: Mounted, folder: Path
) -> None:
    before = room(mounted, 0)
    with file_on(folder / "file", 0) as fd:
        end = fill(fd)
        os.ftruncate(fd, end - 2 * MIB)
        wait_until(lambda: room(mounted, 0) >= 2 * MIB)
        called(LIBC.fallocate(fd, PUNCH, c_long(0), c_long(MIB)))
        wait_until(lambda: room(mounted, 0) >= 3 * MIB)
        assert abs(fill(fd, at=end - 2 * MIB) - end - MIB) <= EXTRA_BYTES[kind]
        (folder / "file").unlink()
        assert room(mounted, 0) == 0  # it is open
    wait_until(lambda: room(mounted, 0) == before)
    with file_on(folder / "one", 0) as fd:
        assert abs(fill(fd) - end) <= EXTRA_BYTES[kind]
    with opened(folder / "one", os.O_WRONLY | os.O_TRUNC):
        wait_until(lambda: room(mounted, 0) == before)
    with file_on(folder / "two", 0) as fd:
        assert abs(fill(fd) - end) <= EXTRA_BYTES[kind]
    (folder / "one").rename(folder / "two")
    wait_until(lambda: room(mounted, 0) == before)


def test_blocks_that_are_there_can_be_written_again(mounted: Mounted, folder: Path) -> None:
    with file_on(folder / "file", 1) as fd, file_on(folder / "filler", 1) as filler:
        os.pwrite(fd, CONTENT[:MIB], 0)
        os.pwrite(fd, CONTENT[:MIB], 2 * MIB)
        fill(filler)
        for at in (0, 5000, 2 * MIB + 12345):
            assert os.pwrite(fd, b"new" * 10_000, at) == 30_000
            assert os.pread(fd, 6, at) == b"newnew"
        with raises(errno.ENOSPC):
            os.pwrite(fd, b"x", MIB)  # in the hole
        assert os.pwrite(fd, bytes(2 * BLOCK), MIB - BLOCK) == BLOCK  # up to the hole
        assert os.fstat(fd).st_size == 3 * MIB


def test_sparse_file_takes_what_is_written_in_it(mounted: Mounted, folder: Path) -> None:
    before = room(mounted, 2)
    with file_on(folder / "file", 2) as fd:
        os.ftruncate(fd, 1 << 40)
        assert room(mounted, 2) == before
        os.ftruncate(fd, 1 << 30)
        for number in range(4):
            os.pwrite(fd, b"x", number * 100 * MIB + 777)
        os.fsync(fd)
        assert 4 * BLOCK <= before - room(mounted, 2) <= 6 * BLOCK
        assert os.fstat(fd).st_size == 1 << 30
        assert os.fstat(fd).st_blocks * 512 <= 6 * BLOCK


def test_many_small_files_take_a_block_each(mounted: Mounted, folder: Path) -> None:
    before = room(mounted, 0)
    for number in range(50):
        with file_on(folder / f"{number}", 0) as fd:
            os.write(fd, b"x")
            os.fsync(fd)
    assert before - room(mounted, 0) == 50 * BLOCK


def test_file_in_many_pieces_gives_back_what_it_took(loopback: Loopback) -> None:
    with loopback(osts=1, size=str(OST_BYTES)) as mounted:
        before = room(mounted, 0)
        with file_on(mounted.mount / "file", 0) as fd:
            for number in range(1500):
                os.pwrite(fd, CONTENT[:BLOCK], 2 * number * BLOCK)
            os.fsync(fd)
        (mounted.mount / "file").unlink()
        wait_until(lambda: room(mounted, 0) >= before)
        assert room(mounted, 0) == before


def test_df_and_iez_osts_agree(mounted: Mounted, folder: Path) -> None:
    with file_on(folder / "full", 1) as fd, file_on(folder / "some", 2) as other:
        fill(fd)
        os.write(other, CONTENT[: 5 * MIB])
        os.fsync(other)
        rooms = [room(mounted, ost) for ost in range(OSTS)]
        assert rooms[0] > rooms[2] > rooms[1] == 0
        assert available(mounted) == sum(rooms)
        wait_until(lambda: [ost["available_bytes"] for ost in told_osts(mounted)] == rooms)
        told = told_osts(mounted)
        df = os.statvfs(mounted.mount)
        assert df.f_blocks * df.f_frsize == sum(ost["size_bytes"] for ost in told)
        used = (df.f_blocks - df.f_bfree) * df.f_frsize
        assert abs(used - sum(ost["used_bytes"] for ost in told)) < OSTS * 1024
        assert ["full" in ost["states"] for ost in told] == [False, True, False]
        mounted.set("2", "--state", "inactive")
        assert available(mounted) == rooms[0]
        mounted.set("2", "--state", "ok")
        assert available(mounted) == sum(rooms)


def told_osts(mounted: Mounted) -> list[dict[str, Any]]:
    """What `iez osts` tells."""
    done = mounted.iez("osts", "--json", "--refresh")
    systems = json.loads(done.stdout)["file_systems"]
    (osts,) = (each["osts"] for each in systems if each["prefix"] == str(mounted.mount))
    return list(osts)


def test_ost_that_is_set_full_takes_nothing_until_it_is_set_well(
    mounted: Mounted, folder: Path
) -> None:
    before = room(mounted, 1)
    with file_on(folder / "file", 1) as fd:
        os.write(fd, b"content")
        mounted.set("1", "--state", "full")
        assert room(mounted, 1) == 0
        with raises(errno.ENOSPC):
            os.write(fd, b"more")
        assert os.pread(fd, 7, 0) == b"content"
        os.ftruncate(fd, 0)
        mounted.set("1", "--state", "ok")
        os.pwrite(fd, b"again", 0)
    assert (folder / "file").read_bytes() == b"again"
    (folder / "file").unlink()
    wait_until(lambda: room(mounted, 1) == before)


def test_space_is_the_same_after_it_was_down(kind: str, mounted: Mounted, folder: Path) -> None:
    with file_on(folder / "file", 0, 1) as fd:
        os.write(fd, CONTENT[: 3 * MIB])
        os.fsync(fd)
    rooms = [room(mounted, ost) for ost in range(OSTS)]
    must(mounted.iez("loopback", "down", "--keep", mounted.mount))
    must(mounted.iez("loopback", "up", mounted.mount))
    assert [room(mounted, ost) for ost in range(OSTS)] == rooms


@pytest.mark.parametrize("kind", ["directories"], indirect=True)
def test_size_can_be_changed_while_files_are_written(mounted: Mounted, folder: Path) -> None:
    with file_on(folder / "file", 2) as fd:
        assert fill(fd) == OST_BYTES
        mounted.set("2", "--size", str(OST_BYTES + 2 * MIB))
        assert fill(fd, at=OST_BYTES) == OST_BYTES + 2 * MIB
        mounted.set("2", "--size", str(OST_BYTES - MIB))
        assert room(mounted, 2) == 0
        os.ftruncate(fd, OST_BYTES - 2 * MIB)
        assert room(mounted, 2) == MIB
    mounted.set("2", "--size", str(OST_BYTES))
