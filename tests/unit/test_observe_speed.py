"""How fast an OST is, by what Lustre counts of this client's own writes."""

from collections.abc import Callable
from pathlib import Path

import pytest
from lustre_trees import FakeOst, LustreMachine

from iez_client.observe import osts as observe_osts
from iez_client.observe.cache import SeenOst
from iez_client.observe.facts import Facts
from iez_client.observe.look import settle
from iez_client.observe.osts import Observation, observe
from iez_client.observe.speed import NO_RPCS, Rpcs, rpcs_of, with_slow_ones
from iez_common import config

MIB = 1 << 20
Look = Callable[[], tuple[Observation, ...]]


def texts(ost: FakeOst) -> tuple[str, str]:
    found = ost.texts("work")
    return found["import"], found["rpc_stats"]


def rpcs(count: int, usecs: int, in_flight: int = 8) -> Rpcs:
    return rpcs_of(*texts(FakeOst(0, writes=(count, MIB, usecs), in_flight=in_flight)))


def test_rpcs_under_way_times_size_over_time_is_the_speed() -> None:
    assert rpcs(100, 400_000) == Rpcs(100, 100 * MIB, 40_000_000, 800)
    assert rpcs(100, 400_000).bytes_per_s == 20 * MIB
    # Whatever the queue: one at a time, each is done sooner.
    assert rpcs(100, 50_000, in_flight=1).bytes_per_s == 20 * MIB


def test_too_few_writes_say_nothing() -> None:
    assert rpcs(15, 400_000).bytes_per_s == 0
    assert rpcs(16, 400_000).bytes_per_s > 0
    assert rpcs(0, 0) == NO_RPCS


def test_writes_that_take_no_time_say_nothing_of_the_ost() -> None:
    assert rpcs(100, 999).bytes_per_s == 0
    assert rpcs(100, 1000).bytes_per_s > 0


@pytest.mark.parametrize("text", ["", "import:\n    state: FULL\n", "\x00\xff" * 50, "1:\n2:\n"])
def test_other_texts_say_nothing(text: str) -> None:
    averages, rpc_stats = texts(FakeOst(0, writes=(100, MIB, 1000)))
    assert rpcs_of(text, rpc_stats) == rpcs_of(averages, text) == NO_RPCS


def test_only_the_block_of_rpcs_in_flight_counts() -> None:
    _, rpc_stats = texts(FakeOst(0, writes=(100, MIB, 1000)))
    assert "pages per rpc" in rpc_stats
    assert rpcs(100, 1000).count == 100


def test_slow_ones_keep_their_speed_and_all_others_count_as_equal() -> None:
    assert with_slow_ones([20, 19, 5, 22, 0, 100], [""] * 6) == [20, 20, 5, 20, 20, 20]
    assert with_slow_ones([20, 16, 21, 25], ["a"] * 4) == [0, 0, 0, 0]
    assert with_slow_ones([20, 5], ["a", "b"]) == [0, 0]  # which is the odd one?
    assert with_slow_ones([], []) == []


def test_unknown_one_is_as_slow_as_the_others_of_its_server() -> None:
    speeds = [20, 20, 20, 4, 0, 5, 0]
    servers = ["a", "a", "a", "b", "b", "b", "c"]
    assert with_slow_ones(speeds, servers) == [20, 20, 20, 4, 5, 5, 20]


def told(index: int, writes: tuple[int, int, int]) -> Facts:
    return Facts(
        answered=True,
        size_bytes=100,
        available_bytes=100,
        source="proc",
        rpcs=rpcs_of(*texts(FakeOst(index, writes=writes))),
    )


def test_speed_is_that_of_the_writes_since_the_last_look() -> None:
    slow = settle(0, told(0, (100, MIB, 1_600_000)), None, 1.0)
    assert slow.bytes_per_s == 5 * MIB
    # 10 more say nothing: it stays what it was, and they count with the next ones.
    same = settle(0, told(0, (110, MIB, 1_500_000)), slow, 2.0)
    assert (same.bytes_per_s, same.rpcs) == (slow.bytes_per_s, slow.rpcs)
    # As many again, and the average has halved towards 0.4 s: it is well again, which is believed
    # step by step.
    better = settle(0, told(0, (200, MIB, 1_000_000)), same, 3.0)
    assert better.bytes_per_s == 7.5 * MIB
    for step in range(4):
        count = 1000 * 10**step
        better = settle(0, told(0, (count, MIB, 400_000)), better, 4.0 + step)
    assert better.bytes_per_s == pytest.approx(20 * MIB, rel=0.2)
    # That it is slow is believed at once.
    worse = settle(0, told(0, (2_000_000, MIB, 4_000_000)), better, 9.0)
    assert worse.bytes_per_s < 3 * MIB


def test_counting_that_began_anew_is_counted_from_there() -> None:
    before = settle(0, told(0, (5000, MIB, 400_000)), None, 1.0)
    after = settle(0, told(0, (40, MIB, 800_000)), before, 2.0)
    assert after.bytes_per_s == 10 * MIB
    fewer = settle(0, told(0, (5, MIB, 400_000)), after, 3.0)
    assert (fewer.bytes_per_s, fewer.rpcs.count) == (10 * MIB, 5)


def test_ost_that_does_not_answer_keeps_its_speed() -> None:
    before = settle(0, told(0, (100, MIB, 400_000)), None, 1.0)
    silent = settle(0, None, before, 2.0)
    assert (silent.bytes_per_s, silent.rpcs) == (before.bytes_per_s, before.rpcs)
    assert isinstance(silent, SeenOst)


@pytest.fixture
def look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Look:
    monkeypatch.setattr(observe_osts.cache, "cache_file", lambda: tmp_path / "osts.json")
    return lambda: observe(config.load({"HOME": str(tmp_path)}), refresh=True)[0].observations


@pytest.mark.parametrize("release", ["2.10", "2.12", "2.15", "2.16"])
def test_any_user_sees_a_slow_ost_up_to_2_16(
    release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Look
) -> None:
    machine = LustreMachine(tmp_path, release)
    machine.install(monkeypatch)
    machine.mount("mgs@tcp:/work /lustre lustre rw 0 0")
    for index in range(4):
        machine.add(FakeOst(index, writes=(64, MIB, 1_600_000 if index == 2 else 400_000)))
    found = look()
    assert [each.is_slow for each in found] == [False, False, True, False]
    speeds = [each.ost.bandwidth_bytes_per_s for each in found]
    assert speeds == [20 * MIB, 20 * MIB, 5 * MIB, 20 * MIB]


def test_equal_osts_have_no_speed_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Look
) -> None:
    machine = LustreMachine(tmp_path, "2.15")
    machine.install(monkeypatch)
    machine.mount("mgs@tcp:/work /lustre lustre rw 0 0")
    machine.add(*(FakeOst(index, writes=(64, MIB, 400_000 + index)) for index in range(4)))
    assert {each.ost.bandwidth_bytes_per_s for each in look()} == {0.0}
    assert all(each.bytes_per_s > 0 for each in look())
