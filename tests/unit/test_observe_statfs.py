"""Space by ioctl: the bytes that the kernel gets and gives, against a stand-in that reads them
by the offsets of docs/lustre-interface.md."""

import errno
import os
import struct
from pathlib import Path

import pytest
from lustre_kernel import FakeKernel, FakeStatfs

from iez_client.observe.statfs import Statfs, ask_ost, count_osts


def test_the_count_asks_for_osts() -> None:
    kernel = FakeKernel({0: FakeStatfs(), 7: FakeStatfs()})
    assert count_osts(9, kernel) == 2
    assert kernel.requests == [(9, 0x800866A8)]


def test_the_request_has_every_field_in_its_place() -> None:
    seen = {}

    def ioctl(descriptor: int, request: int, buffer: bytearray, writes: bool) -> int:
        seen.update(descriptor=descriptor, request=request, bytes=bytes(buffer), writes=writes)
        return 0

    ask_ost(5, 0x1F, ioctl)
    text = seen.pop("bytes")
    assert seen == {"descriptor": 5, "request": 0xC00866A4, "writes": True}
    assert len(text) == 592
    expected = {0: 592, 4: 0x00010004, 480: 144, 496: 40, 512: 4, 528: 4, 576: 2, 584: 0x1F}
    pointers = (488, 504, 520, 536)
    for at in range(0, 592, 4):
        (value,) = struct.unpack_from("<I", text, at)
        if not any(pointer <= at < pointer + 8 for pointer in pointers):
            assert value == expected.get(at, 0), f"at {at}"
    assert all(struct.unpack_from("<Q", text, at)[0] for at in pointers)


def test_the_answer_is_read_from_the_two_buffers() -> None:
    kernel = FakeKernel(
        {3: FakeStatfs(blocks=1000, free=600, available=500, files_free=77, block=4096, state=0x5)}
    )
    assert ask_ost(4, 3, kernel) == Statfs(
        uuid="work-OST0003_UUID",
        size_bytes=4_096_000,
        free_bytes=2_457_600,
        available_bytes=2_048_000,
        files_free=77,
        state_bits=0x5,
    )


def test_a_petabyte_is_no_overflow() -> None:
    kernel = FakeKernel({0: FakeStatfs(blocks=1 << 40, free=1 << 39, available=1 << 38)})
    assert ask_ost(4, 0, kernel).size_bytes == 1 << 52


@pytest.mark.parametrize("name", ["ENODEV", "EAGAIN", "ENODATA"])
def test_refusals_come_out_as_they_are(name: str) -> None:
    kernel = FakeKernel({2: name} if name == "ENODATA" else {0: FakeStatfs()})
    index = {"ENODEV": 64, "EAGAIN": 1, "ENODATA": 2}[name]
    with pytest.raises(OSError) as caught:
        ask_ost(4, index, kernel)
    assert caught.value.errno == getattr(errno, name)


def test_a_directory_that_is_not_lustre_says_so(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        for ask in (lambda: count_osts(descriptor), lambda: ask_ost(descriptor, 0)):
            with pytest.raises(OSError) as caught:
                ask()
            assert caught.value.errno == errno.ENOTTY
    finally:
        os.close(descriptor)
