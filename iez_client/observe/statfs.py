"""Statfs: the space of one OST by ioctl on a mount, for which no tree is needed.

The buffer is described in docs/lustre-interface.md, "Space of an OST by ioctl".
"""

import fcntl
import struct
from array import array
from collections.abc import Callable
from dataclasses import dataclass

IOC_OBD_STATFS = 0xC00866A4
LL_IOC_GETOBDCOUNT = 0x800866A8

# fcntl.ioctl, or a test's stand-in: descriptor, request, buffer, whether the buffer is written to.
Ioctl = Callable[[int, int, bytearray, bool], int]

_REQUEST_BYTES = 592
_VERSION = 0x00010004
_INLINE_AT = 576  # where the two numbers begin that say what is asked
_OSTS = 2
_STATFS_BYTES = 144
_UUID_BYTES = 40


@dataclass(frozen=True, slots=True)
class Statfs:
    """What an OST says about itself."""

    uuid: str
    size_bytes: int
    free_bytes: int  # with what only root may use
    available_bytes: int
    files_free: int
    state_bits: int


def count_osts(descriptor: int, ioctl: Ioctl = fcntl.ioctl) -> int:
    """How many OSTs the mount has. An OSError where it is not Lustre."""
    answer = bytearray(8)  # zero asks for OSTs
    ioctl(descriptor, LL_IOC_GETOBDCOUNT, answer, True)
    return int.from_bytes(answer[:4], "little")


def ask_ost(descriptor: int, index: int, ioctl: Ioctl = fcntl.ioctl) -> Statfs:
    """Asks one OST, and waits for it. The OSError says why there is no answer: ENODEV past the
    last index, EAGAIN no such OST, ENODATA inactive, ENOTTY not Lustre."""
    # Arrays, as they have an address that stays.
    numbers = array("B", bytes(_STATFS_BYTES))
    uuid = array("B", bytes(_UUID_BYTES))
    request = bytearray(_REQUEST_BYTES)
    struct.pack_into("<II", request, 0, _REQUEST_BYTES, _VERSION)
    struct.pack_into("<I4xQ", request, 480, _STATFS_BYTES, numbers.buffer_info()[0])
    struct.pack_into("<I4xQ", request, 496, _UUID_BYTES, uuid.buffer_info()[0])
    # These two pointers must not be null; the kernel goes by the lengths.
    struct.pack_into("<I4xQ", request, 512, 4, numbers.buffer_info()[0])
    struct.pack_into("<I4xQ", request, 528, 4, numbers.buffer_info()[0])
    struct.pack_into("<I4xI", request, _INLINE_AT, _OSTS, index)
    ioctl(descriptor, IOC_OBD_STATFS, request, True)
    blocks, free, available, _, files_free = struct.unpack_from("<QQQQQ", numbers, 8)
    (block_bytes,) = struct.unpack_from("<I", numbers, 88)
    (state_bits,) = struct.unpack_from("<I", numbers, 104)
    return Statfs(
        uuid=uuid.tobytes().partition(b"\0")[0].decode("ascii", "replace"),
        size_bytes=blocks * block_bytes,
        free_bytes=free * block_bytes,
        available_bytes=available * block_bytes,
        files_free=files_free,
        state_bits=state_bits,
    )
