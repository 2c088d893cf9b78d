"""Default layouts of directories decide what new files in them get."""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from loopback_fixtures import Loopback, Mounted
from lustre_calls import (
    COMPOSITE,
    EOF,
    GETSTRIPE,
    GETSTRIPE_NEW,
    SETSTRIPE,
    SETSTRIPE_NEW,
    SPECIFIC,
    V1,
    V3,
    composite,
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

pytestmark = pytest.mark.fuse

OSTS = 5
LIST = specific([4, 1, 3], 192 * KIB)


@pytest.fixture(scope="module")
def mounted(loopback: Loopback) -> Iterator[Mounted]:
    with loopback(oss=1, osts=OSTS, size="64M", pool="flash=1-3", stripe_count=2) as up:
        yield up


def by_ioctl(directory: Path, wire: bytes, request: int = SETSTRIPE) -> None:
    with opened(directory, os.O_RDONLY | os.O_DIRECTORY) as fd:
        assert set_stripe(fd, wire, request) == wire, "a directory has no layout to answer with"


def by_new_ioctl(directory: Path, wire: bytes) -> None:
    by_ioctl(directory, wire, SETSTRIPE_NEW)


def by_xattr(directory: Path, wire: bytes) -> None:
    os.setxattr(directory, "lustre.lov", wire)


WAYS = [by_ioctl, by_new_ioctl, by_xattr]
Way = Callable[[Path, bytes], None]


@contextmanager
def root_default(mounted: Mounted, wire: bytes) -> Iterator[None]:
    """The default of the whole file system, until the end of the block."""
    by_xattr(mounted.mount, wire)
    try:
        yield
    finally:
        os.removexattr(mounted.mount, "lustre.lov")


def default_of(directory: Path, request: int = GETSTRIPE) -> bytes:
    """The directory's default by ioctl, with zeros behind it."""
    with opened(directory, os.O_RDONLY | os.O_DIRECTORY) as fd:
        return get_stripe(fd, request=request)


def new_file(directory: Path, name: str = "file") -> Path:
    (directory / name).touch()
    return directory / name


@pytest.mark.parametrize("way", WAYS)
def test_list_reads_back_as_a_list_and_decides(way: Way, folder: Path) -> None:
    way(folder, LIST)
    assert os.getxattr(folder, "lustre.lov") == LIST
    for request in (GETSTRIPE, GETSTRIPE_NEW):
        assert default_of(folder, request)[: len(LIST)] == LIST
    assert magic_of(default_of(folder)) == SPECIFIC
    for name in ("one", "two", "three"):
        (component,) = layout_of(new_file(folder, name)).components
        assert (component.osts, component.stripe_size_bytes) == ((4, 1, 3), 192 * KIB)


@pytest.mark.parametrize("way", WAYS)
def test_every_form_is_taken(way: Way, folder: Path) -> None:
    for name, wire, magic, count, size in (
        ("plain", v1(3, 64 * KIB), V1, 3, 64 * KIB),
        ("pool", v3(2, MIB, pool="flash"), V3, 2, MIB),
        ("count", v1(4, 0), V1, 4, 4 * MIB),
        ("size", v1(0, 128 * KIB), V1, 2, 128 * KIB),
    ):
        way(folder, wire)
        assert magic_of(os.getxattr(folder, "lustre.lov")) == magic
        (component,) = layout_of(new_file(folder, name)).components
        assert (len(component.osts), component.stripe_size_bytes) == (count, size)
        assert component.pool == ("flash" if magic == V3 else "")
    way(folder, v1(2, MIB, offset=3))
    assert osts_of(new_file(folder, "start")) == (3, 4)


def test_components_are_taken_by_xattr_only(folder: Path) -> None:
    wire = composite((MIB, specific([3], MIB)), (EOF, specific([2, 0], 64 * KIB)))
    for request in (SETSTRIPE, SETSTRIPE_NEW):
        with opened(folder, os.O_RDONLY) as fd, raises(errno.EOPNOTSUPP):
            set_stripe(fd, wire, request)
    assert not has_layout(folder)
    by_xattr(folder, wire)
    assert os.getxattr(folder, "lustre.lov") == wire
    assert magic_of(default_of(folder)) == COMPOSITE
    (folder / "file").write_bytes(b"x" * MIB)
    assert [each.osts for each in layout_of(folder / "file").components] == [(3,), ()]
    with opened(folder / "file", os.O_WRONLY) as fd:
        os.pwrite(fd, b"x", MIB)
    assert [each.osts for each in layout_of(folder / "file").components] == [(3,), (2, 0)]


@pytest.mark.parametrize("way", WAYS)
def test_bad_default_is_refused(way: Way, folder: Path) -> None:
    by_xattr(folder, LIST)
    for wire in (
        specific([0, 99], MIB),
        specific([1, 1], MIB),
        specific([1, 2], MIB, offset=0),
        v1(1, 65537),
        v1(1, MIB, offset=99),
    ):
        with raises(errno.EINVAL):
            way(folder, wire)
    assert os.getxattr(folder, "lustre.lov") == LIST


def test_file_that_asks_gets_what_it_asks(folder: Path) -> None:
    by_xattr(folder, LIST)
    os.close(create(folder / "file", specific([0, 2], MIB)))
    assert osts_of(folder / "file") == (0, 2)


def test_files_that_are_there_keep_their_layout(folder: Path) -> None:
    before = osts_of(new_file(folder))
    by_xattr(folder, LIST)
    (folder / "file").write_bytes(b"x")
    assert osts_of(folder / "file") == before


def test_subdirectories_inherit_when_they_are_made(folder: Path) -> None:
    (folder / "before").mkdir()
    by_xattr(folder, LIST)
    assert not has_layout(folder / "before")
    assert len(osts_of(new_file(folder / "before"))) == 2
    (folder / "sub" / "below").mkdir(parents=True)
    for each in (folder / "sub", folder / "sub" / "below"):
        assert os.getxattr(each, "lustre.lov") == LIST
        assert osts_of(new_file(each)) == (4, 1, 3)
    by_xattr(folder, specific([0], MIB))
    assert osts_of(new_file(folder / "sub", "later")) == (4, 1, 3)
    os.removexattr(folder, "lustre.lov")
    assert osts_of(new_file(folder / "sub", "last")) == (4, 1, 3)


def test_default_of_the_root_is_everybodys(mounted: Mounted, folder: Path) -> None:
    (folder / "own").mkdir()
    by_xattr(folder / "own", specific([0], MIB))
    with root_default(mounted, LIST):
        (folder / "sub").mkdir()
        for each in (folder, folder / "sub", mounted.mount):
            assert os.getxattr(each, "lustre.lov") == LIST
            assert default_of(each)[: len(LIST)] == LIST
            assert osts_of(new_file(each, "theirs")) == (4, 1, 3)
        assert osts_of(new_file(folder / "own")) == (0,)
    for each in (folder, folder / "sub", mounted.mount):
        assert not has_layout(each)
        with raises(errno.ENODATA):
            default_of(each)
        assert len(osts_of(new_file(each, "after"))) == 2
    assert osts_of(new_file(folder / "own", "after")) == (0,)
    for name in ("theirs", "after"):
        (mounted.mount / name).unlink()


def test_default_of_the_root_is_not_copied_to_new_directories(mounted: Mounted) -> None:
    made = mounted.mount / "made below a default"
    with root_default(mounted, LIST):
        made.mkdir()
    assert not has_layout(made)
    with root_default(mounted, specific([2], MIB)):
        assert osts_of(new_file(made)) == (2,)


@pytest.mark.parametrize("way", WAYS)
def test_asking_for_nothing_takes_a_default_away(way: Way, mounted: Mounted, folder: Path) -> None:
    for wire in (v1(), v3()):
        by_xattr(folder, LIST)
        way(folder, wire)
        assert not has_layout(folder)
        with root_default(mounted, specific([2], MIB)):
            way(folder, wire)  # there is none: that is no error
            assert osts_of(new_file(folder, str(len(wire)))) == (2,)


def test_default_can_be_removed(folder: Path) -> None:
    with raises(errno.ENODATA):
        os.removexattr(folder, "lustre.lov")
    by_xattr(folder, LIST)
    os.removexattr(folder, "lustre.lov")
    assert not has_layout(folder)
    with raises(errno.ENODATA):
        default_of(folder)
    assert len(osts_of(new_file(folder))) == 2


def test_bad_ost_of_a_default_leaves_no_file(mounted: Mounted, folder: Path) -> None:
    by_xattr(folder, LIST)
    for name, number in (("inactive", errno.EREMOTEIO), ("no-create", errno.ENOBUFS)):
        with mounted.state(1, name):
            for flags in (os.O_WRONLY, os.O_RDWR | os.O_EXCL):
                with raises(number):
                    os.open(folder / "file", flags | os.O_CREAT, 0o644)
                assert list(folder.iterdir()) == []
            os.close(create(folder / "asked", specific([0], MIB)))
            (folder / "asked").unlink()
    assert osts_of(new_file(folder)) == (4, 1, 3)


def test_file_that_was_left_without_layout_gets_the_default(folder: Path) -> None:
    by_xattr(folder, LIST)
    os.mknod(folder / "node", stat.S_IFREG | 0o644)
    os.close(delayed(folder / "delayed"))
    os.close(os.open(folder / "read", os.O_CREAT | os.O_RDONLY, 0o644))
    for name in ("node", "delayed", "read"):
        assert not has_layout(folder / name)
        with opened(folder / name, os.O_WRONLY):
            pass
        assert osts_of(folder / name) == (4, 1, 3)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_default_is_for_the_owner_to_set(folder: Path) -> None:
    (folder / "mine").mkdir()
    os.chown(folder / "mine", NOBODY, NOBODY)
    folder.chmod(0o777)
    places = {name: os.open(folder / name, os.O_RDONLY) for name in (".", "mine")}

    def other() -> None:
        for way in WAYS:
            with raises(errno.EPERM, errno.EACCES):
                way(Path(f"/proc/self/fd/{places['.']}"), LIST)
            way(Path(f"/proc/self/fd/{places['mine']}"), LIST)

    in_child(other, NOBODY)
    for place in places.values():
        os.close(place)
    assert not has_layout(folder)
    assert osts_of(new_file(folder / "mine")) == (4, 1, 3)
