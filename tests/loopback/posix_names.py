"""Checks of names: unlink, links, directories, special files."""

import errno
import os
import socket
import stat
from pathlib import Path

from posix_checks import (
    NOBODY,
    Place,
    await_child,
    check,
    in_child,
    mode_of,
    name_descriptor,
    opened,
    pattern,
    raises,
    start_child,
    umask,
)


@check()
def an_unlinked_file_lives_until_it_is_closed(place: Place) -> None:
    with opened("file", os.O_CREAT | os.O_RDWR) as fd:
        os.write(fd, pattern(500_000))
        os.unlink("file")
        with raises(errno.ENOENT):
            os.stat("file")
        assert os.listdir() == []
        assert os.fstat(fd).st_nlink == 0
        assert os.fstat(fd).st_size == 500_000
        assert os.pread(fd, 500_000, 0) == pattern(500_000)
        os.pwrite(fd, b"more", 700_000)
        os.ftruncate(fd, 700_002)
        os.fchmod(fd, 0o400)
        os.utime(fd, ns=(10**18, 10**18))
        os.fsync(fd)
        assert os.pread(fd, 10, 699_999) == b"\0mo"
        assert os.fstat(fd).st_mtime_ns == 10**18
        Path("file").write_bytes(b"another")
        assert os.fstat(fd).st_ino != os.stat("file").st_ino
        assert os.pread(fd, 3, 0) == pattern(3)
        with raises(errno.ENOENT):
            name_descriptor(fd, "again")
    assert Path("file").read_bytes() == b"another"


@check()
def errors_of_unlink_and_rmdir(place: Place) -> None:
    Path("file").touch()
    Path("folder/inner").mkdir(parents=True)
    with raises(errno.EISDIR):
        os.unlink("folder")
    with raises(errno.ENOENT):
        os.unlink("none")
    with raises(errno.ENOTDIR):
        os.unlink("file/x")
    with raises(errno.ENOTEMPTY):
        os.rmdir("folder")
    with raises(errno.ENOTDIR):
        os.rmdir("file")
    with raises(errno.ENOENT):
        os.rmdir("none")
    with raises(errno.EINVAL):
        os.rmdir("folder/.")
    with raises(errno.ENOTEMPTY, errno.EINVAL):
        os.rmdir("folder/..")
    os.rmdir("folder/inner")
    os.rmdir("folder")


@check()
def a_removed_directory_takes_nothing_more(place: Place) -> None:
    Path("folder").mkdir()
    with opened("folder", os.O_RDONLY | os.O_DIRECTORY) as fd:
        os.rmdir("folder")
        assert os.listdir(fd) == []
        assert os.fstat(fd).st_nlink == 0
        with raises(errno.ENOENT):
            os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=fd)
        with raises(errno.ENOENT):
            os.mkdir("below", dir_fd=fd)


@check()
def hard_links_are_one_file(place: Place) -> None:
    Path("a").mkdir()
    Path("one").write_bytes(pattern(200_000))
    os.link("one", "a/two")
    os.link("a/two", "three")
    assert {os.stat(name).st_ino for name in ("one", "a/two", "three")} == {os.stat("one").st_ino}
    assert os.stat("three").st_nlink == 3
    with opened("three", os.O_WRONLY) as fd:
        os.pwrite(fd, b"changed", 150_000)
        os.ftruncate(fd, 180_000)
    assert os.stat("one").st_size == 180_000
    assert Path("a/two").read_bytes()[149_999:150_008] == (
        pattern(200_000)[149_999:150_000] + b"changed" + pattern(200_000)[150_007:150_008]
    )
    os.unlink("one")
    assert os.stat("three").st_nlink == 2
    os.rename("a/two", "one")
    os.unlink("three")
    assert os.stat("one").st_nlink == 1
    assert Path("one").read_bytes()[:140_000] == pattern(140_000)


@check()
def errors_of_link(place: Place) -> None:
    for name in ("file", "there"):
        Path(name).touch()
    Path("folder").mkdir()
    with raises(errno.EEXIST):
        os.link("file", "there")
    with raises(errno.EPERM):
        os.link("folder", "other")
    with raises(errno.ENOENT):
        os.link("none", "other")
    with raises(errno.ENOENT):
        os.link("file", "none/other")
    with raises(errno.ENOTDIR):
        os.link("file", "there/other")
    with raises(errno.ENAMETOOLONG):
        os.link("file", "n" * 256)
    with raises(errno.EXDEV):
        os.link("/proc/self/status", "other")
    assert os.stat("file").st_nlink == 1


@check()
def symbolic_links(place: Place) -> None:
    for target in ("file", "nowhere/at all", "x" * 4095, "/absolute", "ünï"):
        os.symlink(target, "link")
        assert os.readlink("link") == target
        assert os.lstat("link").st_size == len(os.fsencode(target))
        assert stat.S_ISLNK(os.lstat("link").st_mode)
        os.unlink("link")
    with raises(errno.ENOENT):
        os.symlink("", "link")
    Path("file").write_bytes(b"content")
    with raises(errno.EEXIST):
        os.symlink("x", "file")
    with raises(errno.EINVAL):
        os.readlink("file")
    Path("folder").mkdir()
    os.symlink("folder", "way")
    os.symlink("../file", "way/back")
    assert Path("way/back").read_bytes() == b"content"
    os.link("way/back", "copy", follow_symlinks=False)
    assert os.lstat("copy").st_nlink == 2
    os.rename("way", "road")
    assert os.readlink("road") == "folder"
    previous = "file"
    for i in range(41):
        os.symlink(previous, f"chain{i}")
        previous = f"chain{i}"
    assert Path("chain38").read_bytes() == b"content"
    with raises(errno.ELOOP):
        os.stat("chain40")


@check()
def directories_count_their_links(place: Place) -> None:
    before = os.stat(".").st_nlink
    for mask, mode in ((0, 0o777), (0o022, 0o777), (0o077, 0o755), (0, 0o1777)):
        with umask(mask):
            os.mkdir(f"d{mask:o}-{mode:o}", mode)
        assert mode_of(f"d{mask:o}-{mode:o}") == mode & ~mask
    if before > 1:  # some file systems always say 1
        assert os.stat(".").st_nlink == before + 4
        os.rmdir("d0-777")
        assert os.stat(".").st_nlink == before + 3
    Path("file").touch()
    with raises(errno.EEXIST):
        os.mkdir("file")
    with raises(errno.EEXIST):
        os.mkdir(".")
    with raises(errno.ENOENT):
        os.mkdir("none/x")
    with raises(errno.ENOTDIR):
        os.mkdir("file/x")
    with raises(errno.ENAMETOOLONG):
        os.mkdir("n" * 256)


@check(needs_root=True)
def group_directories_hand_their_group_on(place: Place) -> None:
    os.mkdir("shared")
    os.chown("shared", 0, 1234)
    os.chmod("shared", 0o2777)

    def other() -> None:
        os.umask(0)
        os.mkdir("shared/folder", 0o755)
        Path("shared/file").touch()
        os.mkfifo("shared/fifo")
        os.symlink("x", "shared/link")

    in_child(other, NOBODY)
    assert mode_of("shared/folder") == 0o2755
    assert mode_of("shared/file") == 0o666
    for name in ("folder", "file", "fifo", "link"):
        status = os.lstat(f"shared/{name}")
        assert (status.st_uid, status.st_gid) == (NOBODY, 1234)


@check(needs_root=True)
def sticky_directories_protect_names(place: Place) -> None:
    os.mkdir("tmp")
    os.chmod("tmp", 0o1777)
    Path("tmp/roots").touch()
    Path("tmp/folder").mkdir(0o777)

    def other() -> None:
        Path("tmp/own").touch()
        with raises(errno.EPERM, errno.EACCES):
            os.unlink("tmp/roots")
        with raises(errno.EPERM, errno.EACCES):
            os.rename("tmp/roots", "tmp/x")
        with raises(errno.EPERM, errno.EACCES):
            os.rename("tmp/own", "tmp/roots")
        with raises(errno.EPERM, errno.EACCES):
            os.rmdir("tmp/folder")
        os.rename("tmp/own", "tmp/mine")
        os.unlink("tmp/mine")

    in_child(other, NOBODY)


@check()
def fifos_connect_processes(place: Place) -> None:
    with umask(0o022):
        os.mkfifo("fifo", 0o666)
    assert stat.S_ISFIFO(os.stat("fifo").st_mode)
    assert mode_of("fifo") == 0o644
    child = start_child(lambda: Path("fifo").write_bytes(b"through"))
    assert Path("fifo").read_bytes() == b"through"
    await_child(child)
    with raises(errno.EEXIST):
        os.mkfifo("fifo")


@check()
def sockets_have_a_name(place: Place) -> None:
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind("socket")
        assert stat.S_ISSOCK(os.stat("socket").st_mode)
        server.listen()
        client.connect("socket")
        client.sendall(b"hello")
        accepted, _ = server.accept()
        with accepted:
            assert accepted.recv(5) == b"hello"
    with raises(errno.ENXIO):
        os.open("socket", os.O_RDONLY)


@check()
def mknod_makes_regular_files(place: Place) -> None:
    with umask(0o027):
        os.mknod("file", stat.S_IFREG | 0o666)
    assert mode_of("file") == 0o640
    assert os.stat("file").st_size == 0
    Path("file").write_bytes(pattern(100_000))
    assert Path("file").read_bytes() == pattern(100_000)
    with raises(errno.EEXIST):
        os.mknod("file", stat.S_IFREG | 0o600)


@check()
def names_are_bytes(place: Place) -> None:
    names = [
        b"\xff\xfe", b"a\nb", b" ", b"  x ", b"...", b".hidden", b"-rf", b"*", b"\\", b"\x01\x7f",
        "käse".encode(), "käse".encode("latin-1"), b"\xf0\x9f\x98\x80", b"CON", b"a:b", b"%s%n",
        b"#1", b".iez", b"objects", b"orphans", b".fuse_hidden0001",
    ]  # fmt: skip
    for name in names:
        Path(os.fsdecode(name)).write_bytes(name)
    assert sorted(os.listdir(b".")) == sorted(names)
    for name in names:
        assert Path(os.fsdecode(name)).read_bytes() == name
        os.rename(name, b"R" + name)
    assert sorted(os.listdir(b".")) == sorted(b"R" + name for name in names)
