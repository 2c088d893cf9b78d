"""Reads trace files for the tests, through the structs of csrc/trace_format.h.

Written for clearness, and apart from the parser of the product, so that each can show the other's
mistakes.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from differential import patch_plan

from iez_common._core import ffi, lib

APIS = {
    "POSIX": lib.IEZ_POSIX,
    "STDIO": lib.IEZ_STDIO,
    "MPI-IO": lib.IEZ_MPIIO,
    "HDF5": lib.IEZ_HDF5,
}
FLAGS = {
    name: getattr(lib, f"IEZ_FILE_{name.upper()}")
    for name in (
        "created", "read", "write", "append", "exclusive", "direct", "truncated", "renamed",
        "unlinked", "found", "perhaps", "linked",
    )
}  # fmt: skip
DROPPED = ("files", "writes", "bytes", "events")


@dataclass(frozen=True, slots=True)
class Event:
    start_ns: int
    offset: int | None
    duration_ns: int
    length: int
    thread: int
    api: str


@dataclass(slots=True)
class FileTrace:
    """What one process did to one file: the sum over its threads."""

    path: str
    number: int
    flags: set[str]
    apis: set[str]
    opens: int
    creates: int
    size_bytes: int | None
    set_bytes: int
    comm: tuple[int, int]  # rank, size
    stripe_count: int
    writes: int = 0
    reads: int = 0
    read_bytes: int = 0
    write_end: int = 0
    layer_bytes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(APIS, 0))
    sizes: dict[int, int] = field(default_factory=dict)  # by the power of two
    names: list[str] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    sets: int = 0  # of counts

    @property
    def bytes(self) -> int:
        return self.layer_bytes["POSIX"] + self.layer_bytes["STDIO"]

    def add(self, counts: Any) -> None:
        self.sets += 1
        self.writes += counts.writes
        self.reads += counts.reads
        self.read_bytes += counts.read_bytes
        self.write_end = max(self.write_end, counts.write_end)
        for name, api in APIS.items():
            self.layer_bytes[name] += counts.layer_bytes[api]
        for power in range(lib.IEZ_SIZE_BUCKETS):
            if counts.sizes[power]:
                self.sizes[power] = self.sizes.get(power, 0) + counts.sizes[power]


@dataclass(slots=True)
class Trace:
    """One process."""

    name: str
    pid: int
    program: str
    world: tuple[int, int]  # rank, size
    dropped: dict[str, int]
    files: list[FileTrace]

    def file(self, path: str | Path) -> FileTrace:
        """The last file of that name."""
        return [file for file in self.files if file.path == str(path)][-1]


def read_trace(path: Path) -> Trace:
    data = path.read_bytes()
    header = ffi.from_buffer("struct iez_trace_header *", data)
    assert header.magic == lib.IEZ_TRACE_MAGIC, path
    assert header.version == lib.IEZ_TRACE_VERSION, path
    files: dict[int, FileTrace] = {}
    later = []
    at = int(header.header_bytes)
    base = ffi.from_buffer(data)
    while at + lib.IEZ_TRACE_CELL <= len(data):
        block = ffi.cast("struct iez_block *", base + at)
        if block.kind == lib.IEZ_BLOCK_FILE:
            file = _file(base + at)
            files[file.number] = file
        elif block.kind in _LATER:
            later.append((block.kind, base + at))
        at += max(block.cells, 1) * lib.IEZ_TRACE_CELL
    for kind, place in later:
        _LATER[kind](files, place)
    return Trace(
        path.name,
        header.pid,
        ffi.string(header.program).decode(),
        (header.world_rank, header.world_size),
        {what: getattr(header, f"dropped_{what}") for what in DROPPED},
        list(files.values()),
    )


def _file(place: Any) -> FileTrace:
    one = ffi.cast("struct iez_trace_file *", place)
    size = one.size_bytes
    file = FileTrace(
        path=_text(place + ffi.sizeof("struct iez_trace_file"), one.path_bytes),
        number=one.number,
        flags={name for name, bit in FLAGS.items() if one.flags & bit},
        apis={name for name, api in APIS.items() if one.apis & 1 << api},
        opens=one.opens,
        creates=one.creates,
        size_bytes=None if size == lib.IEZ_SIZE_UNKNOWN else size,
        set_bytes=one.set_bytes,
        comm=(one.comm_rank, one.comm_size),
        stripe_count=one.stripe_count,
    )
    file.add(one.counts)
    return file


def _text(place: Any, length: int) -> str:
    return os.fsdecode(bytes(ffi.buffer(place, length)))


def _counts(files: dict[int, FileTrace], place: Any) -> None:
    more = ffi.cast("struct iez_trace_more *", place)
    files[more.file].add(more.counts)


def _name(files: dict[int, FileTrace], place: Any) -> None:
    name = ffi.cast("struct iez_trace_name *", place)
    at = place + ffi.sizeof("struct iez_trace_name")
    files[name.file].names.append(_text(at, name.bytes))


def _events(files: dict[int, FileTrace], place: Any) -> None:
    block = ffi.cast("struct iez_trace_events *", place)
    events = ffi.cast("struct iez_trace_event *", place + ffi.sizeof("struct iez_trace_events"))
    by_number = {api: name for name, api in APIS.items()}
    for one in (events[i] for i in range(block.used)):
        offset = None if one.offset == lib.IEZ_SIZE_UNKNOWN else one.offset
        files[one.file].events.append(
            Event(one.start_ns, offset, one.duration_ns, one.length, one.thread, by_number[one.api])
        )


_LATER: dict[int, Callable[[dict[int, FileTrace], Any], None]] = {
    lib.IEZ_BLOCK_COUNTS: _counts,
    lib.IEZ_BLOCK_NAME: _name,
    lib.IEZ_BLOCK_EVENTS: _events,
}


def read_traces(directory: Path) -> list[Trace]:
    return [read_trace(path) for path in sorted(directory.glob("*.trace"))]


def all_files(directory: Path) -> list[FileTrace]:
    """Of all processes."""
    return [file for trace in read_traces(directory) for file in trace.files]


def remove_traces(directory: Path) -> None:
    for path in directory.glob("*.trace"):
        path.unlink()


def record_events(plan: Path) -> Path:
    """Makes a plan one that has each write recorded."""

    def change(_image: bytearray, header: Any) -> None:
        header.trace_events = 1

    return patch_plan(plan, change)
