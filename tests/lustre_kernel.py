"""A stand-in for the ioctls of a Lustre mount: it reads the packed request by its offsets and
writes to the addresses in it, as the kernel does (docs/lustre-interface.md)."""

import ctypes
import errno
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass

IOC_OBD_STATFS = 0xC00866A4
LL_IOC_GETOBDCOUNT = 0x800866A8
TABLE_STEP = 64


@dataclass(frozen=True, slots=True)
class FakeStatfs:
    """What an OST answers, in blocks."""

    blocks: int = 1 << 20
    free: int = 1 << 19
    available: int = 1 << 18
    files_free: int = 10_000
    block: int = 4096
    state: int = 0


class FakeKernel:
    """OSTs by index; a string is the error that one answers with. The table of OSTs is longer than
    the OSTs that there are."""

    def __init__(self, osts: Mapping[int, FakeStatfs | str], fs_name: str = "work") -> None:
        self.osts = osts
        self.fs_name = fs_name
        self.requests: list[tuple[int, int]] = []
        self.asked: list[int] = []

    def __call__(self, descriptor: int, request: int, buffer: bytearray, writes: bool) -> int:
        assert writes
        self.requests.append((descriptor, request))
        if request == LL_IOC_GETOBDCOUNT:
            assert struct.unpack_from("<I", buffer) == (0,)  # anything else asks for MDTs
            struct.pack_into("<I", buffer, 0, len(self.osts))
            return 0
        assert request == IOC_OBD_STATFS
        assert struct.unpack_from("<II", buffer) == (len(buffer), 0x00010004)
        kind, index = struct.unpack_from("<I4xI", buffer, 576)
        assert kind == 2
        self.asked.append(index)
        table = -(-(max(self.osts) + 1) // TABLE_STEP) * TABLE_STEP
        if index >= table:
            self.refuse("ENODEV")
        ost = self.osts.get(index, "EAGAIN")
        if isinstance(ost, str):
            self.refuse(ost)
        assert isinstance(ost, FakeStatfs)
        answer = bytearray(144)
        counts = (ost.blocks, ost.free, ost.available, ost.files_free + 9, ost.files_free)
        struct.pack_into("<QQQQQ", answer, 8, *counts)
        struct.pack_into("<I", answer, 88, ost.block)
        struct.pack_into("<I", answer, 104, ost.state)
        self.give(buffer, 480, bytes(answer))
        uuid = f"{self.fs_name}-OST{index:04x}_UUID".encode()
        self.give(buffer, 496, uuid.ljust(40, b"\0"))
        return 0

    @staticmethod
    def give(buffer: bytearray, at: int, answer: bytes) -> None:
        length, address = struct.unpack_from("<I4xQ", buffer, at)
        assert length == len(answer)
        ctypes.memmove(address, answer, length)

    @staticmethod
    def refuse(name: str) -> None:
        number = getattr(errno, name)
        raise OSError(number, os.strerror(number))
