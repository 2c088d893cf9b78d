"""Layouts: how many stripes, how large, in how many parts, and how far iez goes with a file."""

from dataclasses import replace

import numpy as np
import pytest
from allocate_cases import often
from allocate_records import (
    GIB,
    KIB,
    MIB,
    allocated,
    check_promises,
    lists_of,
    loads_by_lists,
    loads_of,
    osts,
    policies,
    requests,
    shares,
    used_by,
)  # fmt: skip
from hypothesis import given
from hypothesis import strategies as st

from iez_common.allocate import Osts, Policy, Requests, allocate
from iez_common.allocate.columns import STRIPE_COUNT_MAX
from iez_common.allocate.split import PARTS_MAX, SPLIT_MAX
from iez_common.records import Ost, Request

WELL = st.just(frozenset())
WHOLE = Policy(pfl="never")
SPLIT = Policy(pfl="always")


def some_osts(count, size_bytes=100 * GIB, available_bytes=None):
    available = size_bytes if available_bytes is None else available_bytes
    return [Ost(index, size_bytes, available) for index in range(count)]


def counts_of(files, targets, policy=WHOLE):
    return [placement.stripe_count for placement in allocate(files, targets, policy)]


def test_a_small_file_gets_one_stripe():
    small = [Request(1000), Request(63 * MIB, writers=1000), Request(GIB - 1)]
    assert counts_of(small, some_osts(20)) == [1, 1, 1]


@pytest.mark.parametrize(("files", "count"), [(1, 4), (5, 4), (10, 2), (20, 1), (500, 1)])
def test_files_of_one_writer_each_are_not_over_striped(files, count):
    """Together they are on each OST about once."""
    assert counts_of([Request(8 * GIB)] * files, some_osts(20, 10000 * GIB)) == [count] * files


def test_the_larger_of_few_files_get_the_stripes_that_are_left():
    sizes = [n * GIB for n in (4, 5, 6, 7, 8, 9, 10, 11)]
    assert counts_of([Request(size) for size in sizes], some_osts(15)) == [1, 1, 2, 2, 2, 2, 2, 3]
    # Two of the smallest gain nothing: a stripe of 6 GiB would be the largest still.
    assert counts_of([Request(n * GIB) for n in (6, 4, 4)], some_osts(5)) == [2, 1, 1]


def test_of_many_files_no_stripe_is_more_than_half_of_what_an_ost_gets():
    files = [Request(GIB)] * 100
    assert counts_of([Request(40 * GIB), *files], some_osts(20)) == [4, *[1] * 100]
    assert counts_of([Request(5 * GIB), *files], some_osts(20)) == [2, *[1] * 100]
    assert counts_of([Request(5 * GIB // 2), *files], some_osts(20)) == [1] * 101
    # Of 16 whole files on 15 OSTs two would share one.
    made = allocate([Request(8 * GIB)] * 16, some_osts(15), WHOLE)
    assert made.stripe_count.tolist() == [2] * 16
    assert made.certificate.ostcost_new < 1.41


def test_files_that_are_left_to_lustre_take_no_ost_from_the_others():
    counts = counts_of([Request(8 * GIB), *[Request(1000)] * 100], some_osts(20))
    assert counts[0] == counts_of([Request(8 * GIB)], some_osts(20))[0] == 4


def test_a_shared_file_is_as_wide_as_its_writers_or_its_size_call_for():
    files = [Request(64 * GIB, writers=each) for each in (2, 16, 1000)]
    assert counts_of(files, some_osts(100)) == [2, 16, 64]
    files = [Request(each, writers=50) for each in (64 * MIB, 128 * MIB, 640 * MIB, 64 * GIB)]
    assert counts_of(files, some_osts(100)) == [1, 2, 10, 50]


def test_the_caps_of_the_site_hold():
    policy = replace(WHOLE, stripe_count_max=7, stripe_count_max_single=3)
    files = [Request(64 * GIB, writers=1000), Request(64 * GIB)]
    assert counts_of(files, some_osts(100), policy) == [7, 3]
    assert counts_of(files, some_osts(2), policy) == [2, 2]


def test_a_file_that_is_larger_than_an_ost_gets_as_many_stripes_as_it_needs():
    assert counts_of([Request(35 * GIB)], some_osts(20, 10 * GIB)) == [4]
    assert counts_of([Request(95 * GIB)], some_osts(20, 10 * GIB)) == [10]


def test_no_file_gets_more_stripes_than_lustre_allows():
    policy = replace(WHOLE, stripe_count_max=10**6)
    files = [Request(10**15, writers=10**6)]
    assert counts_of(files, some_osts(3000, 10**12), policy) == [STRIPE_COUNT_MAX]


@often
@given(st.integers(0, 40 * GIB), st.integers(1, 10**6), st.integers(1, 40), st.integers(1, 30))
def test_chosen_counts_stay_within_writers_caps_and_osts(size, writers, osts_count, files):
    policy = replace(WHOLE, pin_min_bytes=0)
    made = allocate(
        [Request(size, writers=writers)] * files, some_osts(osts_count, 1 << 50), policy
    )
    for placement in made:
        most = policy.stripe_count_max_single if writers == 1 else policy.stripe_count_max
        assert 1 <= placement.stripe_count <= min(most, osts_count, max(writers, most))
        assert placement.stripe_count == 1 or size // placement.stripe_count >= 64 * MIB


@often
@given(st.lists(st.integers(0, 1 << 40), min_size=1), st.sampled_from([MIB, 4 * MIB, 16 * MIB]))
def test_stripe_sizes_are_whole_units_between_1_and_16_mib(accesses, default):
    policy = replace(WHOLE, stripe_size_bytes=default)
    files = [Request(MIB, 1, access_bytes=access) for access in accesses]
    for access, placement in zip(accesses, allocate(files, some_osts(3), policy), strict=True):
        size = placement.stripe_size_bytes
        assert size % (64 * KIB) == 0
        assert MIB <= size <= 16 * MIB
        assert access or size == default


@pytest.mark.parametrize(
    ("access", "writers", "size"),
    [
        (16 * MIB, 1, 4 * MIB),
        (5 * MIB, 1, 5 * MIB // 4),
        (2 * MIB, 1, MIB),
        (64 * KIB, 1, MIB),
        (80 * MIB, 1, 16 * MIB),
        (16 * MIB, 8, 16 * MIB),
    ],
)
def test_a_lone_writer_writes_to_all_osts_of_its_file_at_once(access, writers, size):
    file = Request(64 * GIB, 4, writers, access_bytes=access)
    assert allocate([file], some_osts(6), WHOLE).stripe_size_bytes.tolist() == [size]


@pytest.mark.parametrize(
    ("access", "size"),
    [
        (4 * KIB, MIB),
        (64 * KIB, MIB),
        (192 * KIB, 6 * 192 * KIB),  # whole writes: 1152 KiB
        (47008, MIB),  # no whole number of them is a multiple of 64 KiB near 1 MiB
        (MIB, MIB),
        (4 * MIB, 4 * MIB),
        (5 * MIB, 5 * MIB),
        (16 * MIB, 16 * MIB),
        (32 * MIB, 16 * MIB),
        (40 * MIB, 40 * MIB // 3 // (64 * KIB) * 64 * KIB + 64 * KIB),
    ],
)
def test_a_write_falls_into_whole_stripes_where_it_can(access, size):
    made = allocate([Request(GIB, 1, access_bytes=access)], some_osts(3), WHOLE)
    assert made.stripe_size_bytes.tolist() == [size]


def check_parts(file, placement):
    """They follow each other without a gap, and each ends between two stripes."""
    assert len(placement.parts) <= PARTS_MAX
    ends = [part.end_bytes for part in placement.parts]
    assert ends[-1] is None
    assert None not in ends[:-1]
    assert ends[:-1] == sorted(set(ends[:-1]))
    for part in placement.parts:
        assert part.stripe_size_bytes == placement.stripe_size_bytes
        assert (part.end_bytes or 0) % part.stripe_size_bytes == 0
        assert 1 <= len(part.osts) == len(set(part.osts)) <= placement.stripe_count
    assert sum(length for length, _ in shares(placement, file.write_bytes)) == file.write_bytes


@often
@given(requests(most=5, stripe_count_max=4), osts(least=4), policies)
def test_parts_are_contiguous_and_their_bytes_add_up(files, targets, policy):
    policy = replace(policy, pfl="always", split_min_bytes=MIB)
    made = allocated(files, targets, policy)
    if made is None:
        return
    check_promises(files, targets, policy, made)
    assert len(made.splits) <= SPLIT_MAX
    for number, (file, placement) in enumerate(zip(files, made, strict=True)):
        if placement.parts:
            check_parts(file, placement)
            assert number in made.splits or file.high_bytes > file.write_bytes
            assert not file.overstripe


@often
@given(requests(most=5, stripe_count_max=4), osts(least=4, states=WELL), policies)
def test_splitting_never_raises_the_objective(files, targets, policy):
    whole, split = (
        allocated(files, targets, replace(policy, pfl=each, split_min_bytes=MIB))
        for each in ("never", "always")
    )
    if whole is not None:
        assert split.certificate.value <= whole.certificate.value * (1 + 1e-9)
        assert whole.parts == {}


def test_a_lone_file_on_half_of_the_osts_is_split_over_all():
    files, targets = [Request(32 * GIB, 8)], some_osts(15)
    assert allocate(files, targets, WHOLE).certificate.ostcost_new == pytest.approx(1.875)
    made = allocate(files, targets, SPLIT)
    assert made.certificate.ostcost_new < 1.005
    assert made.splits == (0,)
    assert used_by(made) == set(range(15))


def test_crumbs_of_a_split_file_go_to_no_closed_ost():
    closed = frozenset({"read-only"})
    for extra in range(0, 40 * MIB, 3 * MIB + 12345):
        targets = [replace(ost, states=closed) if ost.index < 3 else ost for ost in some_osts(8)]
        made = allocate([Request(8 * GIB + extra, 5)], targets, replace(SPLIT, objective="space"))
        assert used_by(made) <= set(range(3, 8))


def test_small_files_are_not_split():
    assert allocate([Request(255 * MIB, 2)], some_osts(5), SPLIT).parts == {}
    assert allocate([Request(256 * MIB, 2)], some_osts(5), SPLIT).splits == (0,)


def test_a_file_that_may_grow_gets_a_second_part_where_there_is_most_room():
    files = [Request(GIB, 2, high_bytes=3 * GIB), Request(GIB, 1, high_bytes=GIB + 10)]
    policy = Policy(split_min_bytes=1 << 60)
    made = allocate(files, some_osts(6), policy)
    sure = made.placement(0)
    check_parts(files[0], sure)
    assert sure.parts[0].end_bytes == GIB
    assert len(sure.parts[1].osts) == 2
    assert not {*sure.parts[0].osts, *made.placement(1).osts} & set(sure.parts[1].osts)
    assert made.placement(1).osts  # a little more does not matter
    assert made.splits == ()
    plain = allocate([replace(file, high_bytes=0) for file in files], some_osts(6), policy)
    assert loads_of(made) == loads_of(plain)
    assert made.certificate == plain.certificate


def test_a_file_that_may_grow_beyond_all_space_is_placed_as_if_it_did_not():
    made = allocate([Request(GIB, 2, high_bytes=1 << 61)] * 9, some_osts(6), Policy())
    assert [len(placement.osts) for placement in made] == 9 * [2]


LADDER = ("nothing", "count", "pool", "list")


@pytest.mark.parametrize("ladder", LADDER)
def test_no_file_is_taken_further_than_the_site_allows(ladder):
    policy = Policy(ladder=ladder, pools={"fast": frozenset({1, 2, 3})})
    files = [Request(GIB, 2), Request(GIB, 2, pool="fast"), Request(MIB - 1, 1)]
    made = allocate(files, some_osts(6), policy)
    reached = [placement.rung for placement in made]
    assert (
        reached
        == {
            "nothing": ["nothing", "nothing", "nothing"],
            "count": ["count", "count", "nothing"],
            "pool": ["count", "pool", "nothing"],  # without a pool there is none to name
            "list": ["list", "list", "nothing"],
        }[ladder]
    )
    assert [bool(placement.osts) for placement in made] == [each == "list" for each in reached]
    assert [placement.pool for placement in made] == ["", "fast", ""]
    assert loads_of(made) == loads_by_lists(files, made)


@often
@given(requests(stripe_count_max=3), osts(least=6, states=WELL), policies, st.data())
def test_a_file_with_a_pool_stays_within_it(files, targets, policy, data):
    members = [ost.index for ost in targets]
    pools = {
        name: frozenset(data.draw(st.sets(st.sampled_from(members), min_size=3))) for name in "ab"
    }
    names = data.draw(st.lists(st.sampled_from(["", "a", "b"]), min_size=10, max_size=10))
    files = [replace(file, pool=name) for file, name in zip(files, names, strict=False)]
    made = allocated(files, targets, replace(policy, pools=pools))
    if made is None:
        return
    assert loads_of(made) == {ost: n for ost, n in loads_by_lists(files, made).items() if n}
    assert made.certificate.ratio >= 1 - 1e-9
    free = {ost.index: ost.available_bytes - ost.promised_bytes for ost in targets}
    assert all(load <= free[ost] for ost, load in loads_of(made).items())
    for file, placement in zip(files, made, strict=True):
        for chosen in lists_of(placement):
            assert set(chosen) <= pools.get(file.pool, set(members))
            assert not set(chosen) & policy.exclude_osts


def test_a_pool_whose_osts_are_not_known_is_named_and_lustre_chooses():
    made = allocate([Request(GIB, 2, pool="far"), Request(GIB, 2)], some_osts(4), Policy())
    assert [placement.rung for placement in made] == ["pool", "list"]
    assert made.placement(0).osts == ()


@pytest.mark.parametrize("strategy", ["lustre-rr", "lustre-qos", "greedy", "random", "iez"])
def test_every_strategy_keeps_files_of_a_pool_within_it(strategy):
    policy = Policy(strategy=strategy, pools={"a": frozenset({1, 2})})
    files = [Request(GIB, 2, pool="a"), Request(GIB, 4)]
    made = allocate(files, some_osts(40), policy)
    assert set(made.placement(0).osts) == {1, 2}
    assert made.certificate.ratio >= 1 - 1e-9


def test_lustre_places_files_of_no_bytes_on_osts_that_iez_would_not_use():
    policy = Policy(strategy="lustre-rr", pin_min_bytes=0, exclude_osts=frozenset(range(1, 500)))
    made = allocate([Request(0, 400)], some_osts(500), policy)
    assert len(made.placement(0).osts) == 400
    assert made.certificate.ratio == 1


def test_arrays_and_records_are_the_same_to_the_allocator():
    records = [
        Request(i * GIB, i % 3, i, 4096, overstripe=i == 4, name=f"n{i}") for i in range(1, 6)
    ]
    arrays = Requests.make(
        np.arange(1, 6) * GIB, [1, 2, 0, 1, 2], range(1, 6), 4096,
        overstripe=[False, False, False, True, False], names=[f"n{i}" for i in range(1, 6)],
    )  # fmt: skip
    targets = Osts.make(6 * [100 * GIB], 100 * GIB)
    one, other = allocate(records, some_osts(6)), allocate(arrays, targets)
    assert list(one) == list(other)
    assert one.certificate == other.certificate


def test_a_part_has_room_for_a_stripe_on_each_of_its_osts():
    requests = Requests.make([64 << 20], stripe_count=32, high_bytes=[1 << 30])
    made = allocate(requests, Osts.make([10 << 30] * 40, [10 << 30] * 40))
    first, second = made.parts[0]
    assert first.end_bytes == 32 * first.stripe_size_bytes
    assert len(first.osts) == len(second.osts) == 32


def test_a_single_writer_gains_nothing_by_parts_of_its_own():
    osts = Osts.make([100 << 30] * 15, [100 << 30] * 15)
    alone = Requests.make([4 << 30], stripe_count=2)
    assert not allocate(alone, osts).splits
    assert allocate(Requests.make([4 << 30], stripe_count=2, writers=16), osts).splits
    # Where others are on every OST, its parts fill up what they leave.
    assert allocate(Requests.make([2 << 30] * 8, stripe_count=8), osts).splits
    assert allocate(alone, osts, Policy(pfl="always")).splits


def test_a_split_file_is_on_no_more_osts_than_the_site_allows():
    osts = Osts.make([100 << 30] * 15, [100 << 30] * 15)
    shared = Requests.make([32 << 30], stripe_count=8, writers=16)
    assert allocate(shared, osts, Policy(stripe_count_max=15)).splits
    assert not allocate(shared, osts, Policy(stripe_count_max=14)).splits


def test_a_file_of_uncertain_size_has_its_second_part_in_its_pool_too():
    pools = {"flash": frozenset(range(4))}
    files = [
        Request(GIB, 2, high_bytes=4 * GIB, pool="flash"),
        Request(GIB, 2, high_bytes=4 * GIB),
        Request(GIB, 2),
    ]
    made = allocate(files, some_osts(12), Policy(pools=pools))
    first, second = made.parts[0]
    assert set(first.osts) | set(second.osts) <= pools["flash"]
    assert len(made.parts[1]) == 2
    assert set(made.parts) == {0, 1}
