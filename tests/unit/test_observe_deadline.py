"""Reads with a deadline, by real processes; a pipe without a writer stands in for a sick OST."""

import os
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lustre_trees import FakeOst, LustreMachine

from iez_client.filesystems import Mount
from iez_client.observe import deadline, readers
from iez_client.observe.deadline import ask_all
from iez_client.observe.facts import COUNT, Facts, Task
from iez_client.observe.trees import tasks_by_file_system

MARK = "TEST_OF_READERS"  # a variable by which a test knows its own


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LustreMachine]:
    monkeypatch.setenv(MARK, str(tmp_path))
    machine = LustreMachine(tmp_path)
    yield machine
    machine.heal()


def tasks(machine: LustreMachine) -> list[Task]:
    mounts = {"work": Mount("work", str(machine.mounts.parent))}
    return tasks_by_file_system(mounts, machine.roots)["work"]


def timed(asked: list[Task], limit_s: float) -> tuple[list[Facts | None], float]:
    start_s = time.monotonic()
    found = ask_all(asked, start_s + limit_s)
    return found, time.monotonic() - start_s


def readers_left() -> list[int]:
    """Reader processes of this test that have not ended."""
    mark = os.fsencode(f"{MARK}={os.environ[MARK]}\0")
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
            is_ours = b"iez_client.observe.readers" in words
            if is_ours and mark in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:  # it has ended, or is another user's
            continue
    return found


def until(condition: object, limit_s: float = 10.0) -> bool:
    assert callable(condition)
    end_s = time.monotonic() + limit_s
    while time.monotonic() < end_s:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_all_that_answer_are_done_at_once(machine: LustreMachine) -> None:
    machine.add(*(FakeOst(index, available_kib=1000 + index) for index in range(100)))
    found, took_s = timed(tasks(machine), 60)
    assert [each and each.available_bytes >> 10 for each in found] == list(range(1000, 1100))
    assert took_s < 30
    assert until(lambda: not readers_left())


def test_nothing_asked_is_nothing_done() -> None:
    assert ask_all([], time.monotonic() + 60) == []


def test_the_sick_do_not_stop_the_others(machine: LustreMachine) -> None:
    """More of them than there are readers at a time."""
    sick = readers.READERS + 4
    machine.add(*(FakeOst(index) for index in range(sick + 10)))
    for index in range(sick):
        machine.hang(index)
    found, took_s = timed(tasks(machine), 5.0)
    assert [bool(each and each.answered) for each in found] == [False] * sick + [True] * 10
    assert all(each and each.oss == "10.9.0.11@tcp" for each in found)
    assert 5.0 <= took_s < 30


def test_those_left_behind_hold_nothing_and_end_by_themselves(machine: LustreMachine) -> None:
    machine.add(FakeOst(0), FakeOst(1))
    machine.hang(0)
    timed(tasks(machine), 3.0)
    assert until(lambda: len(readers_left()) == 1)
    (pid,) = readers_left()
    assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
    held = [str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()]
    assert sum(name == "/dev/null" for name in held) == 3
    assert not any(name.startswith("pipe:") for name in held)
    assert len(held) == 4  # and the socket whose other end is gone
    assert int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) != os.getpid()
    machine.heal()
    assert until(lambda: not readers_left())


def test_a_deadline_that_has_passed_asks_nobody(machine: LustreMachine) -> None:
    machine.add(FakeOst(0))
    found, took_s = timed(tasks(machine), -1.0)
    assert found == [None]
    assert took_s < 30


def test_a_mount_that_is_not_lustre_is_found_out_there_too(tmp_path: Path) -> None:
    found, _ = timed([Task(COUNT, mount=str(tmp_path)), Task(0, mount=str(tmp_path))], 30)
    assert [each and each.error for each in found] == ["ENOTTY", "ENOTTY"]


def test_names_that_are_no_text_arrive(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"\xff mount")
    odd.mkdir()
    (found,), _ = timed([Task(COUNT, mount=str(odd))], 30)
    assert found is not None
    assert found.error == "ENOTTY"


def test_no_process_to_be_had_is_no_answer(
    machine: LustreMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add(FakeOst(0))
    monkeypatch.setattr(deadline.sys, "executable", "/nonexistent/python")
    assert timed(tasks(machine), 5)[0] == [None]


def test_a_reader_process_that_fails_is_no_answer(
    machine: LustreMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add(FakeOst(0))
    monkeypatch.setattr(deadline.sys, "executable", "/bin/false")
    assert timed(tasks(machine), 5)[0] == [None]


def test_few_files_to_be_had_are_few_readers(
    machine: LustreMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add(*(FakeOst(index) for index in range(40)))
    poor = tmp_path / "poor"
    poor.write_text(f'#!/bin/sh\nulimit -n 10\nexec {shlex.quote(sys.executable)} "$@"\n')
    poor.chmod(0o755)
    monkeypatch.setattr(deadline.sys, "executable", str(poor))
    found, _ = timed(tasks(machine), 60)
    assert all(each and each.answered and each.size_bytes for each in found)


def test_one_that_never_ends_is_ended(
    machine: LustreMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps no deadline of its own, and says half of a line."""
    machine.add(FakeOst(0))
    stuck = tmp_path / "stuck"
    stuck.write_text("#!/bin/sh\necho '0 {\"answered\": tr'\nexec sleep 600\n")
    stuck.chmod(0o755)
    monkeypatch.setattr(deadline.sys, "executable", str(stuck))
    monkeypatch.setattr(deadline, "_GRACE_S", 0.3)
    found, took_s = timed(tasks(machine), 0.2)
    assert found == [None]
    assert took_s < 30
