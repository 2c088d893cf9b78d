"""Checks of times: what moves them, and what they are set to."""

import ctypes
import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

from posix_checks import (
    AT_FDCWD,
    LIBC,
    NOBODY,
    Place,
    called,
    check,
    in_child,
    opened,
    pattern,
    raises,
)

UTIME_NOW = (1 << 30) - 1
UTIME_OMIT = (1 << 30) - 2
PAST_NS = 1_000_000_000_123_456_789
# The kernel's clock for files moves once a tick.
TICK_S = 0.012


def utimensat(path: str, atime_ns: int, mtime_ns: int) -> None:
    """Takes the two special values as seconds 0 and themselves."""
    pairs = [
        part
        for value in (atime_ns, mtime_ns)
        for part in ((0, value) if value in (UTIME_NOW, UTIME_OMIT) else divmod(value, 10**9))
    ]
    times = (ctypes.c_long * 4)(*pairs)
    called(LIBC.utimensat(AT_FDCWD, os.fsencode(path), times, 0))


def moves(path: str, act: Callable[[], object]) -> str:
    """Which of m(time) and c(time) of `path` the action moves; mtime is in the past before."""
    os.utime(path, ns=(PAST_NS, PAST_NS), follow_symlinks=False)
    before = os.lstat(path)
    time.sleep(TICK_S)
    act()
    after = os.lstat(path)
    moved = ""
    if after.st_mtime_ns != before.st_mtime_ns:
        assert abs(after.st_mtime - time.time()) < 30
        moved += "m"
    if after.st_ctime_ns != before.st_ctime_ns:
        assert after.st_ctime_ns > before.st_ctime_ns
        moved += "c"
    return moved


@check()
def what_is_done_to_a_file_moves_its_times(place: Place) -> None:
    Path("file").write_bytes(pattern(100_000))
    with opened("file", os.O_RDWR) as fd:
        assert moves("file", lambda: os.pwrite(fd, b"x", 90_000)) == "mc"
        assert moves("file", lambda: os.pwrite(fd, b"", 0)) == ""
        assert moves("file", lambda: os.pread(fd, 100, 0)) == ""
        assert moves("file", lambda: os.ftruncate(fd, 80_000)) == "mc"
        assert moves("file", lambda: os.ftruncate(fd, 200_000)) == "mc"
        assert moves("file", lambda: os.fsync(fd)) == ""
        assert moves("file", lambda: os.fchmod(fd, 0o600)) == "c"
        assert moves("file", lambda: os.setxattr(fd, "user.x", b"1")) == "c"
    assert moves("file", lambda: os.truncate("file", 200_000)) == "mc"
    assert moves("file", lambda: os.link("file", "second")) == "c"
    assert moves("file", lambda: os.unlink("second")) == "c"
    assert moves("file", lambda: os.chown("file", os.getuid(), -1)) == "c"
    assert moves("file", lambda: Path("file").read_bytes()) == ""
    assert moves("file", lambda: os.close(os.open("file", os.O_WRONLY | os.O_TRUNC))) == "mc"
    assert moves("file", lambda: os.close(os.open("file", os.O_WRONLY))) == ""
    os.symlink("file", "link")
    assert moves("link", lambda: os.readlink("link")) == ""


@check()
def what_is_done_to_names_moves_the_directory(place: Place) -> None:
    os.mkdir("folder")
    Path("outside").touch()
    acts: list[Callable[[], object]] = [
        lambda: Path("folder/file").touch(),
        lambda: os.mkdir("folder/below"),
        lambda: os.symlink("x", "folder/link"),
        lambda: os.mkfifo("folder/fifo"),
        lambda: os.link("outside", "folder/hard"),
        lambda: os.rename("folder/file", "folder/moved"),
        lambda: os.rename("folder/moved", "moved"),
        lambda: os.rename("moved", "folder/file"),
        lambda: os.unlink("folder/link"),
        lambda: os.rmdir("folder/below"),
    ]
    for act in acts:
        assert moves("folder", act) == "mc"
    assert moves("folder", lambda: Path("folder/file").write_bytes(b"content")) == ""
    assert moves("folder", lambda: os.listdir("folder")) == ""
    assert moves("folder", lambda: os.chmod("folder", 0o700)) == "c"
    assert moves("folder/hard", lambda: os.rename("folder/hard", "hard2") or os.rename(
        "hard2", "folder/hard"
    )) in ("", "c")  # fmt: skip


@check()
def times_are_set_to_the_nanosecond(place: Place) -> None:
    Path("file").touch()
    os.mkdir("folder")
    os.symlink("file", "link")
    for path in ("file", "folder", "link"):
        for atime, mtime in ((PAST_NS, PAST_NS + 1), (1, 999_999_999), (2**33 * 10**9 + 7, 10**18)):
            os.utime(path, ns=(atime, mtime), follow_symlinks=False)
            seen = os.lstat(path)
            assert (seen.st_atime_ns, seen.st_mtime_ns) == (atime, mtime)
    with opened("file", os.O_RDONLY) as fd:
        os.utime(fd, ns=(5, 6))
        assert (os.fstat(fd).st_atime_ns, os.fstat(fd).st_mtime_ns) == (5, 6)


@check()
def one_time_can_be_left_or_set_to_now(place: Place) -> None:
    Path("file").touch()
    os.utime("file", ns=(PAST_NS, PAST_NS))
    utimensat("file", 17, UTIME_OMIT)
    assert (os.stat("file").st_atime_ns, os.stat("file").st_mtime_ns) == (17, PAST_NS)
    utimensat("file", UTIME_OMIT, 18)
    assert (os.stat("file").st_atime_ns, os.stat("file").st_mtime_ns) == (17, 18)
    utimensat("file", UTIME_OMIT, UTIME_NOW)
    assert os.stat("file").st_atime_ns == 17
    assert abs(os.stat("file").st_mtime - time.time()) < 30
    before = os.stat("file")
    time.sleep(TICK_S)
    utimensat("file", UTIME_OMIT, UTIME_OMIT)
    assert os.stat("file") == before


@check()
def a_time_that_was_set_stays_after_a_write(place: Place) -> None:
    with opened("file", os.O_CREAT | os.O_WRONLY) as fd:
        os.write(fd, pattern(300_000))
        os.utime("file", ns=(PAST_NS, PAST_NS))
        assert os.fstat(fd).st_mtime_ns == PAST_NS
        os.fsync(fd)
        assert os.fstat(fd).st_mtime_ns == PAST_NS
    assert os.stat("file").st_mtime_ns == PAST_NS
    assert Path("file").read_bytes() == pattern(300_000)
    assert os.stat("file").st_mtime_ns == PAST_NS


@check()
def a_truncate_keeps_other_attributes(place: Place) -> None:
    Path("file").write_bytes(pattern(100_000))
    os.chmod("file", 0o640)
    os.utime("file", ns=(PAST_NS, PAST_NS))
    os.truncate("file", 10)
    assert os.stat("file").st_mode & 0o7777 == 0o640
    assert os.stat("file").st_atime_ns == PAST_NS
    assert os.stat("file").st_size == 10


@check(needs_root=True)
def times_belong_to_the_owner(place: Place) -> None:
    place.root.chmod(0o777)
    for name, mode in (("writable", 0o666), ("readable", 0o644)):
        Path(name).touch()
        Path(name).chmod(mode)

    def other() -> None:
        utimensat("writable", UTIME_NOW, UTIME_NOW)
        os.utime("writable")
        with raises(errno.EPERM):
            os.utime("writable", ns=(1, 2))
        with raises(errno.EPERM):
            utimensat("writable", UTIME_NOW, UTIME_OMIT)
        with raises(errno.EACCES):
            os.utime("readable")
        with raises(errno.EPERM):
            os.utime("readable", ns=(1, 2))

    in_child(other, NOBODY)
