"""Checks of locks between processes."""

import errno
import fcntl
import os
import signal
import struct
from pathlib import Path

from posix_checks import Place, await_child, check, in_child, opened, raises, start_child

BUSY = (errno.EAGAIN, errno.EACCES)
FLOCK = struct.Struct("hhqqi4x")


def try_flock(kind: int) -> None:
    with opened("file", os.O_RDWR) as fd:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)


def who_locks(fd: int, start: int, length: int) -> tuple[int, int, int, int]:
    """Kind, start, length and process of what stands in the way of a write lock."""
    asked = FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, start, length, 0)
    kind, _, at, size, process = FLOCK.unpack(fcntl.fcntl(fd, fcntl.F_GETLK, asked))
    return kind, at, size, process


@check()
def whole_files_are_locked(place: Place) -> None:
    Path("file").touch()

    def refused(kind: int) -> None:
        with raises(*BUSY):
            try_flock(kind)

    with opened("file", os.O_RDWR) as fd:
        fcntl.flock(fd, fcntl.LOCK_SH)
        in_child(lambda: try_flock(fcntl.LOCK_SH))
        in_child(lambda: refused(fcntl.LOCK_EX))
        fcntl.flock(fd, fcntl.LOCK_EX)
        in_child(lambda: refused(fcntl.LOCK_SH))
        fcntl.flock(fd, fcntl.LOCK_UN)
        in_child(lambda: try_flock(fcntl.LOCK_EX))
        fcntl.flock(fd, fcntl.LOCK_EX)
    in_child(lambda: try_flock(fcntl.LOCK_EX))


@check()
def ranges_are_locked(place: Place) -> None:
    Path("file").touch()
    owner = os.getpid()
    with opened("file", os.O_RDWR) as fd:
        fcntl.lockf(fd, fcntl.LOCK_EX, 100, 50)
        fcntl.lockf(fd, fcntl.LOCK_UN, 10, 80)

        def other() -> None:
            with opened("file", os.O_RDWR) as mine:
                assert who_locks(mine, 0, 0) == (fcntl.F_WRLCK, 50, 30, owner)
                assert who_locks(mine, 85, 1)[0] == fcntl.F_UNLCK
                fcntl.lockf(mine, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 80)
                with raises(*BUSY):
                    fcntl.lockf(mine, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, 149)

        in_child(other)
        os.close(os.open("file", os.O_RDONLY))  # closing any descriptor drops them all

        def free() -> None:
            with opened("file", os.O_RDWR) as mine:
                fcntl.lockf(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)

        in_child(free)


@check()
def who_waits_gets_the_lock_when_it_is_given_up(place: Place) -> None:
    Path("counter").write_text("0")

    def count() -> None:
        for i in range(40):
            with opened("counter", os.O_RDWR) as fd:
                if i % 2:
                    fcntl.flock(fd, fcntl.LOCK_EX)
                fcntl.lockf(fd, fcntl.LOCK_EX)
                value = int(os.pread(fd, 20, 0))
                os.pwrite(fd, str(value + 1).encode(), 0)

    for child in [start_child(count) for _ in range(3)]:
        await_child(child)
    assert Path("counter").read_text() == "120"


@check()
def locks_go_with_their_process(place: Place) -> None:
    Path("file").touch()
    ready = os.pipe()

    def hold() -> None:
        fd = os.open("file", os.O_RDWR)
        fcntl.flock(fd, fcntl.LOCK_EX)
        fcntl.lockf(fd, fcntl.LOCK_EX)
        os.write(ready[1], b"x")
        signal.pause()

    child = start_child(hold)
    assert os.read(ready[0], 1)
    with raises(*BUSY):
        try_flock(fcntl.LOCK_EX)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try_flock(fcntl.LOCK_EX)
    with opened("file", os.O_RDWR) as fd:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    for end in ready:
        os.close(end)


@check()
def open_descriptions_own_locks(place: Place) -> None:
    with opened("file", os.O_CREAT | os.O_RDWR) as one, opened("file", os.O_RDWR) as two:
        lock = FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 10, 0)
        fcntl.fcntl(one, fcntl.F_OFD_SETLK, lock)
        with raises(*BUSY):
            fcntl.fcntl(two, fcntl.F_OFD_SETLK, lock)
        os.close(os.open("file", os.O_RDONLY))
        with raises(*BUSY):
            fcntl.fcntl(two, fcntl.F_OFD_SETLK, lock)


@check()
def a_deadlock_is_refused(place: Place) -> None:
    Path("file").touch()
    ready = os.pipe()

    def other() -> None:
        fd = os.open("file", os.O_RDWR)
        fcntl.lockf(fd, fcntl.LOCK_EX, 1, 1)
        os.write(ready[1], b"x")
        fcntl.lockf(fd, fcntl.LOCK_EX, 1, 0)

    with opened("file", os.O_RDWR) as fd:
        fcntl.lockf(fd, fcntl.LOCK_EX, 1, 0)
        child = start_child(other)
        assert os.read(ready[0], 1)
        status = Path(f"/proc/{child}/wchan")
        for _ in range(1000):
            if "lock" in status.read_text():
                break
            os.sched_yield()
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX, 1, 1)
        except OSError as error:
            assert error.errno == errno.EDEADLK
    await_child(child)
    for end in ready:
        os.close(end)
