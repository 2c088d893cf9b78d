"""A plan that is replaced while processes run."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import shim_environment
from differential import XATTR, patch_plan

LOOP = """
import os, sys, time
for number in range(int(sys.argv[1])):
    os.close(os.open(f"f{number}", os.O_CREAT | os.O_WRONLY))
    print(number, flush=True)
    time.sleep(0.02)
"""
MakePlan = Callable[..., Path]


def ost_of(file: Path) -> int:
    """The first OST of a file's layout: behind a header of 48 bytes, at byte 20 of its object."""
    return os.getxattr(file, XATTR)[48 + 20]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IEZ_REFRESH_MS", "100")
    work = tmp_path / "mock"
    work.mkdir()
    return work


def run_job(work: Path, plan: Path, at: dict[int, Callable[[], object]]) -> tuple[list[int], str]:
    """A job of 100 files in two seconds; when file number N is there, at[N] is done."""
    job = subprocess.Popen(
        [sys.executable, "-c", LOOP, "100"], cwd=work, env=shim_environment(plan), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert job.stdout is not None
    for line in job.stdout:
        at.get(int(line), lambda: None)()
    _, errors = job.communicate(timeout=60)
    assert job.returncode == 0
    return [ost_of(work / f"f{n}") for n in range(100)], errors


def test_a_new_plan_is_picked_up(work: Path, mock_plan: MakePlan) -> None:
    first = mock_plan(work, [(f"{work}/**", 1, "1M", "3", "")])
    second = mock_plan(work, [(f"{work}/**", 1, "1M", "5", "")])
    osts, errors = run_job(work, first, {30: lambda: second.rename(first)})
    assert errors == ""
    assert set(osts[:30]) == {3}
    assert set(osts[60:]) == {5}
    assert sorted(osts) == osts, "never back to the old one"


def test_a_broken_new_plan_leaves_the_old_one_in_force(work: Path, mock_plan: MakePlan) -> None:
    first = mock_plan(work, [(f"{work}/**", 1, "1M", "3", "")])
    broken = mock_plan(work, [(f"{work}/**", 1, "1M", "5", "")])
    broken.write_bytes(broken.read_bytes()[:-1])
    osts, errors = run_job(work, first, {20: lambda: broken.rename(first)})
    assert set(osts) == {3}
    (line,) = errors.splitlines()
    assert line.startswith("iez: plan ")


def test_a_plan_that_is_taken_away_stays_in_force(work: Path, mock_plan: MakePlan) -> None:
    plan = mock_plan(work, [(f"{work}/**", 1, "1M", "3", "")])
    osts, errors = run_job(work, plan, {20: plan.unlink})
    assert set(osts) == {3}
    assert errors == ""


def test_a_plan_that_is_not_to_be_refreshed_stays(work: Path, mock_plan: MakePlan) -> None:
    first = mock_plan(work, [(f"{work}/**", 1, "1M", "3", "")])
    second = mock_plan(work, [(f"{work}/**", 1, "1M", "5", "")])
    patch_plan(first, lambda image, header: setattr(header, "refresh_ms", 0))
    osts, _ = run_job(work, first, {20: lambda: second.rename(first)})
    assert set(osts) == {3}


def test_many_generations(work: Path, mock_plan: MakePlan, tmp_path: Path) -> None:
    """More of them than a process keeps: the last one it took stays in force."""
    plan = mock_plan(work, [(f"{work}/**", 1, "1M", "3", "")])
    patch_plan(plan, lambda image, header: setattr(header, "refresh_ms", 1))
    image = mock_plan(work, [(f"{work}/**", 1, "1M", "5", "")]).read_bytes()

    def replace(number: int) -> None:
        copy = tmp_path / f"copy{number}"
        copy.write_bytes(image)
        copy.chmod(0o600)

        def change(_: bytearray, header: object) -> None:
            header.generation += number
            header.refresh_ms = 1

        patch_plan(copy, change).rename(plan)

    osts, errors = run_job(work, plan, {n: lambda n=n: replace(n) for n in range(1, 90)})
    assert errors == ""
    assert osts[0] == 3
    assert set(osts[10:]) == {5}
