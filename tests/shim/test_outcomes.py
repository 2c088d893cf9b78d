"""Outcomes: in the trace of each process that created something, whatever becomes of it."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import build_plan, shim_environment

from iez_client.place import read_outcomes
from iez_common._core import ffi

Build = Callable[..., Path]
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def plan(work: Path, mock_plan: Build) -> Path:
    return mock_plan(work, [(f"{work}/planned/**", 2, "1M", "3 1", "")])


def test_a_child_of_fork_counts_for_itself(work: Path, plan: Path, run_with_shim: Run) -> None:
    """The parent has its file already when it forks."""
    script = "mkdir planned; echo x > planned/parent; " + "".join(
        f"(echo x > planned/a{n}; echo y > planned/b{n}) & " for n in range(5)
    )
    assert run_with_shim(["bash", "-c", f"{script} wait"], plan, cwd=work).returncode == 0
    outcomes = read_outcomes(plan.parent)
    assert (outcomes["IEZ_PLACED"], outcomes.process_count) == (11, 6)
    files = list(plan.parent.glob("*.trace"))
    pids = {ffi.from_buffer("struct iez_trace_header *", f.read_bytes()).pid for f in files}
    assert pids == {int(file.name.split(".")[-3]) for file in files}


def test_outcomes_survive_a_killed_process(work: Path, plan: Path, run_with_shim: Run) -> None:
    script = "mkdir planned; echo x > planned/a; echo x > planned/b; echo x > miss; kill -9 $$"
    assert run_with_shim(["bash", "-c", script], plan, cwd=work).returncode == -9
    outcomes = read_outcomes(plan.parent)
    assert (outcomes["IEZ_PLACED"], outcomes["IEZ_MISSED"]) == (2, 1)


def test_a_process_that_touches_nothing_there_leaves_no_file(
    work: Path, plan: Path, tmp_path: Path, run_with_shim: Run
) -> None:
    script = f"echo text; echo x > {tmp_path}/elsewhere; cat {tmp_path}/elsewhere; ls > /dev/null"
    assert run_with_shim(["bash", "-c", script], plan, cwd=work).stdout == "text\nx\n"
    assert not list(plan.parent.glob("*.trace"))


def test_every_reason_is_counted(work: Path, plan: Path, run_with_shim: Run) -> None:
    (work / "planned").mkdir()
    (work / "planned/full").write_text("text")
    (work / "planned/link").symlink_to("target")
    script = "cd planned; echo x > new; echo x > full; echo x > link; echo x > ../miss"
    assert run_with_shim(["bash", "-c", script], plan, cwd=work).returncode == 0
    outcomes = read_outcomes(plan.parent)
    counted = {name: outcomes[f"IEZ_{name}"] for name in ("PLACED", "EXISTED", "SYMLINK", "MISSED")}
    assert counted == {"PLACED": 1, "EXISTED": 1, "SYMLINK": 1, "MISSED": 1}


def test_where_no_outcome_can_be_written_the_job_goes_on(work: Path, plan: Path) -> None:
    """The plan's directory is gone by the time of the first create."""
    (work / "planned").mkdir()
    script = f"mv {plan.parent} {plan.parent}.gone; cd planned; echo x > a; echo x > b; echo *"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=work,
        env=shim_environment(plan),
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("a b\n", "")


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a file system")
def test_outcomes_are_kept_where_a_store_to_a_mapped_file_could_kill(
    work: Path, tmp_path: Path, run_with_shim: Run
) -> None:
    """ramfs stands for all file systems that are not known to keep their blocks."""
    where = tmp_path / "run"
    where.mkdir()
    subprocess.run(["mount", "-t", "ramfs", "ramfs", where], check=True)
    try:
        plan = build_plan(where / "plan", work, [(f"{work}/**", 2, "1M", "3 1", "")])
        script = "echo x > a; echo x > b; (echo x > c); kill -9 $$"
        assert run_with_shim(["bash", "-c", script], plan, cwd=work).returncode == -9
        outcomes = read_outcomes(where)
        assert (outcomes["IEZ_PLACED"], outcomes.process_count) == (3, 2)
    finally:
        subprocess.run(["umount", where], check=True)
