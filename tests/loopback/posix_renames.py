"""Checks of rename."""

import ctypes
import errno
import os
from pathlib import Path

from posix_checks import (
    AT_FDCWD,
    LIBC,
    Place,
    called,
    check,
    in_child,
    opened,
    pattern,
    raises,
)

RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2


def renameat2(old: str, new: str, flags: int) -> None:
    called(
        LIBC.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new), ctypes.c_uint(flags))
    )


@check()
def rename_replaces_a_file(place: Place) -> None:
    Path("old").write_bytes(pattern(300_000, 1))
    Path("new").write_bytes(pattern(400_000, 2))
    inode = os.stat("old").st_ino
    with opened("new", os.O_RDWR) as victim:
        os.rename("old", "new")
        assert os.listdir() == ["new"]
        assert os.stat("new").st_ino == inode
        assert Path("new").read_bytes() == pattern(300_000, 1)
        assert os.fstat(victim).st_nlink == 0
        assert os.pread(victim, 500_000, 0) == pattern(400_000, 2)
        os.pwrite(victim, b"still here", 399_990)
        assert os.pread(victim, 20, 399_990) == b"still here"
    assert Path("new").read_bytes() == pattern(300_000, 1)


@check()
def rename_of_directories(place: Place) -> None:
    for name in ("a", "empty", "full"):
        Path(name).mkdir()
    Path("a/file").write_bytes(b"in a")
    Path("full/file").touch()
    Path("file").touch()
    with raises(errno.ENOTEMPTY, errno.EEXIST):
        os.rename("a", "full")
    with raises(errno.EISDIR):
        os.rename("file", "empty")
    with raises(errno.ENOTDIR):
        os.rename("a", "file")
    with raises(errno.EINVAL):
        os.rename("a", "a/below")
    with raises(errno.ENOENT):
        os.rename("none", "x")
    with raises(errno.ENOENT):
        os.rename("a", "none/x")
    with raises(errno.ENOTDIR):
        os.rename("a", "file/x")
    with raises(errno.EBUSY, errno.EINVAL):
        os.rename("a/.", "x")
    with raises(errno.ENAMETOOLONG):
        os.rename("a", "n" * 256)
    os.rename("a", "empty")
    assert Path("empty/file").read_bytes() == b"in a"
    assert sorted(os.listdir()) == ["empty", "file", "full"]
    os.rename("empty", "full/deeper")
    assert Path("full/deeper/file").read_bytes() == b"in a"
    assert os.stat("full/deeper/..").st_ino == os.stat("full").st_ino


@check()
def rename_onto_itself_does_nothing(place: Place) -> None:
    Path("one").write_bytes(b"content")
    os.link("one", "two")
    os.rename("one", "two")
    os.rename("one", "one")
    assert sorted(os.listdir()) == ["one", "two"]
    assert os.stat("one").st_nlink == 2


@check()
def rename_can_refuse_to_replace(place: Place) -> None:
    Path("old").write_bytes(b"old")
    Path("new").write_bytes(b"new")
    with raises(errno.EEXIST):
        renameat2("old", "new", RENAME_NOREPLACE)
    assert Path("new").read_bytes() == b"new"
    renameat2("old", "third", RENAME_NOREPLACE)
    assert sorted(os.listdir()) == ["new", "third"]


@check()
def rename_can_exchange(place: Place) -> None:
    Path("file").write_bytes(b"file")
    Path("folder").mkdir()
    Path("folder/inside").write_bytes(b"inside")
    with raises(errno.ENOENT):
        renameat2("file", "none", RENAME_EXCHANGE)
    with opened("file", os.O_RDWR) as fd:
        renameat2("file", "folder", RENAME_EXCHANGE)
        assert Path("folder").read_bytes() == b"file"
        assert Path("file/inside").read_bytes() == b"inside"
        os.pwrite(fd, b"FILE", 0)
    assert Path("folder").read_bytes() == b"FILE"
    with raises(errno.EINVAL):
        renameat2("file", "folder", RENAME_EXCHANGE | RENAME_NOREPLACE)


@check()
def open_files_follow_a_rename(place: Place) -> None:
    Path("a").mkdir()
    Path("b").mkdir()
    with opened("a/file", os.O_CREAT | os.O_RDWR) as fd:
        os.write(fd, pattern(100_000))
        os.rename("a/file", "b/moved")
        os.write(fd, b"more")
        os.fsync(fd)
        os.rename("b", "c")
        os.write(fd, b"and more")
        assert os.fstat(fd).st_size == 100_012
        assert os.fstat(fd).st_ino == os.stat("c/moved").st_ino
    assert Path("c/moved").read_bytes() == pattern(100_000) + b"moreand more"


@check()
def the_working_directory_follows_a_rename(place: Place) -> None:
    Path("a/deep").mkdir(parents=True)

    def below() -> None:
        os.chdir("a/deep")
        os.rename("../../a", "../../b")
        Path("file").write_bytes(b"content")
        assert Path("../../b/deep/file").read_bytes() == b"content"
        assert Path.cwd() == place.root / "b/deep"

    in_child(below)
