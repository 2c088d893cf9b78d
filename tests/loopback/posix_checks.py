"""What the checks of a file system share: their list, the place they run in, children, errors.

A check is a function that takes a Place, an empty directory; it must hold on any file system of
Linux. test_posix.py runs all of them on a plain directory first, as the reference.
"""

import ctypes
import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

NOBODY = 65534
CHILD_TIMEOUT_S = 60
KIB = 1 << 10
MIB = 1 << 20

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100
AT_SYMLINK_FOLLOW = 0x400


@dataclass(frozen=True, slots=True)
class Place:
    """Where a check runs."""

    root: Path  # an empty directory, the working directory as well
    shared_mappings: bool = True


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    run: Callable[[Place], None]
    needs_root: bool
    is_heavy: bool  # run in a few variants only


CHECKS: list[Check] = []


def check(
    *, needs_root: bool = False, heavy: bool = False
) -> Callable[[Callable[[Place], None]], Callable[[Place], None]]:
    """Puts a function on the list."""

    def add(run: Callable[[Place], None]) -> Callable[[Place], None]:
        CHECKS.append(Check(run.__name__, run, needs_root, heavy))
        return run

    return add


@contextmanager
def raises(*numbers: int) -> Iterator[None]:
    """The block must end in an OSError with one of these numbers."""
    expected = " or ".join(errno.errorcode[number] for number in numbers)
    try:
        yield
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, "?")
        assert error.errno in numbers, f"{name} instead of {expected}"
    else:
        raise AssertionError(f"no error instead of {expected}")


def start_child(run: Callable[[], object], user: int | None = None) -> int:
    """Forks; the child runs the function as `user`, and ends with 0 if it returns."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        signal.alarm(CHILD_TIMEOUT_S)
        if user is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        run()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def await_child(child: int) -> None:
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended with {os.waitstatus_to_exitcode(status)}"


def in_child(run: Callable[[], object], user: int | None = None) -> None:
    await_child(start_child(run, user))


@contextmanager
def opened(path: str | Path, flags: int, mode: int = 0o644) -> Iterator[int]:
    fd = os.open(path, flags, mode)
    try:
        yield fd
    finally:
        os.close(fd)


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode_of(path: str | Path) -> int:
    return os.lstat(path).st_mode & 0o7777


def pattern(length: int, seed: int = 1) -> bytes:
    """Bytes in which no two places look alike over a short stretch."""
    words = -(-length // 8)
    step = 0x9E3779B97F4A7C15 * (2 * seed + 1) % (1 << 64)
    return b"".join((i * step % (1 << 64)).to_bytes(8, "little") for i in range(1, words + 1))[
        :length
    ]


def called(result: int) -> int:
    """The result of a call of libc, or its error."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def name_descriptor(fd: int, name: str) -> None:
    """Gives an open file a name; Python's os.link() never asks the kernel to follow."""
    source = f"/proc/self/fd/{fd}".encode()
    called(LIBC.linkat(AT_FDCWD, source, AT_FDCWD, os.fsencode(name), AT_SYMLINK_FOLLOW))
