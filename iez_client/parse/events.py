"""Events: each write of a process, as an array; and their compression after the run."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iez_client.parse.columns import dtype_of
from iez_client.parse.merge import Merge, describe_damage
from iez_client.parse.pack import pack_events, unpack_events
from iez_client.parse.traces import CELL_BYTES, HEADER_BYTES, header_of, open_trace
from iez_common._core import ffi, lib
from iez_common.atomic import replacing
from iez_common.errors import TraceError, reason

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_EVENTS_HEAD: int = ffi.sizeof("struct iez_trace_events")
_PACKED_HEAD: int = ffi.sizeof("struct iez_trace_packed")


@dataclass(frozen=True, slots=True)
class Block:
    kind: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class EventTrace:
    """The events of one process, in the order of its file; `damage` says what is missing."""

    events: "NDArray[np.void]"  # struct iez_trace_event
    damage: str = ""


def blocks_of(data: bytes, kind: int = 0) -> Iterator[Block]:
    """The whole blocks of a trace file; `kind` 0: all."""
    pointer, at = ffi.from_buffer(data), HEADER_BYTES
    while (at := int(lib.iez_trace_next(pointer, len(data), at, kind))) < len(data):
        block = ffi.cast("struct iez_block *", pointer + at)
        end = at + block.cells * CELL_BYTES
        yield Block(int(block.kind), at, end)
        at = end


def struct_at(c_type: str, data: bytes, start: int) -> Any:
    """A copy of the struct; the next block or the file's end may be nearer than its size."""
    made = ffi.new(c_type)
    part = data[start : start + ffi.sizeof(made[0])]
    ffi.memmove(made, part, len(part))
    return made


def read_trace(path: Path) -> bytes:
    """A trace file as a whole. Raises TraceError if it is none."""
    try:
        descriptor, _ = open_trace(path)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read()
    except OSError as error:
        raise TraceError(f"cannot be read: {reason(error)}") from None
    header_of(data[:HEADER_BYTES])
    return data


def events_of(data: bytes) -> EventTrace:
    """All events of a trace file, packed or not."""
    import numpy as np

    dtype = dtype_of("struct iez_trace_event")
    parts, damage = [np.zeros(0, dtype)], ""
    for block in blocks_of(data):
        if block.kind == lib.IEZ_BLOCK_EVENTS:
            head = struct_at("struct iez_trace_events *", data, block.start)
            room = (block.end - block.start - _EVENTS_HEAD) // dtype.itemsize
            if head.used > room:
                damage = "its events are damaged"
            start = block.start + _EVENTS_HEAD
            parts.append(np.frombuffer(data, dtype, min(head.used, room), start))
        elif block.kind == lib.IEZ_BLOCK_PACKED:
            try:
                parts.append(_unpack(data, block, dtype))
            except TraceError as error:
                damage = error.message
    return EventTrace(np.concatenate(parts), damage)


def _unpack(data: bytes, block: Block, dtype: "np.dtype[np.void]") -> "NDArray[np.void]":
    head = struct_at("struct iez_trace_packed *", data, block.start)
    start = block.start + _PACKED_HEAD
    if block.end - block.start < _PACKED_HEAD or head.bytes > block.end - start:
        raise TraceError("its packed events are damaged")
    events = unpack_events(memoryview(data)[start : start + head.bytes], dtype)
    if len(events) != head.events:
        raise TraceError("its packed events are damaged")
    return events


def pack(path: Path) -> bool:
    """Replaces the events of a trace file by one compressed block. Gives whether it did: a file
    without events, or one that is not whole, is left alone."""
    try:
        data = read_trace(path)
    except TraceError:
        return False
    spans = list(blocks_of(data, int(lib.IEZ_BLOCK_EVENTS)))
    if not spans or _is_damaged(path):
        return False
    trace = events_of(data)
    if trace.damage:
        return False
    kept, at = [], 0
    packed = blocks_of(data, int(lib.IEZ_BLOCK_PACKED))
    for block in sorted([*spans, *packed], key=lambda each: each.start):
        kept.append(data[at : block.start])
        at = block.end
    kept.append(data[at:].rstrip(b"\0"))
    rest = b"".join(kept)
    rest += bytes(-len(rest) % CELL_BYTES)
    with replacing(path, 0o600) as file:
        file.write(rest)
        file.write(_packed_block(trace.events))
    return True


def _packed_block(events: "NDArray[np.void]") -> bytes:
    body = pack_events(events)
    head = ffi.new("struct iez_trace_packed *")
    head.block.kind = lib.IEZ_BLOCK_PACKED
    head.block.cells = -(-(_PACKED_HEAD + len(body)) // CELL_BYTES)
    head.events, head.bytes = len(events), len(body)
    whole = bytes(ffi.buffer(head)) + body
    return whole + bytes(-len(whole) % CELL_BYTES)


def _is_damaged(path: Path) -> bool:
    descriptor, size_bytes = open_trace(path)
    try:
        part = Merge().add(descriptor, size_bytes, HEADER_BYTES, -1, 0)
        return bool(describe_damage(part))
    finally:
        os.close(descriptor)
