"""Shim: what the library costs in the job's processes, and what a look-up costs."""

import os
import statistics
import subprocess
import tempfile
from pathlib import Path

import databases
import plans
from bench import CORE, compile_program, note, preloaded, report, workspace
from syscalls import counted
from workers import Worker, alternate, ratio

LOOKUPS = {"lookup": 2000, "lookup_sqlite": 200, "lookup_mariadb": 20}  # a batch
ROUNDS = 200
MEMORY = Path("/dev/shm")


def main() -> None:
    with workspace() as work:
        plan, mock = work / "big.plan", work / "mock"
        note("building a plan of 10^6 paths and 10^4 templates")
        plans.write_plan(mock, plan)
        calls = compile_program("calls", work)
        lookup = compile_program("lookup", work, *CORE)
        pass_through(calls, plan, work)
        creates(calls, plan, mock)
        lookups(lookup, plan, mock)
        against_databases(lookup, plan, mock, work)


def pass_through(calls: Path, plan: Path, work: Path) -> None:
    """Calls that the library has nothing to do with."""
    note("open, close and pwrite")
    file = work / "existing"
    file.write_bytes(bytes(8192))
    environ = preloaded(plan)
    report("shim.open_close_ratio", ratio([calls, "open", file], environ, ROUNDS), "ratio")
    report("shim.pwrite8_ratio", ratio([calls, "pwrite", file], environ, ROUNDS), "ratio")


def creates(calls: Path, plan: Path, mock: Path) -> None:
    """Creates below the watched directory, on disk and then in memory: the plan knows the
    directory by its name, so that one name is given to both."""
    note("creates")
    environ = preloaded(plan)
    missed, planned = ([calls, "create", mock, stem] for stem in ("diag_", "ckpt_"))
    make_run(mock)
    report("shim.create_miss_ratio", ratio(missed, environ, ROUNDS // 4), "ratio")
    report("shim.create_hit_ratio", ratio(planned, environ, ROUNDS // 10), "ratio")
    counts(calls, environ, mock)
    if not os.access(MEMORY, os.W_OK):
        return
    mock.rename(mock.with_name("on-disk"))
    with tempfile.TemporaryDirectory(prefix="iez-bench-", dir=MEMORY) as directory:
        mock.symlink_to(directory)
        make_run(mock)
        report("shim.create_miss_tmpfs_ratio", ratio(missed, environ, ROUNDS), "ratio")
        mock.unlink()


def make_run(mock: Path) -> None:
    Path(plans.path(mock, 0)).parent.mkdir(parents=True)


def counts(calls: Path, environ: dict[str, str], mock: Path) -> None:
    """System calls of one create; the close is not counted."""
    cases = {"hit": ("ckpt_",), "miss": ("diag_",), "relative_miss": ("diag_", "relative")}
    for name, (stem, *more) in cases.items():
        each = []
        for _ in range(3):  # one process may make a call that another does not
            one, many = (
                counted([calls, "once", mock, stem, str(number), *more], environ)
                for number in (1, 21)
            )
            each.append((many - one) / 20 - 2)  # close and unlink
        report(f"shim.{name}_syscalls", statistics.median(each), "calls")


def lookups(lookup: Path, plan: Path, mock: Path) -> None:
    note("look-ups")
    for name in ("hit", "miss", "warm", "template", "memory"):
        report(f"plan.{name}_ns", lookup_ns([lookup, name, plan, mock]), "ns")
    for name in ("hit", "miss", "memory"):
        report(f"plan.{name}_latency_ns", lookup_ns([lookup, name, plan, mock, "alone"]), "ns")
    first = [lookup, "first", plan, mock]
    times = [int(subprocess.run(first, check=True, capture_output=True).stdout) for _ in range(200)]
    report("plan.first_use_us", statistics.median(times) / 1000, "us")


def lookup_ns(command: list[str | Path]) -> float:
    """Nanoseconds a look-up: the median over fresh processes of the median over batches."""
    medians = []
    for _ in range(5):
        with Worker(command) as worker:
            medians.append(statistics.median(worker.batch_ns() for _ in range(100)))
    return statistics.median(medians) / LOOKUPS[Path(command[0]).name]


def against_databases(lookup: Path, plan: Path, mock: Path, work: Path) -> None:
    """The same question put to a database, in turns with the plan."""
    with Worker([lookup, "hit", plan, mock, "alone"]) as ours:
        with databases.sqlite(mock, work) as command:
            compare("sqlite", ours, command)
        with databases.mariadb(mock, work) as command:
            compare("mariadb", ours, command)


def compare(name: str, ours: Worker, command: list[str | Path]) -> None:
    with Worker(command) as other:
        times = alternate(ours, other, 100)
    plan_ns = statistics.median(mine for mine, _ in times) / LOOKUPS["lookup"]
    other_ns = statistics.median(theirs for _, theirs in times) / LOOKUPS[f"lookup_{name}"]
    report(f"plan.{name}_ns", other_ns, "ns")
    report(f"plan.vs_{name}", other_ns / plan_ns, "ratio")


if __name__ == "__main__":
    main()
