"""Trace: what tracing adds to writes, to creates, to the start of a process, and to an MPI job."""

import contextlib
import importlib.util
import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import plans
from bench import HERE, compile_program, note, preloaded, report, workspace
from startup import cpu_s, started
from workers import Comparison, compare

from iez_common._core import ffi, lib

MEMORY = Path("/dev/shm")
MPI_COMPILER, MPI_LAUNCHER = "mpicc.mpich", "mpiexec.mpich"
WRITES = 2000  # a batch
EVENTS = 33_000  # fill more than the largest step in which a trace grows: each batch has one
CYCLES = 50
RANKS = 4
RANK_BYTES = 64 << 20
JOB_PAIRS = 15


@dataclass(frozen=True, slots=True)
class Watched:
    """A directory, and a plan that watches it and nothing else."""

    directory: Path
    plan: Path


def main() -> None:
    with workspace() as work, in_memory(work) as memory:
        writes = compile_program("writes", work, "-pthread")
        on_disk, on_tmpfs = watch(work / "disk", work), watch(memory / "tmpfs", work)
        single_thread(writes, on_tmpfs)
        two_threads(writes, on_tmpfs)
        cycles(writes, {"": on_disk, "_tmpfs": on_tmpfs})
        start(on_disk, work)
        job(on_disk, work)
    parse()


@contextlib.contextmanager
def in_memory(work: Path) -> Iterator[Path]:
    """A directory on tmpfs: the hard case, because there a call takes the least time."""
    there = MEMORY if os.access(MEMORY, os.W_OK) else work
    with tempfile.TemporaryDirectory(prefix="iez-bench-", dir=there) as directory:
        yield Path(directory)


def watch(directory: Path, work: Path) -> Watched:
    plan = work / f"{directory.name}.plan"
    plans.write_plan(directory, plan, paths=1000, runs=10)
    return Watched(directory, plan)


def written(writes: Path, mode: str, where: Watched, count: int, **how: int) -> Comparison:
    """Writes to a file that is there and stays as long as it is."""
    file = where.directory / "existing"
    file.write_bytes(bytes(8192))
    return compare([writes, mode, file, str(count)], preloaded(where.plan), **how)


def single_thread(writes: Path, where: Watched) -> None:
    note("writes of 8 bytes")
    seen = written(writes, "same", where, WRITES, rounds=200)
    report("trace.pwrite8_added_ns", seen.added_ns / WRITES, "ns")
    report("trace.pwrite8_ratio", seen.ratio, "ratio")
    note("the same with events")
    with_events = Watched(where.directory, plans.with_events(where.plan))
    seen = written(writes, "same", with_events, EVENTS, rounds=16)
    report("trace.event_added_ns", seen.added_ns / EVENTS, "ns")
    report("trace.event_ratio", seen.ratio, "ratio")


def two_threads(writes: Path, where: Watched) -> None:
    note("writes of 8 bytes by two threads")
    if len(os.sched_getaffinity(0)) < 2:
        note("  not measured: there is one CPU")
        return
    for mode, name in (("own", "threads"), ("shared", "threads_shared")):
        seen = written(writes, mode, where, WRITES, rounds=100, is_pinned=False)
        report(f"trace.pwrite8_{name}_ratio", seen.ratio, "ratio")


def cycles(writes: Path, places: dict[str, Watched]) -> None:
    note("create, write of 4 KiB and close")
    for name, where in places.items():
        command = [writes, "cycle", where.directory, str(CYCLES)]
        seen = compare(command, preloaded(where.plan), rounds=100)
        report(f"trace.create_cycle{name}_ratio", seen.ratio, "ratio")


def start(where: Watched, work: Path) -> None:
    note("starting processes")
    spawn, nothing = compile_program("spawn", work), compile_program("nothing", work)
    report("trace.start_us", started(spawn, where.plan, nothing).added_us, "us")


def job(where: Watched, work: Path) -> None:
    """An IOR-like program, a file per process, and what its events take."""
    note(f"{RANKS} ranks write {RANK_BYTES >> 20} MiB each in writes of 4 KiB")
    if not shutil.which(MPI_COMPILER) or not shutil.which(MPI_LAUNCHER):
        note(f"  not measured: there is no {MPI_COMPILER}")
        return
    ior = compile_program("ior", work, compiler=MPI_COMPILER)
    files = where.directory / "ior"
    command = [shutil.which(MPI_LAUNCHER), "-n", str(RANKS), ior, files, str(RANK_BYTES)]
    counted = {**os.environ, **preloaded(where.plan)}

    def run_s(environ: dict[str, str]) -> float:
        """Time of the processor in user and system mode, of the ranks and their launcher."""
        shutil.rmtree(files, ignore_errors=True)
        files.mkdir()
        return cpu_s(command, environ)

    pairs = []
    for number in range(JOB_PAIRS):
        if number % 2:
            plain, traced = run_s(dict(os.environ)), run_s(counted)
        else:
            traced, plain = run_s(counted), run_s(dict(os.environ))
        pairs.append((traced, plain))
    report("trace.ior_fpp_cpu_ratio", statistics.median(a / b for a, b in pairs), "ratio")
    report("trace.ior_fpp_cpu_ms", 1000 * statistics.median(plain for _, plain in pairs), "ms")

    folder = work / "events"
    folder.mkdir()
    plan = plans.with_events(where.plan).rename(folder / "plan")
    run_s({**os.environ, **preloaded(plan)})
    event_bytes(folder)


def event_bytes(folder: Path) -> None:
    """What an event of the job takes, and what is left of that after the run's packing."""
    report("trace.event_raw_bytes", ffi.sizeof("struct iez_trace_event"), "bytes")
    if importlib.util.find_spec("iez_client.parse") is None:
        note("  not packed: there is no iez_client.parse")
        return
    from iez_client.parse.events import pack

    traces = sorted(folder.glob("*.trace"))
    events = sum(head.used for trace in traces for head in heads(trace, "struct iez_trace_events"))
    for trace in traces:
        pack(trace)
    packed = [head for trace in traces for head in heads(trace, "struct iez_trace_packed")]
    assert sum(head.events for head in packed) == events
    packed_bytes = sum(head.block.cells for head in packed) * lib.IEZ_TRACE_CELL
    report("trace.event_bytes", packed_bytes / events, "bytes")


KINDS = {
    "struct iez_trace_events": lib.IEZ_BLOCK_EVENTS,
    "struct iez_trace_packed": lib.IEZ_BLOCK_PACKED,
}


def heads(trace: Path, c_type: str) -> Iterator[Any]:
    """The first part of each block of one kind."""
    data = trace.read_bytes()
    at = ffi.sizeof("struct iez_trace_header")
    while at < len(data):
        head = ffi.new(f"{c_type} *")
        ffi.memmove(head, data[at : at + ffi.sizeof(c_type)], ffi.sizeof(c_type))
        if head.block.kind == KINDS[c_type]:
            yield head
        at += max(head.block.cells, 1) * lib.IEZ_TRACE_CELL


def parse() -> None:
    """The reading of traces, where this version has it."""
    if (HERE / "parse.py").exists():
        import parse as suite

        suite.main()


if __name__ == "__main__":
    main()
