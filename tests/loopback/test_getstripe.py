"""Callers of old, who know layouts of one component only, are told one."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback_fixtures import Loopback, Mounted
from lustre_calls import (
    COMPOSITE,
    EOF,
    GETSTRIPE,
    GETSTRIPE_NEW,
    OBJECT_BYTES,
    PLAIN_BYTES,
    POOL_BYTES,
    SPECIFIC,
    V1,
    V3,
    composite,
    create,
    get_stripe,
    layout_of,
    magic_of,
    specific,
    v1,
    v3,
)
from posix_checks import KIB, MIB

from iez_common.layout import read_wire

pytestmark = pytest.mark.fuse

THREE = composite(
    (MIB, specific([4], 256 * KIB)), (3 * MIB, specific([3, 1], MIB)), (EOF, v1(3, 64 * KIB))
)


@pytest.fixture(scope="module")
def mounted(loopback: Loopback) -> Iterator[Mounted]:
    with loopback(oss=1, osts=5, size="64M", pool="flash=1-3") as up:
        yield up


def legacy(fd: int, magic: int, count: int, request: int = GETSTRIPE) -> tuple[bytes, int]:
    """What a caller of old is told, who has room for `count` stripes; and how much of its buffer
    is changed."""
    room = 4096
    preset = v1(count, magic=magic).ljust(room, b"\xee")
    told = get_stripe(fd, preset, request)
    return told, max(i + 1 for i in range(room) if told[i] != preset[i])


@pytest.mark.parametrize("request_number", [GETSTRIPE, GETSTRIPE_NEW])
def test_callers_of_old_are_told_one_component(request_number: int, folder: Path) -> None:
    fd = create(folder / "file", THREE)
    for end, number, osts in ((0, 2, ()), (1, 0, (4,)), (MIB + 1, 1, (3, 1))):
        if end:
            os.pwrite(fd, b"x", end - 1)
        told, changed = legacy(fd, V1, 10, request_number)
        (component,) = read_wire(told[: PLAIN_BYTES + len(osts) * OBJECT_BYTES]).components
        assert magic_of(told) == V1
        assert component.osts == osts
        assert component.stripe_size_bytes == layout_of(fd).components[number].stripe_size_bytes
        assert changed <= PLAIN_BYTES + len(osts) * OBJECT_BYTES
    for magic in (0, COMPOSITE, SPECIFIC):
        told = get_stripe(fd, v1(10, magic=magic), request_number)
        assert told[: len(os.getxattr(fd, "lustre.lov"))] == os.getxattr(fd, "lustre.lov")
    os.close(fd)


def test_callers_of_old_are_told_no_more_than_they_have_room_for(folder: Path) -> None:
    wire = composite((MIB, v3(1, MIB, pool="flash")), (EOF, v3(3, MIB, pool="flash")))
    fd = create(folder / "file", wire)
    os.pwrite(fd, b"x", MIB)
    head = PLAIN_BYTES + POOL_BYTES
    for count in range(4):
        told, changed = legacy(fd, V3, count)
        assert (magic_of(told), told[PLAIN_BYTES:head].rstrip(b"\0")) == (V3, b"flash")
        assert head + (count - 1) * OBJECT_BYTES < changed <= head + count * OBJECT_BYTES
    assert changed == head + 3 * OBJECT_BYTES
    assert legacy(fd, V3, 10)[1] == changed
    assert legacy(fd, V1, 0)[1] <= PLAIN_BYTES
    os.close(fd)
