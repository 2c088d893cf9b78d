"""Checks of open(): flags, modes, errors."""

import errno
import os
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

NEW = os.O_CREAT | os.O_RDWR
NAME_MAX = 255


@check()
def modes_of_new_files_go_through_the_umask(place: Place) -> None:
    for mask in (0, 0o022, 0o077, 0o777):
        for mode in (0o666, 0o777, 0o640, 0o000, 0o4755, 0o1644):
            with umask(mask), opened(f"f{mask:o}-{mode:o}", NEW | os.O_EXCL, mode) as fd:
                assert os.fstat(fd).st_mode == stat.S_IFREG | (mode & ~mask)
                assert os.fstat(fd).st_uid == os.geteuid()
                assert os.fstat(fd).st_gid == os.getegid()


@check()
def a_file_without_rights_can_be_used_by_who_created_it(place: Place) -> None:
    for mode in (0o444, 0o400, 0):
        with opened(f"f{mode:o}", NEW | os.O_EXCL, mode) as fd:
            assert os.write(fd, b"content") == 7
            os.ftruncate(fd, 4)
            assert os.pread(fd, 10, 0) == b"cont"


@check()
def exclusive_creation_happens_once(place: Place) -> None:
    Path("file").touch()
    Path("folder").mkdir()
    Path("dangling").symlink_to("nowhere")
    for name in ("file", "folder", "dangling"):
        with raises(errno.EEXIST):
            os.open(name, NEW | os.O_EXCL)
    assert not Path("nowhere").exists()

    def race() -> None:
        won = 0
        for i in range(30):
            try:
                os.close(os.open(f"race{i}", NEW | os.O_EXCL))
                won += 1
            except FileExistsError:
                pass
        with opened("wins", os.O_CREAT | os.O_WRONLY | os.O_APPEND) as fd:
            os.write(fd, f"{won}\n".encode())

    for child in [start_child(race) for _ in range(3)]:
        await_child(child)
    assert sum(map(int, Path("wins").read_text().split())) == 30


@check()
def a_dangling_link_is_created_through(place: Place) -> None:
    Path("link").symlink_to("target")
    with opened("link", NEW) as fd:
        os.write(fd, b"through")
    assert Path("target").read_bytes() == b"through"
    assert Path("link").is_symlink()


@check()
def truncating_opens_empty_a_file(place: Place) -> None:
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDONLY):
        Path("file").write_bytes(pattern(200_000))
        inode = os.stat("file").st_ino
        with opened("file", flags | os.O_TRUNC) as fd:
            assert os.fstat(fd).st_size == 0
            assert os.fstat(fd).st_ino == inode
    with opened("file", os.O_RDWR) as fd:
        os.ftruncate(fd, 200_000)
        assert os.read(fd, 300_000) == bytes(200_000)


@check()
def appends_go_to_the_end_wherever_that_is(place: Place) -> None:
    Path("file").write_bytes(b"start")
    with opened("file", os.O_RDWR | os.O_APPEND) as fd, opened("file", os.O_WRONLY) as other:
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, b"1")
        assert os.lseek(fd, 0, os.SEEK_CUR) == 6
        os.pwrite(other, b"far", 70_000)
        os.write(fd, b"2")
        assert os.lseek(fd, 0, os.SEEK_CUR) == 70_004
        assert os.pwrite(fd, b"3", 0) == 1  # Linux appends here as well
        os.ftruncate(other, 3)
        os.write(fd, b"4")
    assert Path("file").read_bytes() == b"sta4"


@check()
def processes_that_append_at_once_lose_nothing(place: Place) -> None:
    def append(who: int) -> None:
        fd = os.open("log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        for i in range(60):
            body = f"{who} {i} ".encode() * (1 + (who * 7 + i * 13) % 900)
            record = len(body).to_bytes(4, "little") + body
            assert os.write(fd, record) == len(record)

    for child in [start_child(lambda who=who: append(who)) for who in range(4)]:
        await_child(child)
    data, at, seen = Path("log").read_bytes(), 0, []
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "little")
        body = data[at + 4 : at + 4 + length]
        words = body.split()
        assert body == b"%s %s " % (words[0], words[1]) * (len(words) // 2)
        seen.append((int(words[0]), int(words[1])))
        at += 4 + length
    assert sorted(seen) == [(who, i) for who in range(4) for i in range(60)]
    assert [i for who, i in seen if who == 2] == list(range(60))


@check()
def errors_of_open(place: Place) -> None:
    Path("file").touch()
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")
    Path("link").symlink_to("file")
    os.mkfifo("fifo")
    expected = {
        ("none", os.O_RDONLY): errno.ENOENT,
        ("none/file", NEW): errno.ENOENT,
        ("", os.O_RDONLY): errno.ENOENT,
        ("folder", os.O_WRONLY): errno.EISDIR,
        ("folder", os.O_RDWR): errno.EISDIR,
        ("folder", NEW): errno.EISDIR,
        ("file/under", os.O_RDONLY): errno.ENOTDIR,
        ("file/under", NEW): errno.ENOTDIR,
        ("file/", os.O_RDONLY): errno.ENOTDIR,
        ("file", os.O_RDONLY | os.O_DIRECTORY): errno.ENOTDIR,
        ("loop", os.O_RDONLY): errno.ELOOP,
        ("loop/x", NEW): errno.ELOOP,
        ("link", os.O_RDONLY | os.O_NOFOLLOW): errno.ELOOP,
        ("new/", NEW): errno.EISDIR,
        ("n" * (NAME_MAX + 1), os.O_RDONLY): errno.ENAMETOOLONG,
        ("n" * (NAME_MAX + 1), NEW): errno.ENAMETOOLONG,
        ("x/" * 2050, os.O_RDONLY): errno.ENAMETOOLONG,
        ("fifo", os.O_WRONLY | os.O_NONBLOCK): errno.ENXIO,
    }
    for (name, flags), number in expected.items():
        with raises(number):
            os.open(name, flags, 0o644)
    with opened("folder", os.O_RDONLY | os.O_DIRECTORY) as fd, raises(errno.EISDIR):
        os.read(fd, 1)


@check()
def the_longest_name_works(place: Place) -> None:
    name = "n" * NAME_MAX
    Path(name).write_bytes(b"content")
    assert os.listdir() == [name]
    assert os.pathconf(".", "PC_NAME_MAX") == NAME_MAX
    Path(name).rename("m" * NAME_MAX)
    Path("m" * NAME_MAX).unlink()


@check(needs_root=True)
def other_users_are_refused(place: Place) -> None:
    place.root.chmod(0o755)
    Path("private").write_bytes(b"secret")
    Path("private").chmod(0o600)
    Path("readable").write_bytes(b"public")
    Path("readable").chmod(0o644)
    Path("closed").mkdir(mode=0o700)
    Path("closed/inside").touch(0o666)

    def other() -> None:
        for name, flags in (
            ("private", os.O_RDONLY),
            ("readable", os.O_WRONLY),
            ("readable", os.O_RDONLY | os.O_TRUNC),
            ("closed/inside", os.O_RDONLY),
            ("new", NEW),
        ):
            with raises(errno.EACCES):
                os.open(name, flags, 0o666)
        with raises(errno.EACCES):
            os.listdir("closed")
        with raises(errno.EACCES):
            os.stat("closed/inside")
        with raises(errno.EACCES):
            os.mkdir("new")
        with raises(errno.EACCES):
            os.unlink("readable")
        with raises(errno.EACCES):
            os.rename("readable", "other")
        with raises(errno.EACCES):
            os.symlink("a", "b")
        with raises(errno.EACCES):
            os.truncate("readable", 0)
        assert os.access("readable", os.R_OK)
        assert not os.access("readable", os.W_OK)
        assert Path("readable").read_bytes() == b"public"

    in_child(other, NOBODY)


@check(needs_root=True)
def files_of_another_user_are_theirs(place: Place) -> None:
    place.root.chmod(0o777)

    def other() -> None:
        with opened("mine", NEW, 0o600) as fd:
            os.write(fd, b"mine")
        os.mkdir("folder", 0o700)

    in_child(other, NOBODY)
    for name in ("mine", "folder"):
        assert (os.stat(name).st_uid, os.stat(name).st_gid) == (NOBODY, NOBODY)
    assert Path("mine").read_bytes() == b"mine"


@check(needs_root=True)
def a_descriptor_outlives_a_change_of_rights(place: Place) -> None:
    place.root.chmod(0o777)

    def other() -> None:
        with opened("file", NEW, 0o600) as fd:
            os.chmod("file", 0)
            os.write(fd, b"content")
            assert os.pread(fd, 7, 0) == b"content"
            with raises(errno.EACCES):
                os.open("file", os.O_RDONLY)

    in_child(other, NOBODY)


@check()
def unnamed_temporary_files_work_or_are_refused(place: Place) -> None:
    try:
        fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError as error:
        assert error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL)
    else:
        os.write(fd, b"content")
        assert os.fstat(fd).st_nlink == 0
        name_descriptor(fd, "named")
        os.close(fd)
        assert Path("named").read_bytes() == b"content"
        os.unlink("named")
    assert os.listdir() == []


@check()
def status_flags_are_kept(place: Place) -> None:
    import fcntl

    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND, os.O_SYNC):
        with opened("file", flags | os.O_CREAT) as fd:
            seen = fcntl.fcntl(fd, fcntl.F_GETFL)
            assert seen & (os.O_ACCMODE | os.O_APPEND | os.O_SYNC) == flags


@check()
def descriptors_have_their_own_offset(place: Place) -> None:
    Path("file").write_bytes(b"0123456789")
    with opened("file", os.O_RDWR) as one, opened("file", os.O_RDWR) as two:
        assert os.read(one, 3) == b"012"
        assert os.read(two, 2) == b"01"
        shared = os.dup(one)
        assert os.read(shared, 2) == b"34"
        assert os.read(one, 1) == b"5"
        os.close(shared)
        with raises(errno.EINVAL):
            os.lseek(one, -1, os.SEEK_SET)
        assert os.lseek(one, -2, os.SEEK_END) == 8


@check()
def many_files_are_open_at_once(place: Place) -> None:
    many = 400
    fds = [os.open(f"f{i}", NEW) for i in range(many)]
    again = [os.open("f0", os.O_RDONLY) for _ in range(many)]
    for i, fd in enumerate(fds):
        os.pwrite(fd, b"%d" % i, 65536 * (i % 4))
    for i, fd in enumerate(fds):
        assert os.pread(fd, 10, 65536 * (i % 4)) == b"%d" % i
    assert all(os.pread(fd, 10, 0) == b"0" for fd in again)
    for fd in (*fds, *again):
        os.close(fd)


@check()
def direct_and_synchronous_writes(place: Place) -> None:
    import mmap

    buffer = mmap.mmap(-1, 1 << 18)
    buffer.write(pattern(1 << 18))
    for flags in (os.O_DIRECT, os.O_SYNC, os.O_DSYNC):
        try:
            fd = os.open("file", NEW | os.O_TRUNC | flags)
        except OSError as error:
            assert (flags, error.errno) == (os.O_DIRECT, errno.EINVAL)
            continue
        assert os.writev(fd, [buffer]) == 1 << 18
        os.close(fd)
        assert Path("file").read_bytes() == buffer[:]
    assert mode_of("file") & 0o400
