"""Pack: the columns of events, compressed; docs/tracing.md tells the form.

Each column is turned into small numbers first: a start becomes the gap behind the event before it,
an offset the distance from where the file's last event ended. Then the bytes of equal weight stand
together, which is what zlib can make short.
"""

import zlib
from typing import TYPE_CHECKING

from iez_common.errors import TraceError

if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    Events = NDArray[np.void]
    Column = NDArray[Any]

CHUNK_EVENTS = 1 << 18
_LEVEL = 6
_HEAD_BYTES = 8
# As they stand in a chunk.
_COLUMNS = {
    "start_ns": "<u8", "offset": "<u8", "duration_ns": "<u4", "length": "<u4", "file": "<u4",
    "thread": "<u2", "api": "<u2",
}  # fmt: skip
_EVENT_BYTES = sum(int(kind[-1]) for kind in _COLUMNS.values())


def pack_events(events: "Events") -> bytes:
    """Chunks: their number of events, their bytes, and those bytes."""
    parts = []
    for start in range(0, len(events), CHUNK_EVENTS):
        chunk = events[start : start + CHUNK_EVENTS]
        data = zlib.compress(_columns(chunk), _LEVEL)
        parts += [len(chunk).to_bytes(4, "little"), len(data).to_bytes(4, "little"), data]
    return b"".join(parts)


def unpack_events(data: bytes | memoryview, dtype: "np.dtype[Any]") -> "Events":
    """The events of pack_events. Raises TraceError for bytes that are none."""
    import numpy as np

    chunks, at = [np.zeros(0, dtype)], 0
    while at < len(data):
        count = int.from_bytes(data[at : at + 4], "little")
        size = int.from_bytes(data[at + 4 : at + _HEAD_BYTES], "little")
        at += _HEAD_BYTES
        if not 0 < count <= CHUNK_EVENTS or size > len(data) - at:
            raise TraceError("its packed events are damaged")
        chunks.append(_events(_inflate(data[at : at + size], count * _EVENT_BYTES), count, dtype))
        at += size
    return np.concatenate(chunks)


def _inflate(data: bytes | memoryview, expected: int) -> bytes:
    inflate = zlib.decompressobj()
    try:
        plain = inflate.decompress(data, expected)
    except zlib.error:
        plain = b""
    if len(plain) != expected or not (inflate.eof or not inflate.decompress(b"", 1)):
        raise TraceError("its packed events are damaged")
    return plain


def _columns(events: "Events") -> bytes:
    import numpy as np

    ends = events["start_ns"] + events["duration_ns"]
    gaps = events["start_ns"] - np.concatenate([np.zeros(1, "<u8"), ends[:-1]])
    changed = {"start_ns": _zigzag(gaps), "offset": _zigzag(_distances(events))}
    parts = []
    for name, kind in _COLUMNS.items():
        column = np.ascontiguousarray(changed.get(name, events[name]), dtype=kind)
        parts.append(column.view("u1").reshape(len(events), -1).T.tobytes())
    return b"".join(parts)


def _events(plain: bytes, count: int, dtype: "np.dtype[Any]") -> "Events":
    import numpy as np

    events, at = np.zeros(count, dtype), 0
    for name, kind in _COLUMNS.items():
        size = int(kind[-1])
        planes = np.frombuffer(plain, "u1", count * size, at).reshape(size, count)
        events[name] = np.ascontiguousarray(planes.T).view(kind)[:, 0]
        at += count * size
    gaps = _unzigzag(events["start_ns"])
    before = np.concatenate([np.zeros(1, "<u8"), events["duration_ns"][:-1]])
    events["start_ns"] = np.cumsum(gaps + before, dtype="<u8")
    _restore_offsets(events, _unzigzag(events["offset"]))
    return events


def _order(events: "Events") -> tuple["Column", "Column"]:
    """The events file by file, and which of them are the first of their file."""
    import numpy as np

    order = np.argsort(events["file"], kind="stable")
    files = events["file"][order]
    first = np.ones(len(files), dtype=bool)
    first[1:] = files[1:] != files[:-1]
    return order, first


def _distances(events: "Events") -> "Column":
    """Offsets, from where the last event of the same file ended (modulo 2^64)."""
    import numpy as np

    order, first = _order(events)
    offset = events["offset"][order]
    end = offset + events["length"][order]
    distance = offset.copy()
    distance[1:] -= np.where(first[1:], np.uint64(0), end[:-1])
    distances = np.empty_like(distance)
    distances[order] = distance
    return distances


def _restore_offsets(events: "Events", distances: "Column") -> None:
    import numpy as np

    order, first = _order(events)
    length = events["length"][order].astype("<u8")
    steps = distances[order]
    steps[1:] += np.where(first[1:], np.uint64(0), length[:-1])
    total = np.cumsum(steps, dtype="<u8")
    # What had been added up before the file's first event does not belong to it.
    starts = np.flatnonzero(first)
    before = total[starts] - steps[starts]
    offsets = np.empty_like(total)
    offsets[order] = total - np.repeat(before, np.diff(np.append(starts, len(total))))
    events["offset"] = offsets


def _zigzag(values: "Column") -> "Column":
    """Small numbers of either sign as small numbers."""
    import numpy as np

    signed = values.astype("<u8").view("<i8")
    zigzag: Column = ((signed << 1) ^ (signed >> 63)).view("<u8")
    return np.ascontiguousarray(zigzag)


def _unzigzag(values: "Column") -> "Column":
    import numpy as np

    plain: Column = (values >> np.uint64(1)) ^ (np.uint64(0) - (values & np.uint64(1)))
    return plain
