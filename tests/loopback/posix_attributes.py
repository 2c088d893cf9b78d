"""Checks of attributes: modes, owners, extended attributes, numbers of stat and statfs."""

import errno
import os
import stat
from pathlib import Path

from posix_checks import MIB, NOBODY, Place, check, in_child, mode_of, opened, pattern, raises

USER_XATTR_BYTES = 2000


@check()
def every_mode_can_be_set(place: Place) -> None:
    Path("file").write_bytes(b"content")
    os.mkdir("folder")
    for mode in (0, 0o400, 0o644, 0o755, 0o777, 0o1777, 0o2755, 0o4711, 0o7777):
        for name in ("file", "folder"):
            os.chmod(name, mode)
            assert mode_of(name) == mode
    os.chmod("folder", 0o755)
    with opened("file", os.O_RDONLY) as fd:
        os.fchmod(fd, 0o123)
        assert os.fstat(fd).st_mode == stat.S_IFREG | 0o123
    os.symlink("file", "link")
    os.chmod("link", 0o604)
    assert mode_of("file") == 0o604
    with raises(errno.ENOENT):
        os.chmod("none", 0o644)


@check(needs_root=True)
def modes_and_owners_belong_to_the_owner(place: Place) -> None:
    place.root.chmod(0o777)
    Path("roots").touch()
    Path("roots").chmod(0o666)

    def other() -> None:
        with raises(errno.EPERM):
            os.chmod("roots", 0o777)
        with raises(errno.EPERM):
            os.chown("roots", NOBODY, -1)
        Path("own").touch()
        os.chmod("own", 0o2775)
        assert mode_of("own") == 0o2775
        with raises(errno.EPERM):
            os.chown("own", 0, -1)
        with raises(errno.EPERM):
            os.chown("own", -1, 0)
        os.chown("own", NOBODY, NOBODY)

    in_child(other, NOBODY)
    os.chown("own", -1, 1234)

    def without_the_group() -> None:
        os.chmod("own", 0o2755)
        assert mode_of("own") == 0o755

    in_child(without_the_group, NOBODY)


@check(needs_root=True)
def owners_can_be_changed_one_by_one(place: Place) -> None:
    Path("file").touch()
    os.symlink("file", "link")
    os.chown("file", 1000, 1001)
    os.chown("file", -1, 1002)
    assert (os.stat("file").st_uid, os.stat("file").st_gid) == (1000, 1002)
    os.chown("file", 1003, -1)
    assert (os.stat("file").st_uid, os.stat("file").st_gid) == (1003, 1002)
    os.lchown("link", 7, 8)
    assert (os.lstat("link").st_uid, os.lstat("link").st_gid) == (7, 8)
    assert os.stat("file").st_uid == 1003
    with opened("file", os.O_RDONLY) as fd:
        os.fchown(fd, 5, 6)
        assert (os.fstat(fd).st_uid, os.fstat(fd).st_gid) == (5, 6)


@check(needs_root=True)
def foreign_writes_take_set_id_bits_away(place: Place) -> None:
    def write(name: str) -> None:
        with opened(name, os.O_WRONLY) as fd:
            os.write(fd, b"x")

    def cut(name: str) -> None:
        os.truncate(name, 3)

    for i, act in enumerate((write, cut)):
        name = f"file{i}"
        Path(name).write_bytes(b"content")
        os.chmod(name, 0o6777)
        in_child(lambda act=act, name=name: act(name), NOBODY)
        assert mode_of(name) == 0o777
    Path("owned").touch()
    os.chmod("owned", 0o6755)
    os.chown("owned", 1000, 1000)
    assert mode_of("owned") == 0o755


@check()
def user_attributes(place: Place) -> None:
    Path("file").touch()
    os.mkdir("folder")
    for name in ("file", "folder"):
        os.setxattr(name, "user.one", b"1")
        os.setxattr(name, "user.empty", b"")
        os.setxattr(name, "user.large", pattern(USER_XATTR_BYTES))
        assert os.getxattr(name, "user.one") == b"1"
        assert os.getxattr(name, "user.empty") == b""
        assert os.getxattr(name, "user.large") == pattern(USER_XATTR_BYTES)
        users = {each for each in os.listxattr(name) if each.startswith("user.")}
        assert users == {"user.one", "user.empty", "user.large"}
        with raises(errno.EEXIST):
            os.setxattr(name, "user.one", b"2", os.XATTR_CREATE)
        with raises(errno.ENODATA):
            os.setxattr(name, "user.two", b"2", os.XATTR_REPLACE)
        os.setxattr(name, "user.one", b"22", os.XATTR_REPLACE)
        assert os.getxattr(name, "user.one") == b"22"
        os.removexattr(name, "user.one")
        with raises(errno.ENODATA):
            os.getxattr(name, "user.one")
        with raises(errno.ENODATA):
            os.removexattr(name, "user.one")
    with opened("file", os.O_RDONLY) as fd:
        os.setxattr(fd, "user.by_fd", b"fd")
        assert os.getxattr("file", "user.by_fd") == b"fd"
    with raises(errno.EOPNOTSUPP):
        os.setxattr("file", "none.x", b"1")
    os.symlink("file", "link")
    with raises(errno.EPERM):
        os.setxattr("link", "user.x", b"1", follow_symlinks=False)
    os.rename("file", "moved")
    assert os.getxattr("moved", "user.by_fd") == b"fd"


@check()
def inode_numbers_tell_files_apart(place: Place) -> None:
    for i in range(50):
        Path(f"f{i}").touch()
    numbers = {os.stat(f"f{i}").st_ino for i in range(50)}
    assert len(numbers) == 50
    assert {os.stat(f"f{i}").st_dev for i in range(50)} == {os.stat(".").st_dev}
    with opened("f7", os.O_WRONLY) as fd:
        os.write(fd, b"x" * 200_000)
        assert os.fstat(fd).st_ino == os.stat("f7").st_ino
    before = os.stat("f8").st_ino
    os.rename("f8", "g8")
    Path("g8").write_bytes(b"new content")
    assert os.stat("g8").st_ino == before


@check()
def space_of_the_file_system_is_told(place: Place) -> None:
    told = os.statvfs(".")
    assert told.f_blocks >= told.f_bfree >= told.f_bavail > 0
    assert told.f_files >= told.f_ffree
    assert told.f_frsize > 0
    assert told.f_namemax == 255
    with opened(".", os.O_RDONLY) as fd:
        assert os.fstatvfs(fd).f_blocks == told.f_blocks


@check()
def blocks_tell_what_a_file_takes(place: Place) -> None:
    with opened("file", os.O_CREAT | os.O_RDWR) as fd:
        os.write(fd, pattern(MIB))
        os.fsync(fd)
        assert MIB <= os.fstat(fd).st_blocks * 512 < 2 * MIB
        os.ftruncate(fd, 1 << 40)
        assert os.fstat(fd).st_blocks * 512 < 2 * MIB
        os.ftruncate(fd, 0)
        os.fsync(fd)
        assert os.fstat(fd).st_blocks * 512 < 64 * 1024
    assert os.stat("file").st_blksize >= 512


@check()
def a_symbolic_link_and_its_file_differ(place: Place) -> None:
    Path("file").write_bytes(b"0123456789")
    os.symlink("file", "link")
    assert os.stat("link").st_size == 10
    assert os.lstat("link").st_size == 4
    assert os.stat("link").st_ino == os.stat("file").st_ino != os.lstat("link").st_ino
