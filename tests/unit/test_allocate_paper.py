"""The paper's algorithm: its own numbers, and why it does not balance as printed."""

import subprocess
import sys

import numpy as np
import pytest

from iez_common.allocate.columns import Osts
from iez_common.allocate.paper import method_one, method_two, paper, paper_rising
from iez_common.allocate.problem import Options, Problem
from iez_common.errors import AllocationError

GB = 10**9
KIB, MIB = 1 << 10, 1 << 20
HACC_BYTES = 803405824  # Table I
STRIPE_BYTES = 100532224  # Table II
OSTS = 15


def problem_of(write_bytes, stripe_count, used_bytes, overstripe=False, size=10 * GB, **more):
    """Files for OSTs of 10 GB, five on a server."""
    rows = len(write_bytes)
    used = np.array(used_bytes, np.int64)
    osts = Osts.make(
        np.full(len(used), size), size - used, oss=[i // 5 for i in range(len(used))], **more
    )
    return Problem(
        np.array(write_bytes, np.int64),
        np.array(np.broadcast_to(stripe_count, rows), np.int64),
        np.full(rows, overstripe),
        osts,
        usable=np.ones(len(osts), np.bool_),
        free_bytes=osts.available_bytes.copy(),
        speed=np.ones(len(osts)),
        offset=np.zeros(len(osts)),
    )


def picks(choice, osts):
    return np.bincount(choice.positions, minlength=osts).tolist()


def test_method_two_gives_the_stripe_size_of_table_two():
    sizes = method_two(HACC_BYTES, 8)
    assert sizes.multiple == 767
    assert sizes.stripe_size_bytes == STRIPE_BYTES
    assert sizes.over_bytes == 832 * KIB


def test_method_one_leaves_a_small_last_stripe():
    sizes = method_one(HACC_BYTES, 8)
    assert sizes.multiple == 875
    assert sizes.remaining_bytes == 589824
    assert sizes.last_multiple == 5
    assert sizes.over_bytes == 64 * KIB
    assert 7 * sizes.stripe_size_bytes + sizes.last_stripe_size_bytes == HACC_BYTES + 64 * KIB


def test_the_only_stripe_of_a_file_is_its_last():
    sizes = method_one(MIB + 1, 1)
    assert (sizes.multiple, sizes.last_multiple) == (0, 9)


def test_a_size_that_fits_has_nothing_over():
    assert method_two(MIB, 4).over_bytes == 0
    assert method_one(MIB, 5).over_bytes == 0


def test_as_printed_every_request_takes_the_same_cheapest_osts():
    used = [(OSTS - i) * 100 * 10**6 for i in range(OSTS)]
    choice = paper(problem_of([HACC_BYTES] * 8, 8, used), Options())
    assert [choice.of(request) for request in range(8)] == [list(range(7, 15))] * 8


def test_as_printed_only_the_capacity_sends_a_request_elsewhere():
    # Files of one stripe of 1 MiB. OST 0 is the cheapest, but iez lets it take just two stripes.
    problem = problem_of([MIB] * 3, 1, [0, GB, 2 * GB])
    problem.free_bytes[0] = 3 * MIB - 1
    assert picks(paper(problem, Options()), 3) == [2, 1, 0]


def test_a_busy_server_is_dearer_to_reach():
    rates = {"bandwidth_bytes_per_s": 1e9, "recent_bytes_per_s": [9e8] * 5 + [1e8] * 5}
    problem = problem_of([MIB] * 2, 5, [0] * 10, **rates)
    for strategy in (paper, paper_rising):
        assert picks(strategy(problem, Options()), 10) == [0] * 5 + [2] * 5


def test_a_server_of_unknown_bandwidth_costs_nothing_to_reach():
    # OSTs 5 … 9 are a little fuller, and that is all that is known of them.
    problem = problem_of([MIB], 5, [0] * 5 + [MIB] * 5, recent_bytes_per_s=1e9)
    assert paper(problem, Options()).of(0) == [0, 1, 2, 3, 4]


def test_rising_costs_give_the_histogram_of_table_two():
    used = [0] * OSTS
    used[13] = 4 * STRIPE_BYTES - MIB  # the paper's OST 14 was fuller by about four stripes
    choice = paper_rising(problem_of([HACC_BYTES] * 8, 8, used), Options())
    found = picks(choice, OSTS)
    assert found[13] == 1
    assert sorted(found[:13] + found[14:]) == [4] * 7 + [5] * 7
    assert all(len(set(choice.of(request))) == 8 for request in range(8))


def test_rising_costs_fill_osts_up_to_one_level():
    # Stripes of 1 MiB; OSTs 0 and 1 are 3 and 1 stripes ahead, so 2 + 4 + 5 of 11 level them.
    problem = problem_of([MIB] * 11, 1, [3 * MIB, MIB, 0])
    assert picks(paper_rising(problem, Options()), 3) == [2, 4, 5]


def test_the_largest_stripe_counts_for_all():
    # OST 0 has room for four stripes of 1 MiB but for one of the 4 MiB that the first file asks.
    problem = problem_of([4 * MIB, MIB, MIB], 1, [0, GB])
    problem.free_bytes[0] = 4 * MIB
    assert picks(paper(problem, Options()), 2) == [1, 2]


def test_osts_that_iez_leaves_out_get_nothing():
    problem = problem_of([MIB] * 4, 2, [0, 0, GB, GB])
    problem.usable[:2] = False
    for strategy in (paper, paper_rising):
        assert picks(strategy(problem, Options()), 4) == [0, 0, 4, 4]


def test_an_overstriped_file_goes_round_as_often_as_it_must():
    problem = problem_of([6 * MIB], 6, [0, 0, 0], overstripe=True)
    for strategy in (paper, paper_rising):
        assert strategy(problem, Options()).of(0) == [0, 0, 1, 1, 2, 2]


def test_more_stripes_than_osts_or_room_cannot_be_met():
    too_wide = problem_of([4 * MIB], 4, [0, 0, 0])
    too_large = problem_of([8 * GB] * 4, 1, [0, 0, 0])
    for problem in (too_wide, too_large):
        for strategy in (paper, paper_rising):
            with pytest.raises(AllocationError, match="flow cannot be met"):
                strategy(problem, Options())


def test_no_requests_and_empty_files_are_fine():
    for strategy in (paper, paper_rising):
        assert len(strategy(problem_of([], 1, [0, 0]), Options()).positions) == 0
        assert strategy(problem_of([0], 2, [0, 0]), Options()).of(0) == [0, 1]


def test_no_usable_ost_is_an_error():
    problem = problem_of([MIB], 1, [0])
    problem.usable[:] = False
    with pytest.raises(AllocationError):
        paper(problem, Options())


def test_networkx_is_imported_only_when_it_is_used():
    code = "import sys, iez_common.allocate.paper; sys.exit('networkx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
