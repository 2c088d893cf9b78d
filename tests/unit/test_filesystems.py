"""Where files can be placed: mocks, Lustre mounts, and what a user says about another machine."""

import errno
from pathlib import Path

import pytest

from iez_client import filesystems
from iez_client.filesystems import (
    LUSTRE,
    MOCK,
    STATE_BITS,
    FileSystem,
    Ost,
    from_list,
    from_mock,
    from_mounts,
)
from iez_client.plan.bind import write_plan
from iez_client.plan.build import build_plan, plan_for_job
from iez_client.plan.read import Plan
from iez_common._core import lib
from iez_common.config import load
from iez_common.errors import InputError, UnknownOstError, UsageError
from iez_common.mock import STATES


class Machine:
    """A made-up /proc and /sys."""

    def __init__(self, root: Path) -> None:
        self.mounts = root / "mounts"
        self.roots = [root / name for name in ("sys", "proc", "debug")]

    def mount(self, *lines: str) -> None:
        self.mounts.write_text("\n".join(("proc /proc proc rw 0 0", *lines, "")))

    def device(self, name: str, active: str | None = "1\n", root: int = 0) -> None:
        directory = self.roots[root] / name
        directory.mkdir(parents=True)
        if active is not None:
            (directory / "active").write_text(active)

    def found(self) -> list[FileSystem]:
        return from_mounts(self.mounts, self.roots)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def indices(file_system: FileSystem) -> list[int]:
    return [ost.index for ost in file_system.osts]


def test_live_osts_come_from_the_names_of_directories(machine: Machine) -> None:
    machine.mount("10.0.0.1@tcp:/work /lustre/work lustre rw,flock 0 0")
    for index in (0, 1, 10, 0x1F):
        machine.device(f"work-OST{index:04x}-osc-ff1100000d641800")
    machine.device("work-OST0002-osc-ff1100000d641800", active="0\n")
    machine.device("work-OST0003-osc-MDT0000")
    machine.device("other-OST0007-osc-ff1100000d641800")
    machine.device("num_refs")
    (found,) = machine.found()
    assert (found.kind, found.prefix, found.aliases) == (LUSTRE, "/lustre/work", ())
    assert indices(found) == [0, 1, 10, 0x1F]


@pytest.mark.parametrize("root", [0, 1, 2])
def test_the_three_places_of_different_releases_are_tried(machine: Machine, root: int) -> None:
    machine.mount("m@o2ib:/fs /fs lustre rw 0 0")
    for earlier in range(root):
        machine.roots[earlier].mkdir()
    machine.device("fs-OST0004-osc-ff11", active=None, root=root)
    (found,) = machine.found()
    assert indices(found) == [4]


def test_two_mounts_of_one_file_system_share_what_is_live_in_both(machine: Machine) -> None:
    machine.mount(
        "m1@tcp:m2@tcp:/fs /a lustre rw 0 0",
        "m1@tcp:m2@tcp:/fs/sub/dir /b\\040c lustre rw 0 0",
    )
    for instance in ("ff11", "ff12"):
        machine.device(f"fs-OST0000-osc-{instance}")
        machine.device(f"fs-OST0001-osc-{instance}", active="0" if instance == "ff12" else "1")
    assert [(each.prefix, indices(each)) for each in machine.found()] == [
        ("/a", [0]),
        ("/b c", [0]),
    ]


def test_a_file_system_whose_osts_cannot_be_told_is_left_alone(machine: Machine) -> None:
    machine.mount("m@tcp:/fs /fs lustre rw 0 0")
    assert machine.found() == []
    machine.device("fs-OST0000-osc-ff11", active="0")
    assert machine.found() == []


def test_a_machine_without_lustre_has_none(machine: Machine) -> None:
    assert machine.found() == []
    machine.mount("/dev/sda / ext4 rw 0 0", "bad")
    assert machine.found() == []


def test_server_targets_are_no_client_mounts(machine: Machine) -> None:
    machine.mount("/dev/sdb /mnt/ost0 lustre_tgt rw 0 0")
    machine.device("fs-OST0000-osc-ff11")
    assert machine.found() == []


def test_a_mock_has_the_states_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "iez-mock.toml").write_text(
        'osts = "0-1,9"\ninject = "ENOSPC"\n[[ost]]\nindex = 9\nstate = ["full", "degraded"]\n'
    )
    found = from_mock(tmp_path)
    assert (found.kind, found.prefix, found.aliases) == (MOCK, str(tmp_path), ())
    assert found.osts == (Ost(0), Ost(1), Ost(9, lib.IEZ_OST_FULL | lib.IEZ_OST_DEGRADED))
    assert found.inject == errno.ENOSPC


def test_the_silent_answer_is_passed_on(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('inject = "silent"')
    assert from_mock(tmp_path, tmp_path / "s.toml").inject == lib.IEZ_INJECT_SILENT


def test_every_state_has_a_bit() -> None:
    assert set(STATE_BITS) == set(STATES)


def test_a_symbolic_link_and_its_target_are_names_of_one_mock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    assert from_mock(link).names == (str(link), str(real))
    monkeypatch.chdir(tmp_path)
    assert from_mock(Path("link/")).names == (str(link), str(real))


def test_a_mock_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none does not exist") as caught:
        from_mock(tmp_path / "none")
    assert caught.value.hint == f"mkdir -p {tmp_path}/none"


def test_a_file_system_elsewhere_is_what_the_user_says() -> None:
    found = from_list(Path("/far/away/"), [5, 3, 3])
    assert (found.kind, found.prefix, found.osts) == (LUSTRE, "/far/away", (Ost(3), Ost(5)))
    with pytest.raises(UsageError):
        from_list(Path("/"), [1])


def test_a_plan_whose_ost_is_gone_is_refused_when_the_job_starts(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was fine when it was built; the machine has changed since."""
    monkeypatch.setattr(filesystems, "MOUNTS", machine.mounts)
    monkeypatch.setattr(filesystems, "OSC_ROOTS", machine.roots)
    machine.mount("m@tcp:/fs /fs lustre rw 0 0")
    for index in (0, 1, 2):
        machine.device(f"fs-OST{index:04x}-osc-ff11")
    table, plan = tmp_path / "my.csv", tmp_path / "my.plan"
    table.write_text("path,stripe_count,stripe_size,ost_list,pool\n/fs/a,2,1M,0 2,\n")
    write_plan(plan, build_plan(table, from_mounts(), 1000).image)
    assert plan_for_job(plan, load(environ={})) == plan.read_bytes()
    (machine.roots[0] / "fs-OST0001-osc-ff11" / "active").write_text("0\n")
    (now,) = Plan(plan_for_job(plan, load(environ={})), "now").file_systems()
    assert indices(now) == [0, 2]
    (machine.roots[0] / "fs-OST0002-osc-ff11" / "active").write_text("0\n")
    with pytest.raises(UnknownOstError, match="OST 2 does not exist"):
        plan_for_job(plan, load(environ={}))
