"""Merge: the trace files of a run in, one table of its files out.

The sums are made in C (csrc/trace_merge.c), from a buffer of fixed size; what remains is the table,
whose size depends on the number of files, not on that of the processes.
"""

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from iez_client.parse.columns import rows_of
from iez_client.parse.traces import (
    HEADER_BYTES,
    Damage,
    Process,
    Traces,
    header_of,
    number_processes,
    open_trace,
)
from iez_common._core import ffi, lib
from iez_common.errors import IezError, TraceError, reason

if TYPE_CHECKING:
    from iez_client.parse.columns import Rows

_BUFFER_BYTES = 4 * int(lib.IEZ_MERGE_BLOCK_MAX)


class Merge:
    """The C core's table; rows are numbered from 0."""

    def __init__(self) -> None:
        self.core: Any = ffi.gc(lib.iez_merge_new(), lib.iez_merge_free)
        self._buffer = bytearray(_BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._pointer = ffi.from_buffer(self._buffer)
        self.check()

    def check(self) -> None:
        if not self.core or self.core.out_of_memory:
            raise IezError("there is not enough memory for the table of files")

    @property
    def row_count(self) -> int:
        return int(self.core.row_count)

    @property
    def memory_bytes(self) -> int:
        return int(self.core.memory_bytes)

    @property
    def rows(self) -> "Rows":
        """The rows as columns; good until the next file is added."""
        return rows_of("struct iez_row", self.core.rows, self.row_count)

    @property
    def spans(self) -> "Rows":
        return rows_of("struct iez_span", self.core.spans, self.core.span_count)

    def sizes(self, row: int) -> list[int]:
        """The histogram of a row's writes."""
        own = self.core.rows[row]
        if own.wide:
            return [int(count) for count in self.core.wide[own.wide].sizes]
        sizes = [0] * int(lib.IEZ_SIZE_BUCKETS)
        for bucket, count in zip(own.size_buckets, own.size_counts, strict=True):
            sizes[bucket] += count
        return sizes

    def sum_sizes(self, rows: "Rows") -> list[int]:
        """The histogram of many rows."""
        import numpy as np

        total = np.zeros(int(lib.IEZ_SIZE_BUCKETS), "u8")
        np.add.at(total, rows["size_buckets"].ravel(), rows["size_counts"].ravel())
        wide = rows["wide"][rows["wide"] != 0]
        if len(wide):
            everything = rows_of("struct iez_wide", self.core.wide, self.core.wide_count)
            total += everything["sizes"][wide].sum(axis=0)
        return [int(count) for count in total]

    def text(self, at: int, size: int) -> bytes:
        return bytes(ffi.buffer(self.core.texts + at, size))

    def path(self, row: int) -> bytes:
        own = self.core.rows[row]
        return self.text(own.path_at, own.path_bytes)

    def find(self, path: bytes) -> int | None:
        """The row of a path that was neither renamed nor removed."""
        row = int(lib.iez_merge_find(self.core, path, len(path)))
        return None if row == lib.IEZ_NO_ROW else row

    def ranks(self, first: int) -> list[tuple[int, int]]:
        """The spans that begin with number `first`."""
        found = []
        while first:
            span = self.core.spans[first]
            found.append((int(span.low), int(span.high)))
            first = span.next
        return found

    def add(self, descriptor: int, size_bytes: int, at: int, rank: int, process: int) -> Any:
        """Adds the blocks of a file, which begin at `at`; gives its struct iez_part."""
        lib.iez_merge_begin(self.core, rank, process, at, size_bytes)
        while at < size_bytes:
            got = os.preadv(descriptor, [self._view], at)
            step = lib.iez_merge_feed(self.core, self._pointer, got)
            self.check()
            if step == 0:
                break
            at += step
        lib.iez_merge_end(self.core, at + int(lib.IEZ_TRACE_CELL) > size_bytes)
        self.check()
        return self.core.part


@dataclass(slots=True)
class Totals:
    """Sums over the headers of a run."""

    processes: int = 0
    hosts: Counter[str] = field(default_factory=Counter)
    programs: Counter[str] = field(default_factory=Counter)
    ranks: int = 0
    world_size: int = 0
    start_ns: int = 0
    collective_opens: int = 0
    outcomes: Counter[int] = field(default_factory=Counter)
    dropped_files: int = 0
    dropped_writes: int = 0
    dropped_bytes: int = 0
    dropped_events: int = 0
    events: int = 0
    file_records: int = 0

    @property
    def dropped(self) -> int:
        """What is in no record: files, writes, events."""
        return self.dropped_files + self.dropped_writes + self.dropped_events


@dataclass(frozen=True, slots=True)
class Merged:
    """A run: its table and what is known about the whole."""

    traces: Traces
    merge: Merge
    totals: Totals
    damaged: tuple[Damage, ...]


def merge_traces(traces: Traces) -> Merged:
    """Reads every trace file of the run."""
    merge, totals = Merge(), Totals()
    damaged = list(traces.damaged)
    last_rank = -1
    for process, number in zip(traces.processes, number_processes(traces.processes), strict=True):
        try:
            trouble = _add(merge, totals, process, number)
        except OSError as error:
            damaged.append(Damage(process.path.name, f"cannot be read: {reason(error)}"))
            continue
        except TraceError as error:
            damaged.append(Damage(process.path.name, error.message))
            continue
        totals.ranks += process.rank > last_rank
        last_rank = process.rank
        if trouble:
            damaged.append(Damage(process.path.name, trouble))
    if not totals.processes:
        raise TraceError(f"{traces.directory}: none of its trace files can be used")
    return Merged(traces, merge, totals, tuple(sorted(damaged, key=lambda each: each.file)))


def _add(merge: Merge, totals: Totals, process: Process, number: int) -> str:
    descriptor, size_bytes = open_trace(process.path)
    try:
        # Again: what the header counts may have grown since the run was chosen.
        header = header_of(os.pread(descriptor, HEADER_BYTES, 0))
        part = merge.add(descriptor, size_bytes, process.blocks_at, process.rank, number)
    finally:
        os.close(descriptor)
    totals.processes += 1
    totals.hosts[process.host] += 1
    totals.programs[process.program] += 1
    totals.world_size = max(totals.world_size, process.world_size)
    starts = (start for start in (totals.start_ns, process.start_ns) if start)
    totals.start_ns = min(starts, default=0)
    totals.collective_opens += header.collective
    totals.outcomes.update({i: n for i, n in enumerate(header.outcomes) if n})
    totals.dropped_files += header.dropped_files
    totals.dropped_writes += header.dropped_writes
    totals.dropped_bytes += header.dropped_bytes
    totals.dropped_events += header.dropped_events
    totals.events += part.events
    totals.file_records += part.files
    return describe_damage(part)


def describe_damage(part: Any) -> str:
    """What is wrong with a trace file, in words; empty if nothing is."""
    verb = "is" if part.files <= 1 else "are"
    used = f"{part.files or 'none'} of its files {verb} used"
    if part.truncated:
        return f"truncated: {used}"
    if part.damaged_cells or part.lost_blocks:
        what = []
        if part.damaged_cells:
            what.append(f"{int(part.damaged_cells) * int(lib.IEZ_TRACE_CELL)} bytes make no sense")
        if part.lost_blocks:
            what.append(f"{part.lost_blocks} blocks belong to no file")
        return f"damaged: {', '.join(what)}; {used}"
    return ""
