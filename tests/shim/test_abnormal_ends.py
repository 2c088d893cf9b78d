"""All writes are in the trace, however a process ends: 1000 of 1000."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import shim_environment
from coverage_libraries import LIBRARIES, compiler_of
from differential import COMPILE, patch_plan
from trace_reader import FileTrace, all_files, read_traces, record_events

HERE = Path(__file__).parent / "ends"
WRITES = 1000
BYTES = 8
TIMEOUT_S = 60
RANKS = 2
ENDS = ("exit", "_exit", "quick_exit", "abort", "sigterm", "sigsegv", "sigkill", "exec")
FORKS = ("fork_child", "fork_parent", "fork_both", "fork_killed", "vfork", "exec_and_go_on")
Build = Callable[..., Path]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("ends") / "ends"
    subprocess.run([*COMPILE, str(HERE / "ends.c"), "-o", str(program)], check=True)
    return program


@pytest.fixture(params=["counters", "events"])
def plan(request: pytest.FixtureRequest, mock_plan: Build, work: Path) -> Path:
    plan = mock_plan(work)
    return record_events(plan) if request.param == "events" else plan


def run(
    program: Path, way: str, end: str, folder: Path, environ: dict[str, str]
) -> tuple[int, str]:
    for path in folder.iterdir():
        path.unlink()
    done = subprocess.run(
        [str(program), way, end],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def files_named(plan: Path, path: Path) -> list[FileTrace]:
    return [file for file in all_files(plan.parent) if file.path == str(path)]


def assert_all_written(plan: Path, path: Path, writes: int = WRITES) -> None:
    files = files_named(plan, path)
    assert sum(file.writes for file in files) == writes
    assert sum(file.layer_bytes["POSIX"] for file in files) == writes * BYTES
    assert sum(n for file in files for n in file.sizes.values()) == writes
    assert max(file.write_end for file in files) == path.stat().st_size
    events = [event for file in files for event in file.events]
    with_events = plan_has_events(plan)
    assert len(events) == (writes if with_events else 0)
    if with_events and writes == WRITES:
        assert sorted(event.offset or 0 for event in events) == [BYTES * i for i in range(WRITES)]
    for trace in read_traces(plan.parent):
        assert not any(trace.dropped.values())


def plan_has_events(plan: Path) -> bool:
    found = []

    def look(_image: bytearray, header: object) -> None:
        found.append(bool(header.trace_events))

    patch_plan(plan, look)
    return found[0]


@pytest.mark.parametrize("end", ENDS)
def test_a_process_ends(end: str, program: Path, plan: Path, work: Path) -> None:
    plain = run(program, "plain", end, work, dict(os.environ))
    assert run(program, "plain", end, work, shim_environment(plan)) == plain
    assert_all_written(plan, work / "data")


@pytest.mark.parametrize("end", ["exit", "sigkill"])
@pytest.mark.parametrize("way", [*FORKS, "threads", "handler_jumps_out"])
def test_forks_threads_and_jumps(way: str, end: str, program: Path, plan: Path, work: Path) -> None:
    plain = run(program, way, end, work, dict(os.environ))
    assert run(program, way, end, work, shim_environment(plan)) == plain
    assert_all_written(plan, work / "data")


def test_one_trace_a_process(program: Path, plan: Path, work: Path) -> None:
    for way, processes in {"threads": 1, "vfork": 1, "fork_both": 2, "fork_child": 2}.items():
        for path in plan.parent.glob("*.trace"):
            path.unlink()
        run(program, way, "exit", work, shim_environment(plan))
        assert len(read_traces(plan.parent)) == processes, way


def test_a_handler_writes_while_its_thread_writes(program: Path, plan: Path, work: Path) -> None:
    status, said = run(program, "handler_writes", "sigkill", work, shim_environment(plan))
    assert status == -9
    assert_all_written(plan, work / "data", int(said))


@pytest.mark.mpi
@pytest.mark.parametrize("library", LIBRARIES)
def test_one_rank_is_killed(library: str, plan: Path, work: Path, tmp_path: Path) -> None:
    (tmp_path / "mpi").mkdir()
    mpi = LIBRARIES[library](tmp_path / "mpi")
    program = tmp_path / "killed_rank"
    compile_it = [compiler_of(mpi), str(HERE / "killed_rank.c"), "-o", str(program)]
    subprocess.run(compile_it, check=True)
    done = subprocess.run(
        mpi.launch(RANKS, program, work),
        env=shim_environment(plan, **mpi.env),
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode != 0
    assert {trace.world for trace in read_traces(plan.parent)} == {(0, RANKS), (1, RANKS)}
    for rank in range(RANKS):
        assert_all_written(plan, work / f"rank.{rank}")
