"""Traces: the trace files of a directory in, the processes of one run out."""

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iez_client.plan.template import decode
from iez_common._core import ffi, lib
from iez_common.errors import InputError, TraceError, UsageError, reason

SUFFIX = ".trace"
HEADER_BYTES: int = ffi.sizeof("struct iez_trace_header")
CELL_BYTES: int = lib.IEZ_TRACE_CELL
SIZE_UNKNOWN: int = lib.IEZ_SIZE_UNKNOWN
# A FIFO that is called like a trace must not hold us up.
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Damage:
    """A trace file of which something could not be used."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Process:
    """What the header of a trace file says that is needed to read the rest."""

    path: Path
    run: int
    start_ns: int
    start_ticks_ns: int
    pid: int
    rank: int  # -1: none
    world_size: int
    host: str
    program: str
    blocks_at: int


@dataclass(frozen=True, slots=True)
class Traces:
    """The processes of the run that was chosen, by rising rank."""

    directory: Path
    run: int  # of the runs in the directory, oldest first, from 1
    run_count: int
    processes: tuple[Process, ...]
    damaged: tuple[Damage, ...]


def find_traces(directory: Path, run: int | None = None) -> Traces:
    """The processes of a run; `run` is its number, None: the newest."""
    processes, damaged = _read_headers(directory)
    runs = _runs(processes)
    if run is not None and not 1 <= run <= len(runs):
        many = f"it holds {len(runs)} runs" if len(runs) > 1 else "it holds one run"
        raise UsageError(f"{directory}: {many}; there is no run {run}", "--run 1 is the oldest")
    number = len(runs) if run is None else run
    chosen = sorted(runs[number - 1], key=_by_rank)
    return Traces(directory, number, len(runs), tuple(chosen), damaged)


def traces_of(directory: Path, identity: int) -> Traces:
    """The processes of the run that its traces call so. There may be none: other runs may leave
    theirs in the same directory."""
    processes, damaged = _read_headers(directory)
    chosen = sorted((each for each in processes if each.run == identity), key=_by_rank)
    return Traces(directory, 1, 1, tuple(chosen), damaged)


def _read_headers(directory: Path) -> tuple[list[Process], tuple[Damage, ...]]:
    """Looks at the header of each trace file."""
    processes: list[Process] = []
    damaged: list[Damage] = []
    for path in _list(directory):
        try:
            processes.append(_process(path, _read_start(path)))
        except OSError as error:
            damaged.append(Damage(path.name, f"cannot be read: {reason(error)}"))
        except TraceError as error:
            damaged.append(Damage(path.name, error.message))
    if not processes:
        first = f"{damaged[0].file}: {damaged[0].reason}"
        raise TraceError(f"{directory}: none of its trace files can be used: {first}")
    return processes, tuple(damaged)


def _list(directory: Path) -> list[Path]:
    hint = "the directory that iez-run --trace-dir named, or iez show"
    try:
        paths = sorted(path for path in directory.iterdir() if path.name.endswith(SUFFIX))
    except OSError as error:
        raise InputError(f"{directory}: {reason(error)}", hint) from None
    if not paths:
        raise InputError(f"{directory}: there are no trace files in it", hint)
    return paths


def open_trace(path: Path) -> tuple[int, int]:
    """A descriptor of the file, and its size."""
    descriptor = os.open(path, _OPEN)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise TraceError("not a regular file")
    return descriptor, status.st_size


def _read_start(path: Path) -> bytes:
    descriptor, _ = open_trace(path)
    try:
        return os.read(descriptor, HEADER_BYTES)
    finally:
        os.close(descriptor)


def header_of(data: bytes | memoryview) -> Any:
    """The header at the start of a trace file. Raises TraceError where there is none."""
    if not data:
        raise TraceError("empty")
    magic = int.from_bytes(data[:8], "little")
    if magic not in (0, int(lib.IEZ_TRACE_MAGIC)):
        raise TraceError("foreign: it is not a trace file")
    if len(data) < HEADER_BYTES:
        raise TraceError("truncated: it ends within its header")
    if not magic:
        raise TraceError("half-written: its process ended before it was made")
    header = ffi.new("struct iez_trace_header *")
    ffi.memmove(header, data, HEADER_BYTES)
    if header.version != lib.IEZ_TRACE_VERSION:
        raise TraceError(
            f"of another version: {header.version}; this iez reads {lib.IEZ_TRACE_VERSION}"
        )
    if header.header_bytes != HEADER_BYTES:
        raise TraceError("damaged: its header makes no sense")
    return header


def _process(path: Path, data: bytes) -> Process:
    header = header_of(data)
    rank = header.world_rank if header.world_rank >= 0 else header.comm_rank
    return Process(
        path=path,
        run=header.run,
        start_ns=header.start_ns,
        start_ticks_ns=header.start_ticks_ns,
        pid=header.pid,
        rank=max(rank, -1),
        world_size=max(header.world_size, 0),
        host=decode(ffi.string(header.host)),
        program=decode(ffi.string(header.program)),
        blocks_at=header.header_bytes,
    )


def _runs(processes: Iterable[Process]) -> list[list[Process]]:
    """The processes by run, the run that began last at the end."""
    by_run: dict[int, list[Process]] = {}
    for process in processes:
        by_run.setdefault(process.run, []).append(process)
    return sorted(by_run.values(), key=lambda each: (max(p.start_ns for p in each), each[0].run))


def _by_rank(process: Process) -> tuple[int, str, int, int]:
    return process.rank, process.host, process.pid, process.start_ns


def number_processes(processes: Sequence[Process]) -> list[int]:
    """A number for each trace file, the same for those of one process: exec begins a new file."""
    numbers: list[int] = []
    before: tuple[str, int] | None = None
    for process in processes:
        own = process.host, process.pid
        numbers.append(numbers[-1] + (own != before) if numbers else 0)
        before = own
    return numbers
