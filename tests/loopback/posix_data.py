"""Checks of data: reads and writes across stripes, holes, truncation, sizes, copies."""

import ctypes
import errno
import os
import random
import resource
import signal
from pathlib import Path

from posix_checks import (
    KIB,
    LIBC,
    MIB,
    Place,
    await_child,
    called,
    check,
    in_child,
    opened,
    pattern,
    raises,
    start_child,
)

NEW = os.O_CREAT | os.O_RDWR
STRIPE = 64 * KIB
KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE = 1, 2, 16
GIB = 1 << 30


class Model:
    """A file, and beside it what must be in it."""

    def __init__(self, name: str) -> None:
        self.fd = os.open(name, NEW | os.O_EXCL, 0o644)
        self.bytes = bytearray()

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def write(self, data: bytes, offset: int) -> None:
        assert os.pwrite(self.fd, data, offset) == len(data)
        self._grow(offset + len(data))
        self.bytes[offset : offset + len(data)] = data

    def truncate(self, size: int) -> None:
        os.ftruncate(self.fd, size)
        del self.bytes[size:]
        self._grow(size)

    def _grow(self, size: int) -> None:
        self.bytes.extend(bytes(max(0, size - len(self.bytes))))

    def compare(self) -> None:
        assert os.fstat(self.fd).st_size == len(self.bytes)
        seen = os.pread(self.fd, len(self.bytes) + 10, 0)
        if seen != self.bytes:
            at = next(i for i, pair in enumerate(zip(seen, self.bytes, strict=False))
                      if pair[0] != pair[1])  # fmt: skip
            raise AssertionError(f"byte {at} of {len(self.bytes)} is wrong; {len(seen)} were read")


@check()
def writes_around_stripe_boundaries(place: Place) -> None:
    with Model("file") as model:
        for k in (0, 1, 2, 4, 5, 6, 16):
            for delta in (-1, 0, 1):
                for length in (1, 2, 3, STRIPE - 1, STRIPE, STRIPE + 1):
                    offset = max(0, k * STRIPE + delta)
                    model.write(pattern(length, offset + length), offset)
        model.compare()
        for offset in range(STRIPE - 2, STRIPE + 3):
            for length in (1, 2, STRIPE, 5 * STRIPE + 1):
                assert os.pread(model.fd, length, offset) == model.bytes[offset : offset + length]


@check()
def large_unaligned_writes_in_one_call(place: Place) -> None:
    with Model("file") as model:
        data = pattern(3 * MIB + 17)
        model.write(data, 12_345)
        model.write(pattern(2 * MIB, 5), 1)
        model.compare()
        with opened("file", os.O_RDONLY) as fd:
            assert os.read(fd, 4 * MIB) == model.bytes
            assert os.read(fd, 10) == b""


@check()
def vectors_of_odd_pieces(place: Place) -> None:
    pieces = [pattern(n, n) for n in (1, 0, STRIPE - 1, 7, 3 * STRIPE, 100_001, 1)]
    whole = b"".join(pieces)
    with opened("file", NEW) as fd:
        assert os.writev(fd, pieces) == len(whole)
        assert os.pwritev(fd, pieces, len(whole)) == len(whole)
        into = [bytearray(n) for n in (5, STRIPE, 1, 200_000, 300_000)]
        count = os.preadv(fd, into, 0)
        assert b"".join(into)[:count] == (whole * 2)[:count]
        assert count == min(sum(map(len, into)), 2 * len(whole))


@check()
def holes_read_as_zeros(place: Place) -> None:
    with Model("file") as model:
        model.write(b"end", 9 * STRIPE + 100)
        model.compare()
        model.write(b"middle", 3 * STRIPE - 3)
        model.truncate(20 * STRIPE + 1)
        model.compare()


@check()
def what_was_cut_off_does_not_come_back(place: Place) -> None:
    with Model("file") as model:
        chance = random.Random(4)
        for size in (0, 1, STRIPE - 1, STRIPE, STRIPE + 1, 4 * STRIPE, 5 * STRIPE, 5 * STRIPE + 7,
                     7 * STRIPE - 1, 11 * STRIPE + 4096):  # fmt: skip
            model.write(pattern(12 * STRIPE, size), 0)
            model.truncate(size)
            model.compare()
            model.truncate(size + chance.randrange(6 * STRIPE))
            model.compare()
            model.write(b"x", 13 * STRIPE)
            model.compare()


@check()
def errors_of_truncate(place: Place) -> None:
    Path("file").write_bytes(b"content")
    os.mkdir("folder")
    with raises(errno.EISDIR):
        os.truncate("folder", 0)
    with raises(errno.ENOENT):
        os.truncate("none", 0)
    with raises(errno.EINVAL):
        os.truncate("file", -1)
    with opened("file", os.O_RDONLY) as fd, raises(errno.EINVAL, errno.EBADF):
        os.ftruncate(fd, 0)
    os.truncate("file", 3)
    assert Path("file").read_bytes() == b"con"


@check()
def errors_of_read_and_write(place: Place) -> None:
    with opened("file", NEW) as fd:
        os.write(fd, b"content")
        with opened("file", os.O_WRONLY) as writes, raises(errno.EBADF):
            os.read(writes, 1)
        with opened("file", os.O_RDONLY) as reads, raises(errno.EBADF):
            os.write(reads, b"x")
        nowhere = ctypes.c_void_p(1)
        with raises(errno.EFAULT):
            called(LIBC.pwrite(fd, nowhere, 100, 0))
        with raises(errno.EFAULT):
            called(LIBC.pread(fd, nowhere, 7, 0))
        with raises(errno.EINVAL):
            os.pread(fd, 1, -1)
        assert os.pread(fd, 10, 7) == b""
        assert os.pread(fd, 10, 1 << 40) == b""
        assert os.write(fd, b"") == 0
        assert os.pread(fd, 0, 0) == b""
    assert Path("file").read_bytes() == b"content"


@check()
def files_larger_than_4_gib(place: Place) -> None:
    places = [0, 4 * GIB - 5, 5 * GIB + 12_345, 100 * GIB]
    with opened("file", NEW) as fd:
        for at in places:
            assert os.pwrite(fd, pattern(100_000, at + 1), at) == 100_000
        assert os.fstat(fd).st_size == 100 * GIB + 100_000
        for at in places:
            assert os.pread(fd, 100_000, at) == pattern(100_000, at + 1)
        assert os.pread(fd, 1000, 50 * GIB) == bytes(1000)
        assert os.lseek(fd, -100_000, os.SEEK_END) == 100 * GIB
        assert os.read(fd, 10) == pattern(10, 100 * GIB + 1)
        os.ftruncate(fd, 4 * GIB + 2)
        assert os.pread(fd, 100, 4 * GIB - 5) == pattern(7, 4 * GIB - 4)
        os.ftruncate(fd, 200 * GIB)
        assert os.fstat(fd).st_size == 200 * GIB
        assert os.pread(fd, 10, 4 * GIB + 1) == pattern(7, 4 * GIB - 4)[6:] + bytes(9)


@check()
def a_limit_of_size_is_kept(place: Place) -> None:
    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        with opened("file", NEW) as fd:
            assert os.pwrite(fd, bytes(70_000), 50_000) == 50_000
            with raises(errno.EFBIG):
                os.pwrite(fd, b"x", 100_000)
            with raises(errno.EFBIG):
                os.ftruncate(fd, 100_001)
            assert os.fstat(fd).st_size == 100_000

    in_child(limited)


@check()
def data_and_holes_can_be_sought(place: Place) -> None:
    with opened("file", NEW) as fd:
        os.pwrite(fd, pattern(100_000), 0)
        os.pwrite(fd, pattern(100_000), 10 * MIB)
        os.fsync(fd)
        size = os.fstat(fd).st_size
        assert os.lseek(fd, 0, os.SEEK_DATA) == 0
        assert os.lseek(fd, 10 * MIB + 7, os.SEEK_DATA) == 10 * MIB + 7
        hole = os.lseek(fd, 0, os.SEEK_HOLE)
        assert 100_000 <= hole <= size
        if hole < size:
            data = os.lseek(fd, hole, os.SEEK_DATA)
            assert hole < data <= 10 * MIB
            assert os.pread(fd, data - hole, hole) == bytes(data - hole)
        assert os.lseek(fd, size - 1, os.SEEK_HOLE) == size
        for whence in (os.SEEK_DATA, os.SEEK_HOLE):
            with raises(errno.ENXIO):
                os.lseek(fd, size, whence)


def fallocate(fd: int, mode: int, offset: int, length: int) -> bool:
    """False where the file system cannot do it."""
    result = LIBC.fallocate(fd, mode, ctypes.c_long(offset), ctypes.c_long(length))
    if result < 0 and ctypes.get_errno() == errno.EOPNOTSUPP:
        return False
    called(result)
    return True


@check()
def space_is_allocated_or_refused_as_a_whole(place: Place) -> None:
    with Model("file") as model:
        model.write(pattern(10 * STRIPE), 0)
        if fallocate(model.fd, 0, 8 * STRIPE, 4 * STRIPE + 5):
            model.bytes.extend(bytes(12 * STRIPE + 5 - len(model.bytes)))
        model.compare()
        fallocate(model.fd, KEEP_SIZE, 20 * STRIPE, STRIPE)
        model.compare()
        for offset, length in (
            (3, 10),
            (STRIPE - 1, 3 * STRIPE),
            (5 * STRIPE, STRIPE),
            (100, 4096),
        ):
            if fallocate(model.fd, PUNCH_HOLE | KEEP_SIZE, offset, length):
                model.bytes[offset : offset + length] = bytes(length)
            model.compare()
        if fallocate(model.fd, ZERO_RANGE, 8 * STRIPE - 9, 2 * STRIPE):
            model.bytes[8 * STRIPE - 9 : 10 * STRIPE - 9] = bytes(2 * STRIPE)
        model.compare()
        size = len(model.bytes)
        os.posix_fallocate(model.fd, 0, size + 7 * STRIPE)
        model.bytes.extend(bytes(7 * STRIPE))
        model.compare()


@check()
def data_is_copied_within_the_kernel(place: Place) -> None:
    data = pattern(2 * MIB + 333)
    Path("from").write_bytes(data)
    with opened("from", os.O_RDONLY) as source, opened("sent", NEW) as target:
        os.lseek(target, 5, os.SEEK_SET)
        sent = 0
        while sent < len(data) - 100:
            count = os.sendfile(target, source, 100 + sent, len(data))
            assert count > 0
            sent += count
    assert Path("sent").read_bytes() == bytes(5) + data[100:]
    with opened("from", os.O_RDONLY) as source, opened("copied", NEW) as target:
        done = 0
        while done < MIB:
            count = os.copy_file_range(source, target, MIB - done, 7 + done, 3 + done)
            assert count > 0
            done += count
        assert os.copy_file_range(source, target, 10, len(data), 0) == 0
    assert Path("copied").read_bytes() == bytes(3) + data[7 : 7 + MIB]


@check()
def everything_can_be_synced(place: Place) -> None:
    with opened("file", NEW) as fd, opened(".", os.O_RDONLY) as folder:
        os.write(fd, pattern(300_000))
        os.fsync(fd)
        os.fdatasync(fd)
        os.fsync(folder)
        os.write(fd, b"more")
        called(LIBC.syncfs(folder))
        assert os.fstat(fd).st_size == 300_004
    with opened("file", os.O_RDONLY) as fd:
        os.fsync(fd)


@check()
def processes_see_each_others_writes(place: Place) -> None:
    there, back = os.pipe(), os.pipe()
    rounds = 60

    def sizes(i: int) -> tuple[int, int]:
        return (i * 37_007) % (9 * STRIPE), 1 + (i * 7919) % (2 * STRIPE)

    def reader() -> None:
        fd = os.open("file", os.O_RDWR)
        for i in range(rounds):
            assert os.read(there[0], 1)
            offset, length = sizes(i)
            assert os.pread(fd, length, offset) == pattern(length, i)
            assert os.fstat(fd).st_size == os.stat("file").st_size == offset + length
            os.pwrite(fd, b"seen", offset)
            os.write(back[1], b"x")

    with opened("file", NEW) as fd:
        child = start_child(reader)
        for i in range(rounds):
            offset, length = sizes(i)
            os.ftruncate(fd, offset)
            os.pwrite(fd, pattern(length, i), offset)
            os.write(there[1], b"x")
            assert os.read(back[0], 1)
            assert os.pread(fd, 4, offset) == b"seen"
        await_child(child)
    for end in (*there, *back):
        os.close(end)


@check()
def threads_write_their_own_parts(place: Place) -> None:
    from concurrent.futures import ThreadPoolExecutor

    part = 3 * STRIPE + 1000
    with opened("file", NEW) as fd, ThreadPoolExecutor(4) as pool:

        def write(i: int) -> None:
            for piece in range(0, part, 10_000):
                data = pattern(part, i)[piece : piece + 10_000]
                assert os.pwrite(fd, data, i * part + piece) == len(data)

        list(pool.map(write, range(4)))
        assert os.pread(fd, 5 * part, 0) == b"".join(pattern(part, i) for i in range(4))
