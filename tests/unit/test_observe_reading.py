"""What one OST says: the files of each release, servers, states, the ioctl behind them."""

import errno
import os
from pathlib import Path

import pytest
from lustre_kernel import FakeKernel, FakeStatfs
from lustre_trees import RELEASES, SERVER, SYS, FakeOst, LustreMachine

from iez_client.filesystems import Mount
from iez_client.observe import reading
from iez_client.observe.facts import Facts, Task
from iez_client.observe.trees import tasks_by_file_system

GIB = 1 << 30


def ask(machine: LustreMachine, index: int = 0, kernel: FakeKernel | None = None) -> Facts:
    tasks = tasks_by_file_system({"work": Mount("work", "/")}, machine.roots)["work"]
    task = next(task for task in tasks if task.index == index)
    if kernel is None:
        return list(reading.ask(Task(task.index, task.instances)))[-1]
    return list(reading.ask(task, kernel))[-1]


@pytest.fixture
def machine(tmp_path: Path) -> LustreMachine:
    return LustreMachine(tmp_path)


@pytest.mark.parametrize("release", RELEASES)
def test_every_release_tells_space_and_server(tmp_path: Path, release: str) -> None:
    machine = LustreMachine(tmp_path, release)
    machine.add(FakeOst(0), FakeOst(0x1F, available_kib=7 << 20, nid="172.16.1.4@o2ib1"))
    source = "proc" if release == "2.10" else "sys"
    assert ask(machine) == Facts(
        answered=True,
        oss="10.9.0.11@tcp",
        size_bytes=100 * GIB,
        available_bytes=50 * GIB,
        used_bytes=40 * GIB,
        files_free=1_000_000,
        source=source,
    )
    other = ask(machine, 0x1F)
    assert (other.oss, other.available_bytes) == ("172.16.1.4@o2ib1", 7 * GIB)


@pytest.mark.parametrize("release", [each for each in RELEASES if each != "2.17"])
def test_a_server_that_the_client_has_lost_is_not_asked(tmp_path: Path, release: str) -> None:
    """Its state stands in another tree than its sizes from 2.12 on."""
    machine = LustreMachine(tmp_path, release)
    machine.add(FakeOst(0, import_state="DISCONN"), FakeOst(1, import_state="IDLE"))
    assert ask(machine).error == "ENOTCONN"
    assert ask(machine, 1).size_bytes


def test_a_debugfs_that_can_be_read_is_used(tmp_path: Path) -> None:
    machine = LustreMachine(tmp_path)
    machine.add(FakeOst(0, nid=""))
    debug = machine.directory(0, 2)
    if debug.exists():
        debug.chmod(0o700)
    debug.mkdir(parents=True, exist_ok=True)
    for name in SERVER:
        (debug / name).unlink(missing_ok=True)
        (debug / name).write_text(FakeOst(0).texts("work")[name])
    assert ask(machine).oss == "10.9.0.11@tcp"


@pytest.mark.parametrize(
    ("letters", "states"),
    [
        ("", ()),
        ("D", ("degraded",)),
        ("N", ("no-create",)),
        ("R", ("read-only",)),
        ("S", ("full",)),
        ("I", ("full",)),
        ("DRNSI", ("degraded", "full", "no-create", "read-only")),
        ("x?D", ("degraded",)),
    ],
)
def test_letters_of_the_state_file(
    machine: LustreMachine, letters: str, states: tuple[str, ...]
) -> None:
    machine.add(FakeOst(0, letters=letters))
    assert ask(machine).states == states


@pytest.mark.parametrize("nid", ["<none>", "0@lo", ""])
def test_a_server_that_cannot_be_told(machine: LustreMachine, nid: str) -> None:
    machine.add(FakeOst(0, nid=nid))
    found = ask(machine)
    assert (found.oss, found.error, found.size_bytes) == ("", "", 100 * GIB)


def test_the_other_name_of_the_servers_file(machine: LustreMachine) -> None:
    machine.add(FakeOst(0))
    directory = machine.directory(0)
    (directory / "ost_conn_uuid").rename(directory / "conn_uuid")
    assert ask(machine).oss == "10.9.0.11@tcp"


def test_an_ost_that_is_switched_off_is_not_asked(machine: LustreMachine) -> None:
    machine.add(FakeOst(0, active="0"))
    machine.hang(0)
    found = ask(machine)
    assert (found.is_inactive, found.answered, found.size_bytes) == (True, True, 0)


def test_of_several_mounts_the_first_live_one_is_read(machine: LustreMachine) -> None:
    """And an OST that is switched off in one of them is not to be used."""
    machine.add(FakeOst(0, active="0"), FakeOst(1), FakeOst(2), instance="ff11")
    machine.add(FakeOst(0, available_kib=5), FakeOst(1, available_kib=6), instance="ff12")
    off, both, one = (ask(machine, index) for index in range(3))
    assert (off.is_inactive, off.available_bytes) == (True, 5 << 10)
    assert (both.is_inactive, both.available_bytes) == (False, 50 * GIB)
    assert (one.is_inactive, one.available_bytes) == (True, 50 * GIB)


def test_devices_of_a_metadata_server_are_not_a_clients(machine: LustreMachine) -> None:
    machine.add(FakeOst(0))
    machine.add(FakeOst(1), instance="MDT0000")
    machine.add(FakeOst(2), fs_name="other")
    (task,) = tasks_by_file_system({"work": Mount("work", "/")}, machine.roots)["work"]
    assert (task.index, len(task.instances)) == (0, 1)


@pytest.mark.parametrize(("number", "is_inactive"), [(errno.ESHUTDOWN, True), (errno.EIO, False)])
def test_an_ost_that_answers_with_an_error(
    machine: LustreMachine, monkeypatch: pytest.MonkeyPatch, number: int, is_inactive: bool
) -> None:
    machine.add(FakeOst(0))
    real = os.open

    def fail(path: str, flags: int) -> int:
        if str(path).endswith("kbytestotal"):
            raise OSError(number, os.strerror(number))
        return real(path, flags)

    monkeypatch.setattr(reading.os, "open", fail)
    found = ask(machine, kernel=FakeKernel({0: FakeStatfs()}))
    assert (found.is_inactive, found.error) == (is_inactive, errno.errorcode[number])
    assert (found.oss, found.size_bytes) == ("10.9.0.11@tcp", 0)


@pytest.mark.parametrize("text", ["", "nonsense\n", "-5\n", "0\n", "١\n"])
def test_sizes_that_make_no_sense_are_asked_for_by_ioctl(machine: LustreMachine, text: str) -> None:
    machine.add(FakeOst(0))
    file = machine.directory(0) / "kbytestotal"
    file.unlink()
    file.write_text(text)
    found = ask(machine, kernel=FakeKernel({0: FakeStatfs(state=0x2)}))
    assert (found.source, found.size_bytes, found.used_bytes) == ("ioctl", 4 * GIB, 2 * GIB)
    assert (found.oss, found.states) == ("10.9.0.11@tcp", ("read-only",))
    assert ask(machine).error == "ENOENT"


@pytest.mark.parametrize(
    ("state", "states"),
    [(0, ()), (0x1, ("degraded",)), (0x64, ("full", "no-create")), (0x300, ())],
)
def test_state_bits_of_the_ioctl(state: int, states: tuple[str, ...]) -> None:
    kernel = FakeKernel({4: FakeStatfs(state=state)})
    found = list(reading.ask(Task(4, mount="/"), kernel))[-1]
    assert (found.answered, found.states, found.files_free) == (True, states, 10_000)


@pytest.mark.parametrize(
    ("index", "error", "is_inactive"),
    [(1, "EAGAIN", False), (2, "ENODATA", True), (3, "EIO", False), (99, "ENODEV", False)],
)
def test_refusals_of_the_ioctl(index: int, error: str, is_inactive: bool) -> None:
    kernel = FakeKernel({0: FakeStatfs(), 2: "ENODATA", 3: "EIO"})
    found = list(reading.ask(Task(index, mount="/"), kernel))[-1]
    assert (found.answered, found.error, found.is_inactive) == (True, error, is_inactive)


def test_a_mount_that_cannot_be_opened(tmp_path: Path) -> None:
    assert list(reading.ask(Task(0, mount=f"{tmp_path}/none")))[-1].error == "ENOENT"


def test_what_the_client_knows_comes_before_what_may_hang(machine: LustreMachine) -> None:
    machine.add(FakeOst(0))
    machine.hang(0)
    (task,) = tasks_by_file_system({"work": Mount("work", "/")}, machine.roots)["work"]
    steps = reading.ask(task)
    assert next(steps) == Facts(oss="10.9.0.11@tcp")
    assert (machine.directory(0, SYS) / "kbytestotal").is_fifo()
