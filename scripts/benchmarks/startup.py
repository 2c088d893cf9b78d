"""Startup: what iez-run adds to a job's start, and what the library adds to a process's."""

import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import plans
from bench import BIN, LIBRARY, compile_program, note, report, workspace
from syscalls import file_system_calls
from workers import pin

PYTHON = [sys.executable, "-c", "pass"]
IEZ_RUN = [BIN / "iez-run", "true"]
ROUNDS = 60
SPAWNS = 600


def main() -> None:
    with workspace() as work:
        # A state directory of its own: the first run there makes what later ones find.
        os.environ["IEZ_STATE_DIR"] = str(work / "state")
        for _ in range(2):
            subprocess.run(IEZ_RUN, check=True)
            subprocess.run(PYTHON, check=True)
        file_system()
        cpu()
        preload(work)


def file_system() -> None:
    note("file-system calls")
    ours, python = file_system_calls(IEZ_RUN), file_system_calls(PYTHON)
    report("startup.iez_run_fs_calls", ours, "calls")
    report("startup.python_fs_calls", python, "calls")
    report("startup.fs_calls_ratio", ours / python, "ratio")


def cpu() -> None:
    """Time of the processor in user and system mode, children included."""
    note("processor time")
    pairs = []
    for number in range(ROUNDS):
        if number % 2:
            python, ours = cpu_s(PYTHON), cpu_s(IEZ_RUN)
        else:
            ours, python = cpu_s(IEZ_RUN), cpu_s(PYTHON)
        pairs.append((ours, python))
    report("startup.iez_run_cpu_ms", 1000 * statistics.median(ours for ours, _ in pairs), "ms")
    report("startup.cpu_ratio", statistics.median(ours / python for ours, python in pairs), "ratio")


def cpu_s(command: Sequence[str | Path], environ: Mapping[str, str] = os.environ) -> float:
    pid = os.posix_spawn(command[0], command, environ)
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"bench: {command[0]} failed")
    return usage.ru_utime + usage.ru_stime


def preload(work: Path) -> None:
    """A program that does nothing, started with the library and without."""
    note("starting processes")
    plan = work / "plan"
    plans.write_plan(work / "mock", plan, paths=1000, runs=10)
    spawn = compile_program("spawn", work)
    nothing = compile_program("nothing", work)
    for name, program in (("preload", nothing), ("preload_true", Path("/bin/true"))):
        start = started(spawn, plan, program)
        report(f"startup.{name}_us", start.added_us, "us")
        report(f"startup.{name}_cpu_us", start.added_cpu_us, "us")
        report(f"startup.{name}_without_us", start.without_us, "us")


@dataclass(frozen=True, slots=True)
class Start:
    """A program from its start to its end: without the library, and what that adds."""

    without_us: float
    added_us: float
    added_cpu_us: float


def started(spawn: Path, plan: Path, program: Path) -> Start:
    command = [spawn, str(SPAWNS), LIBRARY, plan, program]
    result = subprocess.run(command, check=True, capture_output=True, text=True, preexec_fn=pin)
    rows = [tuple(map(int, line.split())) for line in result.stdout.splitlines()]
    return Start(
        statistics.median(plain for plain, _, _, _ in rows) / 1000,
        statistics.median(loaded - plain for plain, loaded, _, _ in rows) / 1000,
        statistics.median(loaded - plain for _, _, plain, loaded in rows) / 1000,
    )


if __name__ == "__main__":
    main()
