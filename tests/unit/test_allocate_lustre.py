"""Lustre's round robin: walks worked out by hand from how the MDS goes."""

from random import Random

import numpy as np
import pytest
from lustre_problems import THREE_BY_FIVE, osts_of, problem_of

from iez_common.allocate.columns import Osts
from iez_common.allocate.lustre_qos import lustre_qos
from iez_common.allocate.lustre_rr import RoundRobin, in_flight, lustre_rr, order_array
from iez_common.allocate.lustre_view import View
from iez_common.allocate.problem import Choice, Options
from iez_common.errors import AllocationError

MIB, GIB, TIB = 1 << 20, 1 << 30, 1 << 40
ORDER = [0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9, 14]


def robin_at(start, servers, states=None, release="2.17", ready=()):
    """Round robin in the middle of its life: S is known, and no new draw is near."""
    robin = RoundRobin(View.of(osts_of(servers, states=states), ready), Random(0), release)
    robin.start, robin.countdown = start, 1000
    return robin


def ost_cost(choice: Choice, osts: int) -> float:
    """The largest number of equal stripes on an OST, to the mean."""
    picks = np.bincount(choice.positions, minlength=osts)
    return float(picks.max() / picks.mean())


# The order array


def test_servers_take_turns_in_the_order_array():
    assert order_array(THREE_BY_FIVE) == ORDER


def test_the_server_with_more_osts_is_spread_first():
    # Server 1 has 4 of 6: slots 0, 1, 3, 4. Server 0: slot 0 is taken, so 2; 3 is taken, so 5.
    assert order_array([0, 0, 1, 1, 1, 1]) == [2, 3, 0, 4, 5, 1]


def test_a_server_that_catches_up_stays_behind_the_one_that_was_there():
    # Server 1 has 2 OSTs first and goes ahead of server 0, which gets its second one later.
    assert order_array([0, 1, 1, 0]) == [1, 0, 2, 3]


# Round robin


def test_consecutive_files_take_consecutive_runs_of_slots():
    robin = robin_at(2, THREE_BY_FIVE)
    assert robin.allocate(4) == ORDER[3:7]
    assert robin.allocate(4) == ORDER[7:11]
    assert robin.start == 10


def test_the_start_moves_on_by_one_more_when_it_has_gone_round():
    robin = robin_at(10, THREE_BY_FIVE)
    assert robin.allocate(8) == [*ORDER[11:], *ORDER[:4]]
    assert (robin.start, robin.offset) == (18, 0)
    # S = 18 − 15 = 3 and K = 1: slots 5 … 12.
    assert robin.allocate(8) == ORDER[5:13]
    assert (robin.start, robin.offset) == (11, 1)


@pytest.mark.parametrize("stripe_count", [1, 7, 14])
def test_nothing_is_added_where_the_counts_precess_by_themselves(stripe_count):
    # 15 mod 7 and 15 mod 14 are 1.
    robin = robin_at(15, THREE_BY_FIVE)
    assert robin.allocate(stripe_count) == ORDER[1 : 1 + stripe_count]
    assert robin.offset == 0


@pytest.mark.parametrize(("osts", "files"), [(1, 2030), (15, 2445)])
def test_a_new_start_is_drawn_after_so_many_files(osts, files):
    robin = RoundRobin(View.of(osts_of([0] * osts)), Random(7))
    robin.allocate(1)
    assert robin.countdown == files
    for _ in range(files - 1):
        robin.allocate(1)
    assert robin.countdown == 1
    before = robin.draw.getstate()
    robin.allocate(1)
    assert robin.countdown == files
    assert osts == 1 or robin.draw.getstate() != before


def test_every_start_is_drawn_about_equally_often():
    problem = problem_of(osts_of(THREE_BY_FIVE), [GIB], 1)
    firsts = [int(lustre_rr(problem, Options(seed)).positions[0]) for seed in range(1500)]
    assert min(np.bincount(firsts, minlength=15)) > 60


def test_a_degraded_ost_is_left_out_while_others_suffice():
    assert robin_at(0, [0] * 4, {2: "degraded"}).allocate(3) == [1, 3, 0]


@pytest.mark.parametrize(
    ("release", "chosen", "start"),
    [
        # Two passes of four steps, then OSTs 1 and 2; 2.17 moves the start for the first only.
        ("2.17", [1, 3, 0, 2], 9),
        ("2.15", [1, 3, 0, 2], 10),
        # Each pass begins at S = 0 again; the third ends at OST 2. K is 1 as all OSTs are wanted,
        # so the walk is 1, 2, 3, 0 and the last pass takes two steps.
        ("2.14", [1, 3, 0, 2], 2),
    ],
)
def test_a_degraded_ost_is_taken_in_the_last_pass(release, chosen, start):
    robin = robin_at(0, [0] * 4, {2: "degraded"}, release)
    assert robin.allocate(4) == chosen
    assert robin.start == start


@pytest.mark.parametrize("state", ["full", "read-only", "no-create", "inactive", "unreachable"])
def test_a_closed_ost_is_never_taken_and_the_file_gets_fewer_stripes(state):
    choice = lustre_rr(
        problem_of(osts_of([0] * 4, states={2: state}), [GIB, GIB], 4), Options(seed=3)
    )
    assert choice.stripe_count.tolist() == [3, 3]
    assert sorted(choice.of(0)) == sorted(choice.of(1)) == [0, 1, 3]


def test_a_nearly_full_ost_is_like_any_other_to_lustre():
    assert robin_at(0, [0] * 4, {2: "nearly-full"}).allocate(3) == [1, 2, 3]


def test_lustre_knows_nothing_of_the_exclusions_of_iez():
    osts = osts_of([0, 0])
    problem = problem_of(osts, [GIB], 2)
    problem.usable[:] = False
    assert sorted(lustre_rr(problem, Options()).of(0)) == [0, 1]


def test_no_open_ost_at_all_is_an_error():
    osts = osts_of([0, 0], states={0: "full", 1: "read-only"})
    for strategy in (lustre_rr, lustre_qos):
        with pytest.raises(AllocationError, match="no OST for request 0"):
            strategy(problem_of(osts, [GIB], 1), Options())


def test_an_ost_is_full_below_a_thousandth_of_its_size():
    # 10 TiB are 10 · 2^30 KiB: the limit is 10240 MiB.
    available = [10240 * MIB - 1, 10240 * MIB]
    view = View.of(Osts.make([10 * TIB] * 2, available))
    assert view.open == (False, True)
    small = View.of(Osts.make([GIB] * 2, [MIB - 1, MIB]))
    assert small.open == (False, True)


def test_an_ost_without_an_object_in_advance_waits_for_the_second_pass():
    assert robin_at(0, [0] * 3, ready=(True, True, False)).allocate(3) == [1, 0, 2]


def test_osts_of_other_components_wait_for_the_second_pass():
    robin = robin_at(0, [0] * 4)
    assert robin.allocate(2, others={1, 2}) == [3, 0]
    robin.start = 0
    assert robin.allocate(3, others={1, 2}) == [3, 0, 1]


def test_a_count_beyond_the_osts_is_content_with_three_quarters():
    # Cut to n = 8, so m = 6: one pass of 8 steps finds the 6 that are open.
    closed = {1: "full", 2: "full"}
    robin = robin_at(0, [0] * 8, closed)
    assert sorted(robin.allocate(10)) == [0, 3, 4, 5, 6, 7]
    assert robin.start == 8
    # 8 were asked for, so m = 8: two passes of 8 steps, and one step of the last.
    robin = robin_at(0, [0] * 8, closed)
    assert sorted(robin.allocate(8)) == [0, 3, 4, 5, 6, 7]
    assert robin.start == 17


def test_overstriping_goes_round_again():
    assert robin_at(0, [0] * 3).allocate(7, overstripe=True) == [1, 2, 0, 1, 2, 0, 1]


def test_overstriping_ends_after_three_passes_of_whole_rounds():
    # A pass has 3 · 2 tries and finds OST 0 twice. The second one completes four stripes.
    robin = robin_at(0, [0] * 3, {1: "full", 2: "full"}, "2.15")
    assert robin.allocate(4, overstripe=True) == [0] * 4
    assert robin.start == 12
    # Five take a third one, up to its third try.
    robin = robin_at(0, [0] * 3, {1: "full", 2: "full"}, "2.15")
    assert robin.allocate(5, overstripe=True) == [0] * 5
    assert robin.start == 15
    # Among 12 OSTs a pass for 12 stripes has 12 tries: OST 0 is found once in each.
    robin = robin_at(0, [0] * 12, dict.fromkeys(range(1, 12), "full"), "2.15")
    assert robin.allocate(12, overstripe=True) == [0] * 3


def test_up_to_2_14_the_start_is_used_before_it_moves():
    robin = robin_at(2, THREE_BY_FIVE, release="2.14")
    assert robin.allocate(4) == ORDER[2:6]
    assert robin.start == 6


def test_up_to_2_14_the_start_wraps_only_beyond_the_last_slot():
    old, new = robin_at(15, THREE_BY_FIVE, release="2.14"), robin_at(15, THREE_BY_FIVE)
    assert old.allocate(5) == ORDER[0:5]
    assert (old.start, old.offset) == (20, 0)
    # S = 0 and K = 1: slots 2 … 6.
    assert new.allocate(5) == ORDER[2:7]
    assert (new.start, new.offset) == (5, 1)


def test_up_to_2_14_files_on_all_osts_precess_each_time():
    robin = robin_at(0, [0] * 4, release="2.14")
    assert robin.allocate(4) == [1, 2, 3, 0]
    assert robin.allocate(4) == [2, 3, 0, 1]


# Racing creates


def run(release, racing, seed):
    robin = RoundRobin(View.of(osts_of(THREE_BY_FIVE)), Random(seed), release)
    return in_flight(robin, 16, lambda file: robin.begin(8), racing)


def test_up_to_2_14_a_lock_keeps_creates_apart():
    assert run("2.14", 16, seed=5) == run("2.14", 1, seed=5)


def test_racing_creates_share_the_runs_but_no_file_has_an_ost_twice():
    for lists in (run("2.15", 16, seed=5), run("2.17", 16, seed=5)):
        assert lists != run("2.17", 1, seed=5)
        assert all(len(set(chosen)) == 8 for chosen in lists)


@pytest.mark.parametrize(
    ("processes", "stripe_count", "alone", "raced"),
    [
        (8, 8, 1.17, 1.30),
        (8, 4, 1.41, 1.41),
        (16, 8, 1.17, 1.22),
        (16, 4, 1.17, 1.17),
        (64, 8, 1.03, 1.13),
        (64, 4, 1.10, 1.13),
    ],
)
def test_the_balance_is_that_of_an_earlier_model(processes, stripe_count, alone, raced):
    problem = problem_of(osts_of(THREE_BY_FIVE), [MIB] * processes, stripe_count)
    for racing, expected in ((1, alone), (processes, raced)):
        costs = [ost_cost(lustre_rr(problem, Options(seed, racing)), 15) for seed in range(200)]
        assert np.mean(costs) == pytest.approx(expected, abs=0.025)


def test_the_same_seed_gives_the_same_choice():
    problem = problem_of(osts_of(THREE_BY_FIVE, np.arange(1, 16) * (GIB // 2)), [MIB] * 20, 3)
    for strategy in (lustre_rr, lustre_qos):
        first, again, other = (strategy(problem, Options(seed, 4)) for seed in (1, 1, 2))
        assert first.positions.tolist() == again.positions.tolist()
        assert first.positions.tolist() != other.positions.tolist()
