"""The OSTs of a machine as `iez osts` has them: real reads by real processes from made-up trees,
the cache between two looks, several mounts, mocks."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from lustre_trees import GIB_KIB, RELEASES, FakeOst, LustreMachine

from iez_client.filesystems import LUSTRE, MOCK
from iez_client.observe import cache, deadline
from iez_client.observe.osts import Observation, ObservedFileSystem, observe
from iez_common.config import Config, load
from iez_common.errors import InputError, MockStateError, UsageError
from iez_common.records import CLOSED, Ost

GIB = 1 << 30
WORK = "10.0.0.1@tcp:/work /lustre/work lustre rw,flock 0 0"
PLENTY_S = 60.0  # nobody waits that long unless an OST hangs
HANG_S = 4.0  # where one does


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return load(environ={}, site_file=tmp_path / "none")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LustreMachine]:
    machine = LustreMachine(tmp_path)
    machine.install(monkeypatch)
    machine.mount(WORK)
    yield machine
    machine.heal()


def see(settings: Config, limit_s: float = PLENTY_S) -> list[ObservedFileSystem]:
    return observe(settings, refresh=True, deadline_s=limit_s)


def available_gib(found: list[ObservedFileSystem]) -> list[list[int]]:
    return [[ost.available_bytes // GIB for ost in each.osts] for each in found]


@pytest.mark.parametrize("release", RELEASES)
def test_every_release(
    release: str, tmp_path: Path, settings: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = LustreMachine(tmp_path, release)
    machine.install(monkeypatch)
    machine.mount(WORK)
    machine.add(FakeOst(0), FakeOst(0x1F, available_kib=2 * GIB_KIB, nid="172.16.1.4@o2ib1"))
    (found,) = see(settings)
    assert (found.kind, found.prefix, found.name, found.trouble) == (
        LUSTRE,
        "/lustre/work",
        "work",
        "",
    )
    first, second = found.observations
    assert first.ost == Ost(0, 100 * GIB, 50 * GIB, "10.9.0.11@tcp")
    assert (first.name, first.used_bytes) == ("work-OST0000", 40 * GIB)
    assert first.source == ("proc" if release == "2.10" else "sys")
    assert first.age_s is not None
    assert second.ost == Ost(
        0x1F, 100 * GIB, 2 * GIB, "172.16.1.4@o2ib1", frozenset({"nearly-full"})
    )
    assert second.name == "work-OST001f"


def test_states_come_from_letters_flags_and_space(machine: LustreMachine, settings: Config) -> None:
    machine.add(
        FakeOst(0),
        FakeOst(1, letters="D"),
        FakeOst(2, active="0"),
        FakeOst(3, available_kib=5 * GIB_KIB),
        FakeOst(4, available_kib=5 * GIB_KIB - 1),
        FakeOst(5, available_kib=100 * 1024),  # 0.1 % of 100 GiB are 100 MiB
        FakeOst(6, available_kib=100 * 1024 - 1),
        FakeOst(7, files_free=31),
        FakeOst(8, letters="S", available_kib=4 * GIB_KIB),
        FakeOst(9, letters="RN"),
    )
    (found,) = see(settings)
    assert [sorted(ost.states) for ost in found.osts] == [
        [],
        ["degraded"],
        ["inactive"],
        [],
        ["nearly-full"],
        ["nearly-full"],
        ["full"],
        ["full"],
        ["full"],
        ["no-create", "read-only"],
    ]
    assert [ost.index for ost in found.osts if ost.states & CLOSED] == [2, 6, 7, 8, 9]


def test_a_client_on_the_server_itself_tells_no_servers_apart(
    machine: LustreMachine, settings: Config
) -> None:
    machine.add(*(FakeOst(index, nid="0@lo") for index in range(3)))
    (found,) = see(settings)
    assert [ost.oss for ost in found.osts] == ["", "", ""]


def test_an_ost_that_hangs_keeps_its_last_good_values_until_it_is_well(
    machine: LustreMachine, settings: Config
) -> None:
    machine.add(FakeOst(0), FakeOst(1, available_kib=33 * GIB_KIB, nid="10.9.0.12@tcp"))
    see(settings)
    machine.hang(1)
    machine.add(FakeOst(0, available_kib=20 * GIB_KIB))
    (found,) = see(settings, HANG_S)
    well, sick = found.observations
    assert (well.ost.available_bytes, well.ost.states) == (20 * GIB, frozenset())
    assert sick.ost == Ost(1, 100 * GIB, 33 * GIB, "10.9.0.12@tcp", frozenset({"unreachable"}))
    assert well.age_s is not None
    assert sick.age_s is not None
    assert sick.age_s > well.age_s >= 0
    machine.heal()
    machine.add(FakeOst(1, available_kib=30 * GIB_KIB))
    (found,) = see(settings)
    assert found.osts[1] == Ost(1, 100 * GIB, 30 * GIB, "10.9.0.11@tcp")


def test_an_ost_that_never_told_anything_has_no_age(
    machine: LustreMachine, settings: Config
) -> None:
    machine.add(FakeOst(0))
    machine.hang(0)
    (found,) = see(settings, HANG_S)
    assert found.observations == (
        Observation(
            Ost(0, 0, 0, "10.9.0.11@tcp", frozenset({"unreachable"})), "work-OST0000", 0, None, ""
        ),
    )


def test_within_seconds_nothing_is_asked_again(
    machine: LustreMachine, settings: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "FRESH_S", 3600.0)
    machine.add(FakeOst(0))
    assert available_gib(observe(settings, deadline_s=PLENTY_S)) == [[50]]
    machine.add(FakeOst(0, available_kib=20 * GIB_KIB))
    with monkeypatch.context() as patched:
        patched.setattr(deadline.sys, "executable", "/nonexistent/python")
        again = observe(settings, deadline_s=PLENTY_S)
    assert available_gib(again) == [[50]]
    assert again[0].osts[0].states == frozenset()
    assert available_gib(see(settings)) == [[20]]
    machine.add(FakeOst(0, available_kib=10 * GIB_KIB))
    monkeypatch.setattr(cache, "FRESH_S", 0.0)
    assert available_gib(observe(settings, deadline_s=PLENTY_S)) == [[10]]


def test_only_the_file_system_that_is_not_fresh_is_asked(
    machine: LustreMachine, settings: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "FRESH_S", 3600.0)
    machine.add(FakeOst(0))
    observe(settings, deadline_s=PLENTY_S)
    machine.add(FakeOst(0, available_kib=20 * GIB_KIB))
    machine.add(FakeOst(0, available_kib=11 * GIB_KIB), fs_name="home")
    machine.mount(WORK, "10.0.0.2@tcp:/home /home lustre rw 0 0")
    assert available_gib(observe(settings, deadline_s=PLENTY_S)) == [[50], [11]]


def test_two_mounts_of_one_file_system_have_the_same_osts(
    machine: LustreMachine, settings: Config
) -> None:
    machine.mount(WORK, "10.0.0.1@tcp:/work/sub /b\\040c lustre rw 0 0")
    machine.add(FakeOst(0), FakeOst(1, active="0"), instance="ff11")
    machine.add(FakeOst(0), FakeOst(1, available_kib=7 * GIB_KIB), instance="ff12")
    one, other = see(settings)
    assert (one.prefix, other.prefix) == ("/lustre/work", "/b c")
    assert one.observations == other.observations
    assert [ost.states for ost in one.osts] == [frozenset(), frozenset({"inactive"})]
    assert available_gib([one]) == [[50, 7]]


def test_several_file_systems_each_have_their_own(machine: LustreMachine, settings: Config) -> None:
    machine.mount(WORK, "10.0.0.2@tcp:/home /home lustre rw 0 0")
    machine.add(FakeOst(0), FakeOst(1))
    machine.add(FakeOst(4, available_kib=11 * GIB_KIB), fs_name="home")
    machine.add(FakeOst(9), fs_name="gone")
    found = see(settings)
    assert [(each.name, [ost.index for ost in each.osts]) for each in found] == [
        ("work", [0, 1]),
        ("home", [4]),
    ]
    assert found[1].observations[0].name == "home-OST0004"


def test_a_file_system_that_is_away_for_a_while_is_remembered(
    machine: LustreMachine, settings: Config
) -> None:
    machine.add(FakeOst(0))
    see(settings)
    machine.mount()
    assert see(settings) == []
    machine.mount(WORK)
    machine.hang(0)
    (found,) = see(settings, HANG_S)
    assert found.osts[0].available_bytes == 50 * GIB


def test_a_mount_without_trees_that_is_not_lustre_is_no_end_of_the_others(
    machine: LustreMachine, settings: Config, tmp_path: Path
) -> None:
    machine.mount(WORK, f"10.0.0.2@tcp:/home {tmp_path} lustre rw 0 0")
    machine.add(FakeOst(0))
    work, home = see(settings)
    assert (work.trouble, available_gib([work])) == ("", [[50]])
    assert (home.trouble, home.osts) == ("it does not answer as Lustre does", ())


def test_no_process_to_be_had_leaves_the_last_good_values(
    machine: LustreMachine, settings: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add(FakeOst(0))
    see(settings)
    monkeypatch.setattr(deadline.sys, "executable", "/nonexistent/python")
    (found,) = see(settings)
    assert found.osts == (Ost(0, 100 * GIB, 50 * GIB, "10.9.0.11@tcp", frozenset({"unreachable"})),)


def test_a_machine_without_lustre(machine: LustreMachine, settings: Config) -> None:
    machine.mount()
    assert see(settings) == []
    machine.mounts.unlink()
    assert see(settings) == []


def test_a_mock_is_what_its_state_file_says(machine: LustreMachine, tmp_path: Path) -> None:
    """And beats the mounts."""
    state = tmp_path / "state.toml"
    state.write_text(
        'osts = "0-1,9"\noss_count = 2\nost_size = "1T"\nost_used = "256G"\n'
        '[[ost]]\nindex = 1\nused = "1000G"\nstate = ["degraded"]\n'
        '[[ost]]\nindex = 9\nused = "1T"\n'
    )
    flags = {"mock": str(tmp_path), "mock_state": str(state)}
    (found,) = observe(load(flags, environ={}))
    assert (found.kind, found.prefix, found.name) == (MOCK, str(tmp_path), "mock")
    assert found.osts == (
        Ost(0, 1 << 40, 768 * GIB, "0"),
        Ost(1, 1 << 40, 24 * GIB, "0", frozenset({"degraded", "nearly-full"})),
        Ost(9, 1 << 40, 0, "1", frozenset({"full"})),
    )
    assert [(each.name, each.used_bytes // GIB) for each in found.observations] == [
        ("mock-OST0000", 256),
        ("mock-OST0001", 1000),
        ("mock-OST0009", 1024),
    ]
    assert {(each.source, each.age_s) for each in found.observations} == {("mock", 0.0)}


def test_mocks_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("osts = x")
    for flags, error in (
        ({"mock": f"{tmp_path}/none"}, InputError),
        ({"mock": str(tmp_path), "mock_state": str(bad)}, MockStateError),
        ({"mock_state": str(bad)}, UsageError),
    ):
        with pytest.raises(error):
            observe(load(flags, environ={}))
