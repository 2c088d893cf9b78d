"""Simple strategies: chance, and the least loaded first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iez_common.allocate.columns import Osts
from iez_common.allocate.problem import Options, Problem
from iez_common.allocate.simple import greedy, random
from iez_common.errors import AllocationError

BOTH = pytest.mark.parametrize("strategy", [random, greedy])


def problem_of(write_bytes, stripe_count, free_bytes, overstripe=False, speed=1.0, offset=0.0):
    rows, osts = len(write_bytes), len(free_bytes)
    return Problem(
        np.array(write_bytes, np.int64),
        np.array(np.broadcast_to(stripe_count, rows), np.int64),
        np.full(rows, overstripe),
        Osts.make(np.full(osts, 1 << 40), free_bytes),
        usable=np.ones(osts, np.bool_),
        free_bytes=np.array(free_bytes, np.int64),
        speed=np.array(np.broadcast_to(speed, osts), np.float64),
        offset=np.array(np.broadcast_to(offset, osts), np.float64),
    )


def picks(choice, osts):
    return np.bincount(choice.positions, minlength=osts).tolist()


def test_greedy_takes_the_least_loaded_and_of_equals_the_first():
    choice = greedy(problem_of([40, 20, 10], [2, 2, 1], [1000] * 4), Options())
    # Loads 20 20 0 0, then 20 20 10 10: the last goes to OST 2.
    assert [choice.of(request) for request in range(3)] == [[0, 1], [2, 3], [2]]


def test_greedy_counts_what_is_there_already_and_how_fast_an_ost_is():
    # OST 0 is at 90 / 1, OST 1 at 0 / 1, OST 2 at 0 / 3.
    problem = problem_of([30] * 6, 1, [1000] * 3, speed=[1, 1, 3], offset=[90, 0, 0])
    # 1 (0), 2 (0), 2 (10), 2 (20), 1 (30), 2 (30)
    assert greedy(problem, Options()).positions.tolist() == [1, 2, 2, 2, 1, 2]


def test_greedy_passes_over_an_ost_without_room():
    problem = problem_of([50] * 4, 1, [60, 1000])
    assert greedy(problem, Options()).positions.tolist() == [0, 1, 1, 1]


def test_greedy_leaves_nothing_to_chance():
    problem = problem_of(range(100, 200), 3, [10**6] * 7)
    first, other = (greedy(problem, Options(seed)).positions for seed in (1, 2))
    assert first.tolist() == other.tolist()


def test_random_takes_every_ost_about_equally_often():
    choice = random(problem_of([10] * 3000, 2, [10**6] * 6), Options(seed=1))
    assert picks(choice, 6) == pytest.approx([1000] * 6, rel=0.15)


def test_random_follows_the_seed():
    problem = problem_of([10] * 20, 2, [10**6] * 6)
    first, again, other = (random(problem, Options(seed)).positions.tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


@BOTH
def test_osts_that_are_not_usable_get_nothing(strategy):
    problem = problem_of([10] * 9, 2, [10**6] * 4)
    problem.usable[1] = False
    assert picks(strategy(problem, Options()), 4)[1] == 0


@BOTH
def test_an_overstriped_file_is_on_all_osts_before_it_comes_back_to_one(strategy):
    choice = strategy(problem_of([70], 7, [1000] * 3, overstripe=True), Options())
    chosen = choice.of(0)
    assert set(chosen[:3]) == set(chosen[3:6]) == {0, 1, 2}
    assert sorted(picks(choice, 3)) == [2, 2, 3]


@BOTH
def test_an_overstriped_file_repeats_where_there_is_room(strategy):
    # Stripes of 10 bytes: one fits on OST 0, four on OST 1.
    choice = strategy(problem_of([50], 5, [19, 40], overstripe=True), Options())
    assert picks(choice, 2) == [1, 4]
    with pytest.raises(AllocationError, match="request 0 needs 1 OSTs with 10 bytes free"):
        strategy(problem_of([60], 6, [19, 40], overstripe=True), Options())


@BOTH
def test_a_request_that_does_not_fit_is_an_error(strategy):
    with pytest.raises(AllocationError, match="request 1 needs 2 OSTs with 30 bytes free"):
        strategy(problem_of([60, 60], 2, [100, 30, 29]), Options())
    with pytest.raises(AllocationError, match="request 0 needs 4 OSTs"):
        strategy(problem_of([60], 4, [100] * 3), Options())


@BOTH
def test_no_requests_give_no_positions(strategy):
    choice = strategy(problem_of([], 1, [100]), Options())
    assert choice.positions.tolist() == []
    assert choice.starts.tolist() == choice.stripe_count.tolist() == []


@given(
    files=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 6)), min_size=1, max_size=20),
    free=st.lists(st.integers(0, 10**7), min_size=1, max_size=8),
    overstripe=st.booleans(),
    seed=st.integers(0, 10),
)
def test_a_choice_keeps_to_the_room_and_to_distinct_osts(files, free, overstripe, seed):
    problem = problem_of([f[0] for f in files], [f[1] for f in files], free, overstripe)
    for strategy in (random, greedy):
        try:
            choice = strategy(problem, Options(seed))
        except AllocationError:
            continue
        assert choice.stripe_count.tolist() == [count for _, count in files]
        placed = np.repeat(problem.stripe_bytes, choice.stripe_count)
        assert (np.bincount(choice.positions, placed, len(free)) <= problem.free_bytes).all()
        if not overstripe:
            lists = [choice.of(request) for request in range(len(files))]
            assert all(len(set(chosen)) == len(chosen) for chosen in lists)
