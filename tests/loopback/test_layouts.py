"""Layouts of one component, by the ioctl and by the extended attribute, answer as on Lustre."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback_fixtures import Loopback, Mounted
from lustre_calls import (
    ALL,
    GETSTRIPE_NEW,
    OBJECT_BYTES,
    OVERSTRIPING,
    PLAIN_BYTES,
    POOL_BYTES,
    RAID0,
    SETSTRIPE_NEW,
    V1,
    V3,
    create,
    delayed,
    get_stripe,
    has_layout,
    layout_of,
    magic_of,
    osts_of,
    set_stripe,
    specific,
    v1,
    v3,
)
from posix_checks import KIB, MIB, NOBODY, in_child, opened, raises

from iez_common.layout import read_wire

pytestmark = pytest.mark.fuse

OSTS = 5
POOL = (1, 2, 3)
OVER = RAID0 | OVERSTRIPING


@pytest.fixture(scope="module")
def mounted(loopback: Loopback) -> Iterator[Mounted]:
    with loopback(oss=1, osts=OSTS, size="64M", pool="flash=1-3", mmap=True) as up:
        yield up


def test_stripe_size_is_a_multiple_of_64k(folder: Path) -> None:
    for size in (1, 4096, 65535, 65537, 100_000, 3 * MIB + 1):
        fd = delayed(folder / f"bad{size}")
        with raises(errno.EINVAL):
            set_stripe(fd, v1(1, size))
        with raises(errno.EINVAL):
            set_stripe(fd, specific([1], size))
        with raises(errno.EINVAL):
            os.setxattr(fd, "lustre.lov", v1(1, size))
        with raises(errno.ENODATA):
            get_stripe(fd)
        os.close(fd)
    for size in (64 * KIB, 192 * KIB, 320 * KIB, (1 << 32) - 64 * KIB):
        os.close(create(folder / f"good{size}", v1(1, size)))
        assert layout_of(folder / f"good{size}").components[0].stripe_size_bytes == size


def test_zeros_mean_the_defaults(folder: Path) -> None:
    for name, wire in (("v1", v1()), ("v3", v3()), ("list", specific([]))):
        os.close(create(folder / name, wire))
        (component,) = layout_of(folder / name).components
        assert component.stripe_size_bytes == 4 * MIB
        assert component.stripe_count == len(component.osts) == 1


def test_plain_create_gets_the_default_at_once(folder: Path) -> None:
    (folder / "file").touch()
    (component,) = layout_of(folder / "file").components
    assert (component.stripe_size_bytes, component.stripe_count) == (4 * MIB, 1)


def test_other_bytes_are_no_request(folder: Path) -> None:
    fd = delayed(folder / "file")
    for wire in (bytes(32), b"\xff" * 64, v1(1, magic=0x0BD20BD0)):
        with raises(errno.EINVAL):
            set_stripe(fd, wire)
    for wire in (b"", v1()[:31], specific([1, 2])[:-1]):
        with raises(errno.EINVAL, errno.ERANGE, errno.ENODATA):
            os.setxattr(fd, "lustre.lov", wire)
    assert not has_layout(folder / "file")
    os.close(fd)


def test_counts_are_cut_to_what_is_there(folder: Path) -> None:
    for count in (OSTS + 1, 2000, ALL):
        os.close(create(folder / f"all{count}", v1(count, MIB)))
        assert sorted(osts_of(folder / f"all{count}")) == list(range(OSTS))
    os.close(create(folder / "cut", specific([3, 0, 4, 1, 2, 0], MIB)))
    assert osts_of(folder / "cut") == (3, 0, 4, 1, 2)
    fd = delayed(folder / "many")
    with raises(errno.EINVAL):
        set_stripe(fd, specific([i % OSTS for i in range(2001)], MIB, pattern=OVER))
    os.close(fd)


def test_list_is_kept_in_its_order(folder: Path) -> None:
    for i, osts in enumerate(((3, 1), (4,), (2, 0, 4, 1, 3))):
        os.close(create(folder / f"any{i}", specific(osts, MIB)))
        os.close(create(folder / f"first{i}", specific(osts, MIB, offset=osts[0])))
        assert osts_of(folder / f"any{i}") == osts_of(folder / f"first{i}") == osts


def test_list_is_rotated_to_its_offset(folder: Path) -> None:
    for offset, osts in ((1, (1, 2, 3)), (2, (2, 3, 1)), (3, (3, 1, 2))):
        os.close(create(folder / f"{offset}", specific([3, 1, 2], MIB, offset=offset)))
        assert osts_of(folder / f"{offset}") == osts
    fd = delayed(folder / "outside")
    with raises(errno.EINVAL):
        set_stripe(fd, specific([3, 1, 2], MIB, offset=0))
    os.close(fd)


def test_list_is_all_or_nothing(folder: Path) -> None:
    fd = delayed(folder / "file")
    for osts in ((0, 99), (OSTS,), (1, 1), (0, 1, 0)):
        with raises(errno.EINVAL):
            set_stripe(fd, specific(osts, MIB))
        with raises(errno.EINVAL):
            os.setxattr(fd, "lustre.lov", specific(osts, MIB))
        assert not has_layout(folder / "file")
    set_stripe(fd, specific([0, 1], MIB))
    os.close(fd)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("inactive", errno.EREMOTEIO),
        ("full", errno.ENOSPC),
        ("no-create", errno.ENOBUFS),
        ("read-only", errno.EROFS),
    ],
)
def test_ost_that_takes_no_objects_refuses_the_list(
    name: str, number: int, mounted: Mounted, folder: Path
) -> None:
    fd = delayed(folder / "file")
    with mounted.state(2, name):
        with raises(number):
            set_stripe(fd, specific([1, 2], MIB))
        assert not has_layout(folder / "file")
        for i in range(2 * OSTS):  # the MDS's own choice goes round it
            os.close(create(folder / f"chosen{i}", v1(2, MIB)))
            assert 2 not in osts_of(folder / f"chosen{i}")
    set_stripe(fd, specific([1, 2], MIB))
    os.close(fd)


def test_degraded_ost_is_taken_from_a_list_but_not_chosen(mounted: Mounted, folder: Path) -> None:
    with mounted.state(2, "degraded"):
        os.close(create(folder / "listed", specific([1, 2], MIB)))
        assert osts_of(folder / "listed") == (1, 2)
        for i in range(2 * OSTS):
            os.close(create(folder / f"chosen{i}", v1(1, MIB)))
            assert osts_of(folder / f"chosen{i}") != (2,)


def test_list_is_cut_to_the_active_osts(mounted: Mounted, folder: Path) -> None:
    with mounted.state(4, "inactive"):
        os.close(create(folder / "file", specific([3, 2, 1, 0, 4], MIB)))
    assert osts_of(folder / "file") == (3, 2, 1, 0)


def test_start_index_gives_a_run_in_index_order(mounted: Mounted, folder: Path) -> None:
    os.close(create(folder / "run", v1(4, MIB, offset=3)))
    assert osts_of(folder / "run") == (3, 4, 0, 1)
    with mounted.state(4, "full"):
        os.close(create(folder / "round", v1(3, MIB, offset=3)))
    assert osts_of(folder / "round") == (3, 0, 1)
    fd = delayed(folder / "none")
    with raises(errno.EINVAL):
        set_stripe(fd, v1(1, MIB, offset=77))
    os.close(fd)


def test_overstriping_lets_osts_repeat(folder: Path) -> None:
    os.close(create(folder / "list", specific([1, 3, 1], MIB, pattern=OVER)))
    (component,) = layout_of(folder / "list").components
    assert (component.osts, component.pattern) == ((1, 3, 1), OVER)
    os.close(create(folder / "count", v1(2 * OSTS, MIB, pattern=OVER)))
    assert sorted(osts_of(folder / "count")) == sorted([*range(OSTS)] * 2)


def test_overstriping_is_forgotten_where_nothing_repeats(folder: Path) -> None:
    for name, wire in (
        ("list", specific([1, 3], MIB, pattern=OVER)),
        ("count", v1(3, MIB, pattern=OVER)),
    ):
        os.close(create(folder / name, wire))
        assert layout_of(folder / name).components[0].pattern == RAID0


def test_second_layout_is_refused_by_ioctl_and_ignored_by_xattr(folder: Path) -> None:
    fd = create(folder / "file", specific([1, 2], MIB))
    with raises(errno.EEXIST):
        set_stripe(fd, specific([3], MIB))
    os.setxattr(fd, "lustre.lov", specific([3], MIB))
    assert osts_of(fd) == (1, 2)
    os.close(fd)


def test_xattr_sets_a_layout_once(folder: Path) -> None:
    fd = delayed(folder / "file")
    os.setxattr(fd, "lustre.lov", specific([4, 0], 128 * KIB))
    os.write(fd, b"content")
    os.close(fd)
    assert osts_of(folder / "file") == (4, 0)
    assert (folder / "file").read_bytes() == b"content"


def test_file_without_layout_reads_empty_and_takes_no_writes(folder: Path) -> None:
    fd = delayed(folder / "file")
    with raises(errno.EBADF):
        os.write(fd, b"x")
    with raises(errno.EBADF):
        os.pwrite(fd, b"x" * 100_000, 70_000)
    assert os.read(fd, 10) == b""
    os.ftruncate(fd, 10)
    os.ftruncate(fd, 0)
    assert not has_layout(folder / "file")
    os.close(fd)


def test_plain_open_for_writing_heals_the_first_descriptor(folder: Path) -> None:
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_CREAT):
        fd = delayed(folder / f"file{flags}")
        with opened(folder / f"file{flags}", os.O_RDONLY), raises(errno.EBADF):
            os.write(fd, b"x")  # an open for reading does not help
        with opened(folder / f"file{flags}", flags):
            pass
        os.write(fd, b"content")
        os.close(fd)
        assert (folder / f"file{flags}").read_bytes() == b"content"
        assert len(osts_of(folder / f"file{flags}")) == 1


def test_creates_that_leave_no_layout_can_get_one_later(folder: Path) -> None:
    os.close(os.open(folder / "reading", os.O_CREAT | os.O_RDONLY, 0o644))
    os.mknod(folder / "node", stat.S_IFREG | 0o644)
    for name in ("reading", "node"):
        assert not has_layout(folder / name)
        with opened(folder / name, os.O_RDONLY) as fd:
            set_stripe(fd, specific([2, 3], MIB))
        assert osts_of(folder / name) == (2, 3)
        with opened(folder / name, os.O_WRONLY | os.O_TRUNC) as fd:
            os.write(fd, b"content")
        assert osts_of(folder / name) == (2, 3)
    os.mknod(folder / "written", stat.S_IFREG | 0o644)
    (folder / "written").write_bytes(b"content")
    assert has_layout(folder / "written")


def test_answer_is_written_into_the_buffer(folder: Path) -> None:
    fd = delayed(folder / "list")
    wire = specific([3, 1], MIB)
    answer = set_stripe(fd, wire)
    assert len(answer) == len(wire)
    assert magic_of(answer) == V1
    assert answer[:PLAIN_BYTES] == os.getxattr(fd, "lustre.lov")[:PLAIN_BYTES]
    entries = answer[PLAIN_BYTES:]
    for k, ost in enumerate((3, 1)):
        assert int.from_bytes(entries[k * OBJECT_BYTES + 20 :][:4], "little") == ost
    os.close(fd)
    fd = delayed(folder / "plain")
    answer = set_stripe(fd, v1(2, MIB))
    assert magic_of(answer) == V1
    assert int.from_bytes(answer[28:30], "little") == 2
    os.close(fd)
    fd = delayed(folder / "pool")
    answer = set_stripe(fd, v3(2, MIB, pool="flash"))
    assert magic_of(answer) == V3
    assert answer[PLAIN_BYTES:].rstrip(b"\0") == b"flash"
    os.close(fd)


def test_new_numbers_do_the_same(folder: Path) -> None:
    fd = delayed(folder / "file")
    with raises(errno.ENODATA):
        get_stripe(fd, request=GETSTRIPE_NEW)
    set_stripe(fd, specific([4, 2], MIB), SETSTRIPE_NEW)
    told = get_stripe(fd, request=GETSTRIPE_NEW)
    assert told[: PLAIN_BYTES + 2 * OBJECT_BYTES] == os.getxattr(fd, "lustre.lov")
    assert osts_of(fd) == (4, 2)
    os.close(fd)


def test_long_lists_arrive_whole(folder: Path) -> None:
    osts = [(i * 3) % OSTS for i in range(300)]
    fd = create(folder / "long", specific(osts, 64 * KIB, pattern=OVER))
    assert osts_of(fd) == tuple(osts)
    told = get_stripe(fd)
    assert read_wire(told[: PLAIN_BYTES + 300 * OBJECT_BYTES]).components[0].osts == tuple(osts)
    os.pwrite(fd, b"end", 299 * 64 * KIB)
    os.close(fd)


def test_pools_confine_the_choice(folder: Path) -> None:
    for i, count in enumerate((1, 2, 3, 5, ALL)):
        os.close(create(folder / f"f{i}", v3(count, MIB, pool="flash")))
        (component,) = layout_of(folder / f"f{i}").components
        assert component.pool == "flash"
        assert set(component.osts) <= set(POOL)
        assert len(component.osts) == min(count, len(POOL))
    fd = delayed(folder / "outside")
    with raises(errno.EINVAL):
        set_stripe(fd, specific([0], MIB, offset=0, pool="flash"))
    os.close(fd)
    os.close(create(folder / "unknown", v3(2, MIB, pool="nowhere")))
    assert len(osts_of(folder / "unknown")) == 2


def test_directory_pool_is_inherited_unless_ignored(folder: Path) -> None:
    os.setxattr(folder, "lustre.lov", v3(1, MIB, pool="flash"))
    (folder / "plain").touch()
    assert layout_of(folder / "plain").components[0].pool == "flash"
    os.close(create(folder / "count", v1(ALL, MIB)))
    assert set(osts_of(folder / "count")) == set(POOL)
    os.close(create(folder / "ignored", v3(ALL, MIB, pool="ignore")))
    assert len(osts_of(folder / "ignored")) == OSTS


def test_refusals_are_injected(mounted: Mounted, folder: Path) -> None:
    for name in ("EINVAL", "ENOSPC", "EACCES"):
        mounted.set("--inject", name)
        fd = delayed(folder / name)
        with raises(getattr(errno, name)):
            set_stripe(fd, specific([1], MIB))
        os.close(fd)
        assert not has_layout(folder / name)
    mounted.set("--inject", "silent")
    fd = delayed(folder / "silent")
    set_stripe(fd, specific([1], MIB))
    with raises(errno.ENODATA):
        get_stripe(fd)
    with raises(errno.EBADF):
        os.write(fd, b"x")
    mounted.set("--inject", "none")
    set_stripe(fd, specific([1], MIB))
    os.write(fd, b"x")
    os.close(fd)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_layout_needs_the_right_to_write(folder: Path) -> None:
    os.close(delayed(folder / "roots", mode=0o644))
    folder.chmod(0o777)
    place = os.open(folder, os.O_RDONLY)

    def other() -> None:
        os.fchdir(place)
        with opened("roots", os.O_RDONLY) as fd, raises(errno.EACCES):
            set_stripe(fd, specific([1], MIB))
        fd = delayed(Path("mine"))
        set_stripe(fd, specific([1], MIB))
        os.close(fd)
        os.close(delayed(Path("closed"), mode=0o444))
        with opened("closed", os.O_RDONLY) as fd, raises(errno.EACCES):
            set_stripe(fd, specific([1], MIB))

    in_child(other, NOBODY)
    os.close(place)
    assert osts_of(folder / "mine") == (1,)


def test_ioctls_of_others_are_not_known(folder: Path) -> None:
    import fcntl

    fd = create(folder / "file", v1())
    with raises(errno.ENOTTY):
        fcntl.ioctl(fd, 0x5401, bytearray(64), True)
    assert POOL_BYTES == 16
    os.close(fd)
