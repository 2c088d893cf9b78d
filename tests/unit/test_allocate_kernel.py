"""The kernel: C and numpy give the same answers, and `place` those of a slow model."""

import numpy as np
import pytest
from allocate_cases import MANY_OSTS, Case, cases, often, problem_of, without_the_c_module
from hypothesis import given
from hypothesis import strategies as st

from iez_common.allocate import Osts, Policy, Requests, allocate
from iez_common.allocate.iez import lower_bound, solve
from iez_common.allocate.kernel import Placed, Rooms, Stripes, best_kernel, loads_of
from iez_common.allocate.native import NativeKernel
from iez_common.allocate.plain import PlainKernel
from iez_common.errors import AllocationError

NATIVE, PLAIN = NativeKernel(), PlainKernel()
GIB = 1 << 30


def same(one, other):
    """Whether two answers are equal to the last bit and of one type."""
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, tuple):
        return type(one) is type(other) and all(map(same, one, other))
    return one == other


def both(function, *arguments):
    """What the two kernels answer, which is the same."""
    native = getattr(NATIVE, function)(*arguments)
    plain = getattr(PLAIN, function)(*arguments)
    assert same(native, plain), (native, plain)
    return native


def slow_place(case, order):
    """The OSTs of each request by the words of csrc/allocate.h, or the request without space."""
    room, left = case.room.tolist(), case.rooms.free_bytes.tolist()
    lists = {}
    for request in order:
        size, count = int(case.stripes.stripe_bytes[request]), int(case.stripes.counts[request])
        step = 1
        while size >= 256 * step:
            step *= 2
        roomy = [ost for ost in range(len(room)) if left[ost] >= size]
        if len(roomy) < count:
            return request
        lists[request] = sorted(roomy, key=lambda ost: (-(room[ost] // step), ost))[:count]
        for ost in lists[request]:
            room[ost] -= size
            left[ost] -= size
    return lists


def lists_of(placed, stripes):
    ends = placed.starts + stripes.counts
    pairs = zip(placed.starts, ends, strict=True)
    return {request: placed.picks[start:end].tolist() for request, (start, end) in enumerate(pairs)}


def check_placed(case, placed):
    """Every request has its stripes on different OSTs, and the loads say so."""
    for request, chosen in lists_of(placed, case.stripes).items():
        assert len(chosen) == len(set(chosen)) == case.stripes.counts[request]
    loads = loads_of(case.stripes, placed.picks, placed.starts, len(case.rooms))
    assert placed.load_bytes.tolist() == loads.tolist()


def check_place(case, order):
    placed = both("place", case.rooms, case.stripes, order, case.room)
    expected = slow_place(case, order.tolist())
    if not isinstance(placed, Placed):
        assert placed == expected
        return None
    assert lists_of(placed, case.stripes) == expected
    check_placed(case, placed)
    assert (placed.load_bytes <= case.rooms.free_bytes).all()
    return placed


@often
@given(cases())
def test_requests_are_placed_by_size_then_count_then_as_given(case):
    order = both("order_of", case.stripes)
    size, count = case.stripes.stripe_bytes.tolist(), case.stripes.counts.tolist()
    assert order.tolist() == sorted(range(len(size)), key=lambda i: (-size[i], -count[i], i))


def test_of_very_many_requests_the_order_is_by_the_leading_bits_of_their_size():
    chance = np.random.default_rng(1)
    sizes = np.concatenate([chance.integers(0, 1 << 40, 10**5), chance.integers(0, 2000, 10**4)])
    stripes = Stripes(sizes, chance.integers(1, 2001, len(sizes)))
    in_order = sizes[both("order_of", stripes)]
    lengths = np.frexp(in_order.astype(float))[1]
    leading = in_order >> np.maximum(lengths - 16, 0) << np.maximum(lengths - 16, 0)
    assert (np.diff(leading) <= 0).all()


@often
@given(cases(), st.integers(1, 1 << 41), st.floats(0, 10))
def test_bounds_in_bytes_and_in_granules_are_the_same_in_both(case, granule_bytes, from_z):
    first = both("bound", case.rooms, case.stripes, 1, 0.0)
    if first is None:
        return
    assert first.low <= first.high <= first.low * (1 + 1e-9) + 1e-9
    both("bound", case.rooms, case.stripes, granule_bytes, first.low)
    both("bound", case.rooms, case.stripes, max(1, granule_bytes % 1000), first.low)
    later = both("bound", case.rooms, case.stripes, 1, first.high * from_z)
    assert later.high >= first.high * min(1, from_z)


@often
@given(cases(), st.integers(0, 100))
def test_bounds_by_number_of_stripes_are_the_same_in_both(case, which):
    sizes = np.sort(case.stripes.stripe_bytes)
    least = sizes[which % len(sizes)]
    if least > 0:
        sums = np.cumsum(sizes[np.searchsorted(sizes, least) :])
        both("bound_by_count", case.rooms, case.stripes, sums, 0.0)


@often
@given(cases())
def test_each_request_takes_the_osts_with_most_room_by_whole_steps(case):
    check_place(case, NATIVE.order_of(case.stripes))


@often
@given(cases(), st.randoms(use_true_random=False))
def test_placing_in_any_other_order_is_the_same_in_both(case, chance):
    order = NATIVE.order_of(case.stripes).tolist()
    chance.shuffle(order)
    check_place(case, np.array(order, np.uint32))


@often
@given(cases(ost_counts=[MANY_OSTS], requests_max=6))
def test_thousands_of_osts_are_placed_as_few_are(case):
    order = both("order_of", case.stripes)
    check_place(case, order)
    both("fit", case.rooms, case.stripes, order, case.room)
    both("bound", case.rooms, case.stripes, 1, 0.0)


@often
@given(cases())
def test_the_tightest_fit_is_the_same_in_both_and_stays_within_the_room(case):
    order = NATIVE.order_of(case.stripes)
    fitted = both("fit", case.rooms, case.stripes, order, case.room)
    if fitted is not None:
        check_placed(case, fitted)
        assert (fitted.load_bytes <= np.maximum(case.room, 0)).all()


@often
@given(cases(ost_counts=(1, 2, 3, 5, 15, 65, 129), requests_max=12), st.data())
def test_polishing_is_the_same_in_both_and_makes_nothing_worse(case, data):
    order = NATIVE.order_of(case.stripes)
    placed = NATIVE.place(case.rooms, case.stripes, order, case.room)
    if not isinstance(placed, Placed):
        return
    goal = data.draw(st.sampled_from([0.0, level(case, placed) * 0.9]))
    steps_max = data.draw(st.sampled_from([0, 1, 50, 5000, 10**9]))
    polished = both("polish", case.rooms, case.stripes, placed, goal, steps_max)
    check_placed(case, polished)
    assert (polished.load_bytes <= case.rooms.free_bytes).all()
    assert level(case, polished) <= level(case, placed)


def level(case, placed):
    levels = (placed.load_bytes + case.rooms.offset) / case.rooms.speed
    return float(np.where(placed.load_bytes > 0, levels, 0).max())


def outcome(case, kernel, overstripe, tie_order):
    """All that comes of a problem, or the words of the refusal."""
    problem = problem_of(case, overstripe, tie_order)
    try:
        solution = solve(problem, kernel)
    except AllocationError as error:
        return error.message, lower_bound(problem, kernel)
    choice = solution.choice
    return (
        choice.positions, choice.starts, choice.stripe_count, solution.load_bytes,
        solution.bound, lower_bound(problem, kernel),
    )  # fmt: skip


@often
@given(cases(requests_max=12), st.booleans(), st.booleans())
def test_whole_problems_come_out_the_same_with_both(case, overstripe, by_names):
    tie_order = np.arange(len(case.stripes))[::-1] if by_names else None
    native, plain = (outcome(case, kernel, overstripe, tie_order) for kernel in (NATIVE, PLAIN))
    assert same(native, plain)


@often
@given(
    st.integers(1, 70), st.integers(1, 90), st.sampled_from(["blend", "space", "bandwidth"]),
    st.sampled_from(["auto", "always", "never"]), st.integers(0, 1 << 32),
)  # fmt: skip
def test_allocations_without_the_c_module_are_those_with_it(osts, files, objective, pfl, seed):
    chance = np.random.default_rng(seed)
    sizes = chance.integers(1, 100, osts) * GIB
    targets = Osts.make(sizes, (sizes * chance.uniform(0.1, 1, osts)).astype(int))
    bytes_of_all = (10 ** chance.uniform(5, 10, files)).astype(int)
    requests = Requests.make(bytes_of_all, chance.integers(0, osts + 1, files), high_bytes=GIB)
    policy = Policy(objective=objective, pfl=pfl)

    def allocated():
        try:
            made = allocate(requests, targets, policy)
        except AllocationError as error:
            return error.message
        return list(made), made.load_bytes.tolist(), made.certificate

    native = allocated()
    with without_the_c_module():
        assert type(best_kernel()) is PlainKernel
        assert allocated() == native


def test_the_c_module_is_taken_where_it_is_built():
    assert type(best_kernel()) is NativeKernel


def case_of(room, sizes, counts, free=None):
    room = np.array(room, np.int64)
    free = np.full(len(room), 1 << 60) if free is None else np.array(free, np.int64)
    stripes = Stripes(np.array(sizes, np.int64), np.array(counts, np.int64))
    return Case(Rooms(free, np.ones(len(room)), np.zeros(len(room))), stripes, room)


@pytest.mark.parametrize(
    "case",
    [
        # Down to the fourth OST, which waits thousands of steps below the others, again and again.
        case_of([10**9, 10**9, 10**9, 5, 4, 3], [1000] * 30, [4] * 30),
        # Out of it and back: after wide requests come narrow ones, then wide ones.
        case_of(range(0, 70 * 10**6, 10**6), [999] * 9, [70, 1, 1, 35, 70, 2, 1, 69, 70]),
        # Room below nothing, where steps are negative.
        case_of([-1, -255, -256, -257, -(10**12)], [300, 299, 2, 1, 0], [5, 1, 2, 3, 5]),
        # Full for the large stripes, and there again for the small ones.
        case_of([100, 90, 80], [60, 35, 25, 6, 1], [2, 1, 1, 1, 3], free=[100, 61, 32]),
        # A stripe of no bytes goes to OSTs without any space.
        case_of([5, 0, 5], [4, 0], [1, 3], free=[0, 4, 0]),
        case_of([7], [1, 1, 1, 1], [1, 1, 1, 1]),
    ],
    ids=["waiting", "out-and-back", "negative", "aside", "empty-stripes", "one-ost"],
)
def test_odd_corners_of_placing(case):
    assert check_place(case, NATIVE.order_of(case.stripes)) is not None


def test_the_request_that_finds_no_space_is_named():
    case = case_of([100] * 3, [10, 60, 50], [1, 2, 2], free=[100, 70, 30])
    assert both("place", case.rooms, case.stripes, NATIVE.order_of(case.stripes), case.room) == 2
