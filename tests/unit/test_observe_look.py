"""One look at all OSTs: file systems that only the ioctl can tell, who is asked when, and what is
kept of those that do not answer. The kernel is a stand-in, asked in this process: a real reader
process would ask the real one."""

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from lustre_kernel import FakeKernel, FakeStatfs
from lustre_trees import RELEASES, FakeOst, LustreMachine

from iez_client.filesystems import Mount
from iez_client.observe import look as module
from iez_client.observe import reading
from iez_client.observe.cache import SeenFileSystem, SeenOst
from iez_client.observe.facts import COUNT, Facts, Task
from iez_client.observe.look import look, settle
from iez_client.observe.statfs import Ioctl

GIB = 1 << 30
MOUNTS = {"work": Mount("work", "/")}
See = Callable[..., SeenFileSystem]


class Asked:
    """Asks every task in turn; of those in `silent` nothing is known but that they were asked, and
    `limit` tasks a round are all that there is time for."""

    def __init__(self, ioctl: Ioctl, silent: Sequence[int] = (), limit: int = 100_000) -> None:
        self.ioctl = ioctl
        self.silent = silent
        self.limit = limit
        self.indices: list[int] = []

    def __call__(self, tasks: Sequence[Task], until_s: float) -> list[Facts | None]:
        done = list(tasks)[: self.limit]
        self.indices += [task.index for task in done]
        facts = [Facts() if task.index in self.silent else self.ask(task) for task in done]
        return [*facts, *[None] * (len(tasks) - len(done))]

    def ask(self, task: Task) -> Facts:
        return list(reading.ask(task, self.ioctl))[-1]


def refusing(name: str) -> Ioctl:
    def ioctl(descriptor: int, request: int, buffer: bytearray, writes: bool) -> int:
        number = getattr(errno, name)
        raise OSError(number, os.strerror(number))

    return ioctl


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LustreMachine:
    machine = LustreMachine(tmp_path)
    machine.install(monkeypatch)
    return machine


@pytest.fixture
def see(machine: LustreMachine, monkeypatch: pytest.MonkeyPatch) -> See:
    """A look at that machine, at the time 1000."""

    def see(asked: Asked, before: SeenFileSystem | None = None) -> SeenFileSystem:
        monkeypatch.setattr(module, "ask_all", asked)
        return look(MOUNTS, {"work": before} if before else {}, 0.0, lambda: 1000.0)["work"]

    return see


def test_without_trees_the_ioctl_finds_every_ost_in_spite_of_holes(see: See) -> None:
    osts = {0: FakeStatfs(), 3: FakeStatfs(state=0x1), 70: FakeStatfs(available=1 << 19)}
    asked = Asked(FakeKernel(osts))
    seen = see(asked)
    assert seen.trouble == ""
    assert [(ost.index, ost.available_bytes >> 30, ost.states) for ost in seen.osts] == [
        (0, 1, ()),
        (3, 1, ("degraded",)),
        (70, 2, ()),
    ]
    assert {(ost.source, ost.oss, ost.time_s) for ost in seen.osts} == {("ioctl", "", 1000.0)}
    # The table's length is not known before: 128 is its end.
    assert asked.indices == [COUNT, *range(128)]


def test_more_osts_than_a_step_of_the_table_are_asked_at_once(see: See) -> None:
    asked = Asked(FakeKernel({index: FakeStatfs() for index in range(100)}))
    assert len(see(asked).osts) == 100
    assert asked.indices == [COUNT, *range(128)]


def test_a_count_that_is_too_high_ends_with_the_table(see: See) -> None:
    kernel = FakeKernel({0: FakeStatfs(), 1: "EAGAIN", 2: FakeStatfs()})  # it counts three
    assert [ost.index for ost in see(Asked(kernel)).osts] == [0, 2]


def test_an_ost_in_trouble_is_marked_and_the_others_are_seen(see: See) -> None:
    kernel = FakeKernel({0: FakeStatfs(), 1: "ENODATA", 2: "EIO", 3: FakeStatfs(), 4: FakeStatfs()})
    seen = see(Asked(kernel, silent=[3]))
    assert {ost.index: ost.states for ost in seen.osts} == {
        0: (),
        1: ("inactive",),
        2: ("unreachable",),
        3: ("unreachable",),
        4: (),
    }
    assert [ost.index for ost in seen.osts if ost.is_silent] == [2, 3]
    assert seen.trouble == ""


@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("ENOTTY", "it does not answer as Lustre does"),
        ("EACCES", "its OSTs are hidden, and this user may not open the mount point"),
        ("EIO", "it cannot be asked: input/output error"),
    ],
)
def test_a_file_system_whose_osts_cannot_be_told_says_why(
    see: See, name: str, trouble: str
) -> None:
    assert see(Asked(refusing(name))) == SeenFileSystem(1000.0, (), trouble)


def test_a_count_of_none_is_said(see: See) -> None:
    assert see(Asked(FakeKernel({}))).trouble == "it has no OSTs"


@pytest.mark.parametrize("asked", [Asked(FakeKernel({}), limit=0), Asked(FakeKernel({}), [COUNT])])
def test_a_mount_that_hangs_keeps_the_osts_that_it_had(see: See, asked: Asked) -> None:
    last = SeenOst(5, 100, 60, 40, 900.0, "", (), "ioctl")
    seen = see(asked, SeenFileSystem(900.0, (last,)))
    assert seen.trouble == "no answer before the deadline"
    (ost,) = seen.osts
    assert (ost.index, ost.available_bytes, ost.time_s) == (5, 60, 900.0)
    assert ost.states == ("unreachable",)


def test_a_walk_that_runs_out_of_time_says_so_and_forgets_nobody(see: See) -> None:
    kernel = FakeKernel({index: FakeStatfs() for index in range(10)})
    before = see(Asked(kernel))
    seen = see(Asked(kernel, limit=4), before)
    assert seen.trouble == "no answer before the deadline"
    assert [ost.index for ost in seen.osts] == list(range(10))
    assert [ost.states for ost in seen.osts] == [()] * 4 + [("unreachable",)] * 6
    assert all(ost.size_bytes == 4 * GIB for ost in seen.osts)


def test_those_that_were_silent_are_asked_last_and_those_not_asked_are_not(
    machine: LustreMachine, see: See
) -> None:
    """Otherwise a great many sick OSTs would take every turn of the healthy ones for ever."""
    machine.add(*(FakeOst(index) for index in range(6)))
    kernel = FakeKernel({})
    first = see(Asked(kernel, silent=[0, 1], limit=3))
    assert [ost.states for ost in first.osts] == [("unreachable",)] * 2 + [()] + [
        ("unreachable",)
    ] * 3
    asked = Asked(kernel, silent=[0, 1], limit=5)
    second = see(asked, first)
    assert asked.indices == [2, 3, 4, 5, 0]
    assert [ost.index for ost in second.osts if not ost.states] == [2, 3, 4, 5]


@pytest.mark.parametrize("release", RELEASES)
def test_states_that_no_tree_tells_come_from_the_ioctl_after_all_sizes(
    release: str, tmp_path: Path, see: See, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = LustreMachine(tmp_path, release)
    machine.install(monkeypatch)
    machine.add(FakeOst(0, letters="D"), FakeOst(1), FakeOst(2, letters="N"))
    kernel = FakeKernel({0: FakeStatfs(state=0x1), 1: FakeStatfs(), 2: FakeStatfs(state=0x4)})
    asked = Asked(kernel)
    seen = see(asked)
    assert [ost.states for ost in seen.osts] == [("degraded",), (), ("no-create",)]
    assert {ost.size_bytes for ost in seen.osts} == {100 * GIB}
    assert asked.indices == [0, 1, 2] * (1 if release == "2.17" else 2)
    assert kernel.asked == ([] if release == "2.17" else [0, 1, 2])


@pytest.mark.parametrize("asked", [Asked(refusing("ENOTTY")), Asked(FakeKernel({}), limit=1)])
def test_without_an_ioctl_there_are_sizes_all_the_same(
    asked: Asked, tmp_path: Path, see: See, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = LustreMachine(tmp_path, "2.15")
    machine.install(monkeypatch)
    machine.add(FakeOst(0))
    (ost,) = see(asked).osts
    assert (ost.size_bytes, ost.states, ost.source) == (100 * GIB, (), "sys")


def test_an_ost_that_has_left_the_trees_is_gone(machine: LustreMachine, see: See) -> None:
    machine.add(FakeOst(0))
    before = SeenFileSystem(900.0, (SeenOst(7, 100, 60, 40, 900.0, "", (), "sys"),))
    assert [ost.index for ost in see(Asked(FakeKernel({})), before).osts] == [0]


def test_a_look_is_as_young_as_its_end_and_its_sizes_as_old_as_its_beginning(
    machine: LustreMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look that waits for a sick OST would be stale at once, and the next would wait again."""
    machine.add(FakeOst(0))
    monkeypatch.setattr(module, "ask_all", Asked(FakeKernel({})))
    times = iter([1000.0, 1005.0])
    seen = look(MOUNTS, {}, 0.0, lambda: next(times))["work"]
    assert (seen.time_s, seen.osts[0].time_s) == (1005.0, 1000.0)


def test_no_sizes_now_leave_the_last_ones_with_their_time_and_server() -> None:
    last = SeenOst(2, 100, 60, 40, 900.0, "10.0.0.7@tcp", ("degraded",), "sys")
    kept = SeenOst(2, 100, 60, 40, 900.0, "10.0.0.7@tcp", ("unreachable",), "sys", is_silent=True)
    assert settle(2, Facts(), last, 1000.0) == kept
    assert settle(2, Facts(answered=True, error="EIO"), last, 1000.0) == kept
    moved = settle(2, Facts(oss="10.0.0.8@tcp"), last, 1000.0)
    assert (moved.oss, moved.available_bytes) == ("10.0.0.8@tcp", 60)
    off = settle(2, Facts(answered=True, is_inactive=True, error="ESHUTDOWN"), last, 1000.0)
    assert (off.states, off.is_silent, off.size_bytes) == (("inactive",), False, 100)


def test_an_ost_of_which_nothing_was_ever_told() -> None:
    assert settle(2, None, None, 1000.0) == SeenOst(2, 0, 0, 0, None, "", ("unreachable",), "")
