"""Lustre's interface as a program uses it: requests byte by byte, ioctls, layouts read back.

The requests are put together here and not by iez_common.layout, which refuses what the tests want
to see refused by the file system.
"""

import errno
import fcntl
import os
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

from iez_common.layout import WireLayout, read_wire

SETSTRIPE, SETSTRIPE_NEW = 0x4008669A, 0xC020669A
GETSTRIPE, GETSTRIPE_NEW = 0x4008669B, 0x8020669B
V1, V3, SPECIFIC, COMPOSITE = 0x0BD10BD0, 0x0BD30BD0, 0x0BD50BD0, 0x0BD60BD0
RAID0, MDT, OVERSTRIPING = 0x1, 0x100, 0x200
ANY = 0xFFFF
ALL = 0xFFFF
EOF = (1 << 64) - 1
DELAY = os.O_NOCTTY | fcntl.FASYNC
PLAIN_BYTES, POOL_BYTES, OBJECT_BYTES = 32, 16, 24
ENTRY_BYTES = 48
ANSWER_BYTES = 1 << 16

PROGRAMS = Path(__file__).parent / "programs"


def compile_program(name: str, folder: Path) -> Path:
    """Builds programs/NAME.c."""
    words = ["-std=gnu11", "-D_GNU_SOURCE", "-O2", "-g", "-pthread", "-Wall", "-Wextra", "-Werror"]
    program = folder / name
    subprocess.run(["gcc", *words, PROGRAMS / f"{name}.c", "-o", program], check=True)
    return program


def v1(
    count: int = 0, size: int = 0, offset: int = ANY, pattern: int = RAID0, magic: int = V1
) -> bytes:
    """The 32 bytes that every plain request begins with."""
    return struct.pack("<II16xIHH", magic, pattern, size, count, offset)


def v3(
    count: int = 0, size: int = 0, offset: int = ANY, pattern: int = RAID0, pool: str = ""
) -> bytes:
    return v1(count, size, offset, pattern, V3) + pool.encode().ljust(POOL_BYTES, b"\0")


def specific(
    osts: Sequence[int],
    size: int = 0,
    offset: int = ANY,
    pattern: int = RAID0,
    pool: str = "",
) -> bytes:
    """A list of OSTs."""
    head = v1(len(osts), size, offset, pattern, SPECIFIC) + pool.encode().ljust(POOL_BYTES, b"\0")
    return head + b"".join(struct.pack("<16xII", 0, ost) for ost in osts)


def composite(*parts: tuple[int, bytes]) -> bytes:
    """Components one after the other: where each ends, and its request."""
    at = PLAIN_BYTES + ENTRY_BYTES * len(parts)
    start, entries, blobs = 0, b"", b""
    for end, blob in parts:
        entries += struct.pack("<IIQQII16x", 0, 0, start, end, at + len(blobs), len(blob))
        blobs += blob
        start = end
    head = struct.pack("<IIIHHH14x", COMPOSITE, at + len(blobs), 0, 0, len(parts), 0)
    return head + entries + blobs


def delayed(path: Path, flags: int = os.O_RDWR, mode: int = 0o644) -> int:
    """Creates a file that has no layout yet."""
    return os.open(path, os.O_CREAT | os.O_EXCL | flags | DELAY, mode)


def set_stripe(fd: int, wire: bytes, request: int = SETSTRIPE) -> bytes:
    """The ioctl; gives what stands in the caller's buffer afterwards."""
    buffer = bytearray(wire)
    fcntl.ioctl(fd, request, buffer, True)
    return bytes(buffer)


def get_stripe(
    fd: int, preset: bytes = b"", request: int = GETSTRIPE, room: int = ANSWER_BYTES
) -> bytes:
    """What the ioctl answers into a buffer that begins with `preset`."""
    buffer = bytearray(preset.ljust(room, b"\0"))
    fcntl.ioctl(fd, request, buffer, True)
    return bytes(buffer)


def create(path: Path, wire: bytes) -> int:
    """A new file with this layout, open for reading and writing."""
    fd = delayed(path)
    try:
        set_stripe(fd, wire)
    except OSError:
        os.close(fd)
        raise
    return fd


def magic_of(wire: bytes) -> int:
    return int.from_bytes(wire[:4], "little")


def has_layout(path: Path) -> bool:
    try:
        return bool(os.getxattr(path, "lustre.lov"))
    except OSError as error:
        assert error.errno == errno.ENODATA
        return False


def layout_of(path: Path | int) -> WireLayout:
    return read_wire(os.getxattr(path, "lustre.lov"))


def osts_of(path: Path | int) -> tuple[int, ...]:
    """The OSTs of a file that has one component."""
    (component,) = layout_of(path).components
    return component.osts
