"""The trace keeps within its bounds, and the job goes on where there is no room for it."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import shim_environment
from differential import COMPILE
from trace_reader import Trace, read_traces, record_events

SOURCE = Path(__file__).parent / "bounds" / "files.c"
BYTES = 8
MEGABYTE = 1 << 20
TIMEOUT_S = 60
ROOT_ONLY = pytest.mark.skipif(os.getuid() != 0, reason="mounts a file system")
SAID = "iez: no space is left for the trace; the job goes on, not all of it is recorded\n"
Build = Callable[..., Path]
Mount = Callable[..., Path]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("bounds") / "files"
    subprocess.run([*COMPILE, str(SOURCE), "-o", str(program)], check=True)
    return program


@pytest.fixture
def mounted_plan(mock_plan: Build, work: Path, tmp_path: Path) -> Iterator[Mount]:
    """Puts a plan, and with it the traces, on a file system of their own."""
    folder = tmp_path / "mounted"
    folder.mkdir()

    def mount(kind: str, *options: str, events: bool = False) -> Path:
        command = ["mount", "-t", kind, *options, "iez-test", str(folder)]
        subprocess.run(command, check=True)
        plan = mock_plan(work)
        if events:
            record_events(plan)
        return Path(shutil.copy(plan, folder / "the.plan"))

    yield mount
    subprocess.run(["umount", str(folder)], check=True)


def run(program: Path, words: str, work: Path, environ: dict[str, str]) -> tuple[int, str, str]:
    """Status, output, errors; the directory is empty before it."""
    for path in work.iterdir():
        path.unlink()
    done = subprocess.run(
        [str(program), *words.split()],
        cwd=work,
        env=environ,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def run_same(program: Path, words: str, work: Path, plan: Path) -> str:
    """Runs it without and with the library; what the library said."""
    plain = run(program, words, work, dict(os.environ))
    traced = run(program, words, work, shim_environment(plan))
    assert plain[2] == ""
    assert traced[0] == plain[0]
    assert traced[1].splitlines()[:1] == plain[1].splitlines()[:1]  # the rest is memory
    return traced[2]


def memory_bytes(output: str) -> int:
    return sum(int(kib) << 10 for kib in re.findall(r"^Rss\w+ (\d+)$", output, re.MULTILINE))


def the_trace(plan: Path) -> Trace:
    (trace,) = read_traces(plan.parent)
    return trace


def assert_whole(trace: Trace, files: int) -> None:
    assert len(trace.files) == files
    assert {(file.writes, file.bytes, file.write_end) for file in trace.files} == {
        (1, BYTES, BYTES)
    }
    assert not any(trace.dropped.values())


def test_ten_thousand_files_take_little_memory(program: Path, mock_plan: Build, work: Path) -> None:
    plan = mock_plan(work)
    plain = run(program, "10000", work, dict(os.environ))
    traced = run(program, "10000", work, shim_environment(plan))
    trace = the_trace(plan)
    assert_whole(trace, 10000)
    assert {file.size_bytes for file in trace.files} == {BYTES}
    # Pages of the trace that are resident count among those of files.
    growth = memory_bytes(traced[1]) - memory_bytes(plain[1])
    assert growth <= 5 * MEGABYTE
    allocated = (plan.parent / trace.name).stat().st_blocks * 512
    assert allocated <= 5 * MEGABYTE


def test_a_process_that_touches_nothing_has_no_trace(
    program: Path, mock_plan: Build, work: Path, tmp_path: Path
) -> None:
    plan = mock_plan(work)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert run_same(program, "100", elsewhere, plan) == ""
    assert not list(plan.parent.glob("*.trace"))
    assert run_same(program, "1", work, plan) == ""
    assert len(list(plan.parent.glob("*.trace"))) == 1


@ROOT_ONLY
@pytest.mark.parametrize("events", [False, True], ids=["counters", "events"])
def test_a_disk_that_fills_ends_tracing_and_not_the_job(
    events: bool, program: Path, mounted_plan: Mount, work: Path
) -> None:
    plan = mounted_plan("tmpfs", "-o", "size=128k", events=events)
    assert run_same(program, "1000", work, plan) == SAID
    trace = the_trace(plan)
    assert 50 < len(trace.files) < 1000
    assert trace.dropped["files"] == 1000 - len(trace.files)
    written = sum(file.writes for file in trace.files)
    assert (trace.dropped["writes"], trace.dropped["bytes"]) == (
        1000 - written,
        (1000 - written) * BYTES,
    )
    if events:
        recorded = sum(len(file.events) for file in trace.files)
        assert trace.dropped["events"] == written - recorded


@ROOT_ONLY
def test_a_full_disk_is_said_once(program: Path, mounted_plan: Mount, work: Path) -> None:
    plan = mounted_plan("tmpfs", "-o", "size=8k")
    (plan.parent / "filler").write_bytes(b"\0" * 4096)
    assert run_same(program, "20", work, plan) == SAID
    assert not list(plan.parent.glob("*.trace"))
    assert run_same(program, "20", work, plan) == ""  # one line for the whole job


@ROOT_ONLY
@pytest.mark.parametrize("events", [False, True], ids=["counters", "events"])
@pytest.mark.parametrize("end", ["exit", "kill", "open"])
def test_a_file_system_that_may_kill_is_written_to_with_care(
    end: str, events: bool, program: Path, mounted_plan: Mount, work: Path
) -> None:
    """Not known to keep its blocks. What was closed is there, even if the process is killed."""
    plan = mounted_plan("ramfs", events=events)
    assert run_same(program, f"500 {end}", work, plan) == ""
    trace = the_trace(plan)
    assert_whole(trace, 500)
    assert {file.size_bytes for file in trace.files} == {BYTES}
    assert sum(len(file.events) for file in trace.files) == (500 if events else 0)


def test_twelve_descriptors(program: Path, mock_plan: Build, work: Path) -> None:
    plan = mock_plan(work)
    assert run_same(program, "30 open nofile 12", work, plan) == ""
    assert_whole_of_written(the_trace(plan), 9)


def assert_whole_of_written(trace: Trace, files: int) -> None:
    """Files that could not be opened may be known."""
    trace.files = [file for file in trace.files if file.opens]
    assert_whole(trace, files)


def test_little_address_space(program: Path, mock_plan: Build, work: Path) -> None:
    plan = mock_plan(work)
    assert run_same(program, f"3000 exit as {256 * MEGABYTE}", work, plan) == ""
    assert_whole(the_trace(plan), 3000)


def test_a_limit_of_file_size_ends_the_trace(program: Path, mock_plan: Build, work: Path) -> None:
    """Not the job: a write beyond it would be answered with SIGXFSZ."""
    plan = mock_plan(work)
    assert run_same(program, "10 exit fsize 4096", work, plan) == ""
    assert not list(plan.parent.glob("*.trace"))
    assert run_same(program, f"1000 exit fsize {100 << 10}", work, plan) == ""
    trace = the_trace(plan)
    assert 50 < len(trace.files) < 1000
    assert trace.dropped["files"] == 1000 - len(trace.files)
