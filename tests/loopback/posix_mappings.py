"""Checks of mappings: private ones always work, shared ones where the file system has them."""

import errno
import mmap
import os
import signal
from pathlib import Path

from posix_checks import Place, await_child, check, in_child, opened, pattern, raises, start_child

BYTES = 400_000


@check()
def a_private_mapping_shows_the_file(place: Place) -> None:
    Path("file").write_bytes(pattern(BYTES))
    with (
        opened("file", os.O_RDONLY) as fd,
        mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE) as mapped,
    ):
        assert mapped[:] == pattern(BYTES)
        mapped[1000:1007] = b"private"
        assert mapped[1000:1007] == b"private"
    assert Path("file").read_bytes() == pattern(BYTES)


@check()
def a_shared_mapping_writes_the_file(place: Place) -> None:
    Path("file").write_bytes(pattern(BYTES))
    with opened("file", os.O_RDWR) as fd:
        if not place.shared_mappings:
            with raises(errno.ENODEV):
                mmap.mmap(fd, BYTES)
            return
        with mmap.mmap(fd, BYTES) as mapped:
            assert mapped[:] == pattern(BYTES)
            mapped[70_000:70_007] = b"through"
            assert os.pread(fd, 7, 70_000) == b"through"
            os.pwrite(fd, b"written", 200_000)
            assert mapped[200_000:200_007] == b"written"

            def other() -> None:
                assert Path("file").read_bytes()[70_000:70_007] == b"through"
                with opened("file", os.O_RDWR) as mine, mmap.mmap(mine, BYTES) as again:
                    assert again[70_000:70_007] == b"through"
                    again[300_000:300_005] = b"other"

            in_child(other)
            assert mapped[300_000:300_005] == b"other"
            mapped.flush()
            os.fsync(fd)
    expected = bytearray(pattern(BYTES))
    for at, text in ((70_000, b"through"), (200_000, b"written"), (300_000, b"other")):
        expected[at : at + len(text)] = text
    assert Path("file").read_bytes() == expected


@check()
def a_shared_mapping_outlives_its_descriptor(place: Place) -> None:
    if not place.shared_mappings:
        return
    fd = os.open("file", os.O_CREAT | os.O_RDWR)
    os.ftruncate(fd, BYTES)
    mapped = mmap.mmap(fd, BYTES)
    os.close(fd)
    os.rename("file", "moved")
    mapped[0:BYTES] = pattern(BYTES)
    mapped.flush()
    mapped.close()
    assert Path("moved").read_bytes() == pattern(BYTES)
    assert os.stat("moved").st_size == BYTES


@check()
def an_unlinked_file_stays_mapped(place: Place) -> None:
    if not place.shared_mappings:
        return
    Path("file").write_bytes(pattern(BYTES))
    with opened("file", os.O_RDWR) as fd, mmap.mmap(fd, BYTES) as mapped:
        os.unlink("file")
        mapped[BYTES - 4 :] = b"last"
        mapped.flush()
        assert os.pread(fd, 4, BYTES - 4) == b"last"
        assert mapped[:1000] == pattern(1000)


@check()
def a_mapping_behind_the_end_is_a_bus_error(place: Place) -> None:
    Path("file").write_bytes(pattern(5000))

    def touch() -> None:
        fd = os.open("file", os.O_RDWR)
        flags = mmap.MAP_SHARED if place.shared_mappings else mmap.MAP_PRIVATE
        mapped = mmap.mmap(fd, 5000, flags=flags)
        os.ftruncate(fd, 100)
        assert mapped[99:101] == pattern(5000)[99:100] + b"\0"
        signal.signal(signal.SIGBUS, lambda *_: None)
        signal.signal(signal.SIGBUS, signal.SIG_DFL)
        print(mapped[4500])

    child = start_child(touch)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGBUS


@check()
def processes_share_a_mapping(place: Place) -> None:
    if not place.shared_mappings:
        return
    Path("file").write_bytes(bytes(8192))
    with opened("file", os.O_RDWR) as fd, mmap.mmap(fd, 8192) as mapped:

        def other() -> None:
            while not mapped[0]:
                os.sched_yield()
            mapped[5000] = mapped[0] + 1

        child = start_child(other)
        mapped[0] = 41
        await_child(child)
        assert mapped[5000] == 42
    assert Path("file").read_bytes()[5000] == 42
