"""Layouts of several components: when they get their objects, and where each byte lies."""

import errno
import os
import struct
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from loopback_fixtures import Loopback, Mounted, must
from lustre_calls import (
    ALL,
    COMPOSITE,
    ENTRY_BYTES,
    EOF,
    GETSTRIPE,
    GETSTRIPE_NEW,
    MDT,
    OVERSTRIPING,
    PLAIN_BYTES,
    RAID0,
    SETSTRIPE,
    SETSTRIPE_NEW,
    composite,
    create,
    delayed,
    get_stripe,
    has_layout,
    layout_of,
    magic_of,
    set_stripe,
    specific,
    v1,
)
from posix_checks import KIB, MIB, opened, pattern, raises
from store_objects import expected_objects, objects_of, places_of

from iez_common.layout import read_wire

pytestmark = pytest.mark.fuse

OSTS = 5
OVER = RAID0 | OVERSTRIPING
# Three components: a list of one OST, a list of two, and a choice of the MDS.
THREE = composite(
    (MIB, specific([4], 256 * KIB)), (3 * MIB, specific([3, 1], MIB)), (EOF, v1(3, 64 * KIB))
)


def by_ioctl(fd: int, wire: bytes) -> None:
    set_stripe(fd, wire, SETSTRIPE)


def by_new_ioctl(fd: int, wire: bytes) -> None:
    set_stripe(fd, wire, SETSTRIPE_NEW)


def by_xattr(fd: int, wire: bytes) -> None:
    os.setxattr(fd, "lustre.lov", wire)


WAYS = [by_ioctl, by_new_ioctl, by_xattr]
Way = Callable[[int, bytes], None]


@pytest.fixture(scope="module")
def mounted(loopback: Loopback) -> Iterator[Mounted]:
    with loopback(oss=1, osts=OSTS, size="64M", pool="flash=1-3") as up:
        yield up


def instantiated(path: Path | int) -> list[bool]:
    return [component.instantiated for component in layout_of(path).components]


def with_starts(wire: bytes, *starts: int) -> bytes:
    """The request with components that begin elsewhere."""
    changed = bytearray(wire)
    for number, start in enumerate(starts):
        struct.pack_into("<Q", changed, PLAIN_BYTES + number * ENTRY_BYTES + 8, start)
    return bytes(changed)


@pytest.mark.parametrize("way", WAYS)
def test_components_get_objects_when_they_are_written(
    way: Way, mounted: Mounted, folder: Path
) -> None:
    fd = delayed(folder / "file")
    way(fd, THREE)
    first, second = {(0, 0): "4"}, {(1, 0): "3", (1, 1): "1"}
    assert instantiated(fd) == [True, False, False]
    assert places_of(mounted, folder / "file") == first
    os.pwrite(fd, b"x" * MIB, 0)
    assert places_of(mounted, folder / "file") == first
    assert os.pread(fd, MIB, MIB) == b""
    assert places_of(mounted, folder / "file") == first
    os.pwrite(fd, b"x", MIB)
    assert instantiated(fd) == [True, True, False]
    assert places_of(mounted, folder / "file") == first | second
    os.pwrite(fd, b"x", 3 * MIB)
    assert instantiated(fd) == [True, True, True]
    third = layout_of(fd).components[2].osts
    chosen = {(2, stripe): str(ost) for stripe, ost in enumerate(third)}
    assert places_of(mounted, folder / "file") == first | second | chosen
    os.close(fd)


@pytest.mark.parametrize("way", WAYS)
def test_request_reads_back(way: Way, folder: Path) -> None:
    fd = delayed(folder / "file")
    way(fd, THREE)
    os.pwrite(fd, b"x", MIB)
    answers = [get_stripe(fd, request=each) for each in (GETSTRIPE, GETSTRIPE_NEW)]
    told = os.getxattr(fd, "lustre.lov")
    assert [answer[: len(told)] for answer in answers] == [told, told]
    assert magic_of(told) == COMPOSITE
    first, second, third = read_wire(told).components
    assert [first.osts, second.osts, third.osts] == [(4,), (3, 1), ()]
    assert [each.extent_end_bytes for each in (first, second, third)] == [MIB, 3 * MIB, EOF]
    assert [each.extent_start_bytes for each in (first, second, third)] == [0, MIB, 3 * MIB]
    sizes = [each.stripe_size_bytes for each in (first, second, third)]
    assert sizes == [256 * KIB, MIB, 64 * KIB]
    assert [each.stripe_count for each in (first, second, third)] == [1, 2, 3]
    os.close(fd)


def test_answer_is_written_into_the_buffer(folder: Path) -> None:
    fd = delayed(folder / "file")
    answer = set_stripe(fd, THREE)
    assert magic_of(answer) == COMPOSITE
    told = os.getxattr(fd, "lustre.lov")
    assert len(answer) == len(THREE)
    assert answer[: len(told)] == told[: len(answer)]
    os.close(fd)


def test_second_layout_is_refused(folder: Path) -> None:
    fd = create(folder / "file", THREE)
    with raises(errno.EEXIST):
        set_stripe(fd, THREE)
    by_xattr(fd, composite((MIB, v1()), (EOF, v1())))
    assert len(layout_of(fd).components) == 3
    os.close(fd)


def test_write_far_behind_gives_objects_to_all_before_it(mounted: Mounted, folder: Path) -> None:
    fd = create(folder / "written", THREE)
    os.pwrite(fd, b"x", 5 * MIB)
    assert instantiated(fd) == [True, True, True]
    os.close(fd)
    fd = create(folder / "stretched", THREE)
    os.ftruncate(fd, 2 * MIB)
    assert instantiated(fd) == [True, True, False]
    os.ftruncate(fd, 4 * MIB)
    assert instantiated(fd) == [True, True, True]
    os.ftruncate(fd, 0)
    assert instantiated(fd) == [True, True, True]
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
def test_bad_ost_in_a_late_component_is_an_error_of_the_write(
    name: str, number: int, mounted: Mounted, folder: Path
) -> None:
    with mounted.state(3, name):
        fd = create(folder / "file", THREE)
        assert os.pwrite(fd, b"first", 0) == 5
        with raises(number):
            os.pwrite(fd, b"x", MIB)
        assert instantiated(fd) == [True, False, False]
        assert os.pwrite(fd, b"x" * 10, MIB - 4) == 4
        with raises(number):
            os.ftruncate(fd, 2 * MIB)
        assert os.fstat(fd).st_size == MIB
        assert places_of(mounted, folder / "file") == {(0, 0): "4"}
    assert os.pwrite(fd, b"second", MIB) == 6
    assert layout_of(fd).components[1].osts == (3, 1)
    assert os.pread(fd, 10, MIB - 4) == b"xxxxsecond"
    os.close(fd)


def test_bad_start_of_a_late_component_is_an_error_of_the_write(
    mounted: Mounted, folder: Path
) -> None:
    wire = composite((MIB, specific([0], MIB)), (EOF, v1(2, MIB, offset=3)))
    with mounted.state(3, "inactive"):
        fd = create(folder / "file", wire)
        with raises(errno.EREMOTEIO):
            os.pwrite(fd, b"x", MIB)
    os.pwrite(fd, b"x", MIB)
    assert layout_of(fd).components[1].osts == (3, 4)
    os.close(fd)


def test_ost_that_is_not_there_is_an_error_at_once(folder: Path) -> None:
    fd = delayed(folder / "file")
    for late in (specific([1, 99], MIB), specific([2, 2], MIB), v1(1, MIB, offset=99)):
        for way in WAYS:
            with raises(errno.EINVAL):
                way(fd, composite((MIB, v1(1, MIB)), (EOF, late)))
    assert not has_layout(folder / "file")
    os.close(fd)


def test_counts_are_cut_to_the_stripes_of_the_extent(mounted: Mounted, folder: Path) -> None:
    for name, wire, osts in (
        ("count", v1(5, 512 * KIB), None),
        ("all", v1(ALL, 512 * KIB), None),
        ("many", v1(2000, 512 * KIB), None),
        ("list", specific([4, 2, 0, 1], 512 * KIB), (4, 2)),
        ("start", v1(4, 512 * KIB, offset=4), (4, 0)),
        ("start of all", v1(ALL, 512 * KIB, offset=3), (3, 4)),
        ("twice", v1(10, 512 * KIB, pattern=OVER), None),
    ):
        fd = create(folder / name, composite((MIB, wire), (EOF, wire)))
        component = layout_of(fd).components[0]
        assert len(component.osts) == component.stripe_count == 2, name
        assert osts is None or component.osts == osts, name
        os.pwrite(fd, b"x", MIB)
        assert layout_of(fd).components[1].stripe_count > 2, name
        os.close(fd)
    # Half a stripe counts as one: 960 KiB are 1.9 stripes.
    wire = composite((64 * KIB, v1(3, 64 * KIB)), (MIB, v1(3, 512 * KIB)), (EOF, v1()))
    os.close(create(folder / "half", wire))
    assert [each.stripe_count for each in layout_of(folder / "half").components] == [1, 2, 1]


@pytest.mark.parametrize("way", WAYS)
def test_extents_that_break_a_rule_are_refused(way: Way, mounted: Mounted, folder: Path) -> None:
    two = composite((MIB, v1(1, MIB)), (EOF, v1(1, MIB)))
    bad = {
        "begins late": with_starts(two, 64 * KIB),
        "gap": with_starts(two, 0, 2 * MIB),
        "overlap": with_starts(two, 0, MIB - 64 * KIB),
        "end of no unit": composite((MIB + 1, v1()), (EOF, v1())),
        "end within 64 KiB": composite((96 * KIB, v1(1, 64 * KIB)), (EOF, v1())),
        "end within 64 KiB on the MDT": composite((96 * KIB, v1(pattern=MDT)), (EOF, v1())),
        "end within a stripe": composite((3 * MIB, v1(1, 2 * MIB)), (EOF, v1())),
        "end within a default stripe": composite((5 * MIB, v1()), (EOF, v1())),
        "nothing in it": composite((0, v1(1, MIB)), (EOF, v1())),
        "backwards": composite((2 * MIB, v1(1, MIB)), (MIB, v1(1, MIB)), (EOF, v1())),
        "two ends": composite((EOF, v1()), (EOF, v1())),
        "goes on": composite((EOF, v1()), (MIB, v1(1, MIB))),
        "no end": composite((MIB, v1(1, MIB)), (2 * MIB, v1(1, MIB))),
        "no component": composite(),
        "bad stripe size": composite((MIB, v1(1, 65537)), (EOF, v1())),
        "bad late stripe size": composite((MIB, v1(1, MIB)), (EOF, v1(1, 65537))),
    }
    fd = delayed(folder / "file")
    for name, wire in bad.items():
        try:
            way(fd, wire)
        except OSError as error:
            assert error.errno == errno.EINVAL, name
        else:
            raise AssertionError(name)
        assert not has_layout(folder / "file"), name
    assert places_of(mounted, folder / "file") == {}
    way(fd, two)
    os.close(fd)


@pytest.mark.parametrize("way", WAYS)
def test_damaged_requests_are_refused(way: Way, folder: Path) -> None:
    wire = bytearray(composite((MIB, v1(1, MIB)), (EOF, v1(1, MIB))))
    fd = delayed(folder / "file")
    for at, value in (
        (4, 16),  # the size of the whole
        (4, PLAIN_BYTES),
        (4, 1 << 20),
        (14, 3),  # the number of entries
        (14, 0xFFFF),
        (PLAIN_BYTES + 24, 1 << 20),  # where the first component is
        (PLAIN_BYTES + 28, 16),  # and its size
        (PLAIN_BYTES + 2 * ENTRY_BYTES, COMPOSITE),  # its magic
    ):
        broken = wire.copy()
        struct.pack_into("<I" if at != 14 else "<H", broken, at, value)
        with raises(errno.EINVAL):
            way(fd, bytes(broken))
    assert not has_layout(folder / "file")
    os.close(fd)


def test_data_on_the_mdt_is_the_first_component_only(mounted: Mounted, folder: Path) -> None:
    on_mdt = v1(0, 0, pattern=MDT)
    fd = delayed(folder / "refused")
    for wire in (
        on_mdt,
        composite((EOF, on_mdt)),
        composite((MIB, v1(1, MIB)), (EOF, on_mdt)),
        composite((MIB, v1(1, MIB)), (2 * MIB, on_mdt), (EOF, v1())),
        composite((MIB, on_mdt), (2 * MIB, on_mdt), (EOF, v1())),
    ):
        for way in WAYS:
            with raises(errno.EINVAL):
                way(fd, wire)
    os.close(fd)
    fd = create(folder / "file", composite((128 * KIB, on_mdt), (EOF, specific([2], MIB))))
    os.pwrite(fd, b"x" * 128 * KIB, 0)
    assert places_of(mounted, folder / "file") == {(0, 0): "mdt"}
    os.pwrite(fd, b"y", 128 * KIB)
    assert places_of(mounted, folder / "file") == {(0, 0): "mdt", (1, 0): "2"}
    first, second = layout_of(fd).components
    assert (first.pattern, first.osts, second.osts) == (MDT, (), (2,))
    os.close(fd)


LAYOUTS = {
    "one": v1(1, 64 * KIB),
    "list": specific([3, 0, 4], 192 * KIB),
    "overstriped": specific([1, 1, 2, 1], 64 * KIB, pattern=OVER),
    "three": composite(
        (256 * KIB, specific([4], 256 * KIB)),
        (MIB, specific([3, 1], 128 * KIB)),
        (EOF, v1(3, 64 * KIB)),
    ),
    "unlike": composite(
        (64 * KIB, v1(1, 64 * KIB)),
        (576 * KIB, specific([0, 4, 2], 192 * KIB)),
        (1280 * KIB, v1(5, 320 * KIB)),
        (EOF, specific([2, 2, 3], 128 * KIB, pattern=OVER)),
    ),
    "mdt": composite((192 * KIB, v1(pattern=MDT)), (MIB, v1(2, 64 * KIB)), (EOF, v1(4, 128 * KIB))),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_byte_lies_where_the_arithmetic_says(
    name: str, mounted: Mounted, folder: Path
) -> None:
    data = pattern(2 * MIB + 12345)
    fd = create(folder / "file", LAYOUTS[name])
    # In pieces of all sizes, every second one first.
    ends = [0]
    while ends[-1] < len(data):
        ends.append(min(len(data), ends[-1] + 1 + len(ends) * 7919))
    pieces = list(pairwise(ends))
    for start, end in (*pieces[::2], *pieces[1::2]):
        assert os.pwrite(fd, data[start:end], start) == end - start
    assert os.pread(fd, len(data) + 1, 0) == data
    os.close(fd)
    assert objects_of(mounted, folder / "file") == expected_objects(
        layout_of(folder / "file"), data
    )


def test_components_survive_the_daemon(loopback: Loopback) -> None:
    data = pattern(MIB)
    with loopback(oss=1, osts=OSTS, size="64M") as mounted:
        path = mounted.mount / "file"
        fd = create(path, THREE)
        os.pwrite(fd, data, 0)
        os.close(fd)
        before = os.getxattr(path, "lustre.lov")
        must(mounted.iez("loopback", "down", "--keep", mounted.mount))
        must(mounted.iez("loopback", "up", mounted.mount))
        assert os.getxattr(path, "lustre.lov") == before
        assert path.read_bytes() == data
        with opened(path, os.O_WRONLY) as fd:
            os.pwrite(fd, b"x", 3 * MIB)
        first, second, third = layout_of(path).components
        assert (first.osts, second.osts, third.stripe_count) == ((4,), (3, 1), 3)
