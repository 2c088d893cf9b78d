"""The loopback's own choice of OSTs where the model has none: cut counts, starts, pools, and OSTs
that stay full for a while."""

import errno
from dataclasses import replace
from functools import partial
from random import Random

import pytest
from choose_library import (
    COUNTS,
    DEGRADED,
    FULL,
    GIB,
    INACTIVE,
    MIB,
    NO_CREATE,
    ORDER,
    READ_ONLY,
    THREE_BY_FIVE,
    Mds,
    Model,
    Noted,
    Seen,
    compile_choose,
    mds_of,
    osts_of,
    units,
)  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compile_choose(tmp_path_factory.mktemp("choose") / "choose.so", "-shared", "-fPIC")


@pytest.fixture
def mds(library):
    return partial(mds_of, library)


def error_of(call, *arguments, **named):
    with pytest.raises(OSError) as caught:
        call(*arguments, **named)
    return caught.value.errno


# Counts


def test_all_is_more_than_there_is(library, mds):
    states = {1: FULL, 2: READ_ONLY, 5: INACTIVE, 6: DEGRADED}
    osts = osts_of([0] * 10, states=states)
    model, every = Model(osts, Random(1)), mds(osts)
    for _ in range(50):
        assert every.choose(is_all=True) == model.choose(99)


def test_a_count_that_was_cut_is_content_with_three_quarters(mds):
    # Cut to n = 8, so m = 6: the degraded OST is not needed. Eight asked for need it.
    osts = osts_of([0] * 8, states={1: FULL, 2: DEGRADED})
    for wish in ({"stripe_count": 9}, {"is_all": True}):
        assert sorted(mds(osts).choose(**wish)) == [0, 3, 4, 5, 6, 7]
    assert sorted(mds(osts).choose(8)) == [0, 2, 3, 4, 5, 6, 7]


def test_all_with_overstriping_is_one_stripe_for_each(mds):
    assert sorted(mds(THREE_BY_FIVE).choose(is_all=True, overstripe=True)) == list(range(15))


def test_no_count_is_one_stripe(mds):
    assert len(mds(THREE_BY_FIVE).choose(0)) == 1


def test_no_more_is_chosen_than_there_is_room_for(mds):
    assert len(mds(THREE_BY_FIVE).choose(9, room=4)) == 4
    assert len(mds(osts_of([0, 0])).choose(9, overstripe=True, room=4)) == 4


def test_nothing_to_choose_from_is_no_space(mds):
    assert error_of(mds([]).choose) == errno.ENOSPC
    for state in (READ_ONLY, NO_CREATE, FULL, INACTIVE):
        closed = mds(osts_of([0, 0], states={0: state, 1: state}))
        for _ in range(3):
            assert error_of(closed.choose, 2) == errno.ENOSPC


# OSTs that are full


def test_a_full_ost_opens_again_only_with_twice_as_much(mds):
    # A thousandth of 10 GiB are 10 MiB; twice that and 1 MiB are 21.
    def only(available_bytes):
        return osts_of([0], [available_bytes])

    one = mds(only(15 * MIB))
    assert one.choose() == [0]
    for available_bytes, is_open in (
        (10 * MIB, True), (10 * MIB - 1, False), (15 * MIB, False), (22 * MIB - 1, False),
        (22 * MIB, True), (15 * MIB, True), (0, False),
    ):  # fmt: skip
        one.see(only(available_bytes))
        if is_open:
            assert one.choose() == [0]
        else:
            assert error_of(one.choose) == errno.ENOSPC


def test_a_state_of_full_ends_when_it_is_taken_away(mds):
    one = mds(osts_of([0], [15 * MIB], {0: FULL}))
    assert error_of(one.choose) == errno.ENOSPC
    one.see(osts_of([0], [15 * MIB]))
    assert one.choose() == [0]


def test_a_small_ost_is_full_below_1_mib(mds):
    small = Seen(0, size_bytes=GIB // 8, available_bytes=MIB)
    assert mds([small]).choose() == [0]
    assert error_of(mds([replace(small, available_bytes=MIB - 1)]).choose) == errno.ENOSPC


# A start


def test_a_start_is_followed_by_the_next_in_index_order(mds):
    osts = osts_of([0, 1, 0, 1], indices=[2, 3, 7, 9])
    assert mds(osts, draws=[]).choose(3, start=7) == [7, 9, 2]


def test_unusable_osts_behind_a_start_are_passed_over(mds):
    states = {1: FULL, 2: DEGRADED, 3: READ_ONLY, 4: NO_CREATE, 5: INACTIVE}
    osts = osts_of([0] * 8, states=states)
    assert mds(osts).choose(3, start=0) == [0, 2, 6]
    # There are not more: the file gets fewer stripes.
    assert mds(osts).choose(7, start=6) == [6, 7, 0, 2]
    assert mds(osts).choose(is_all=True, start=2) == [2, 6, 7, 0]


@pytest.mark.parametrize(
    ("state", "error"),
    [
        (INACTIVE, errno.EREMOTEIO),
        (FULL, errno.ENOSPC),
        (READ_ONLY, errno.EROFS),
        (NO_CREATE, errno.ENOBUFS),
        (INACTIVE | FULL | READ_ONLY, errno.EREMOTEIO),
    ],
)
def test_a_start_that_takes_no_object_is_refused_with_its_own_error(mds, state, error):
    osts = osts_of([0] * 3, states={1: state})
    assert error_of(mds(osts).choose, start=1) == error


def test_a_start_that_ran_full_is_refused(mds):
    assert error_of(mds(osts_of([0, 0], [GIB, 0])).choose, start=1) == errno.ENOSPC


def test_a_start_that_is_not_there_is_refused(mds):
    osts = osts_of([0, 0], indices=[1, 3])
    for start in (0, 2, 4, 70000):
        assert error_of(mds(osts).choose, start=start) == errno.EINVAL


def test_osts_of_other_components_come_last_behind_a_start_but_the_start_does_not(mds):
    osts = osts_of([0] * 5)
    assert mds(osts).choose(3, others=[1, 2], start=1) == [1, 3, 4]
    assert mds(osts).choose(5, others=[1, 2], start=1) == [1, 3, 4, 0, 2]


def test_overstriping_from_a_start_goes_round(mds):
    assert mds(osts_of([0] * 3)).choose(7, overstripe=True, start=2) == [2, 0, 1, 2, 0, 1, 2]


def test_a_start_leaves_round_robin_where_it_was(mds):
    alike = mds(THREE_BY_FIVE, draws=[2])
    assert alike.choose(2) == ORDER[3:5]
    alike.choose(6, start=9)
    assert alike.choose(2) == ORDER[5:7]


# Pools


def test_a_pool_of_all_osts_is_like_none(mds):
    model, pooled = Model(THREE_BY_FIVE, Random(1)), mds(THREE_BY_FIVE, pools=1)
    for file in range(3000):
        stripe_count = COUNTS[file % 5]
        chosen = pooled.choose(stripe_count, pool_id=1, pool=range(15))
        assert chosen == model.choose(stripe_count)


@pytest.mark.parametrize(
    ("pool", "order"),
    [
        # Servers have 5 OSTs, whatever the pool: slots 0, 1, 2; then 0 and 1 are taken.
        ([0, 1, 2, 5, 6], [0, 1, 2, 5, 6]),
        ([0, 5, 10, 1], [0, 1, 5, 10]),
        ([14, 13, 9], [9, 14, 13]),
        # Nine OSTs: slots 0, 1, 3, 5 of the first, 2 and 4 of the second, 6, 7, 8 of the third.
        ([0, 1, 2, 3, 5, 6, 10, 11, 12], [0, 1, 5, 2, 6, 3, 10, 11, 12]),
    ],
)
def test_a_pool_has_an_order_of_its_own(mds, pool, order):
    pooled = mds(THREE_BY_FIVE, draws=[len(pool) - 1], pools=1)
    assert [pooled.choose(1, pool_id=1, pool=pool) for _ in pool] == [[ost] for ost in order]


def test_pools_count_apart(mds):
    low, high = [0, 1, 2, 3], [3, 4, 5]
    pooled = mds(THREE_BY_FIVE, draws=[2, 3, 2], pools=2)
    assert pooled.choose(2) == ORDER[3:5]
    # S = 3; then S = 5 − 4 and K = 1; then S = 3.
    for expected in ([0, 1], [3, 0], [1, 2]):
        assert pooled.choose(2, pool_id=1, pool=low) == expected
    assert pooled.choose(1, pool_id=2, pool=high) == [3]
    assert pooled.choose(2) == ORDER[5:7]


def test_a_file_gets_no_more_than_its_pool(mds):
    pooled = mds(THREE_BY_FIVE, pools=1)
    for wish in ({"stripe_count": 7}, {"is_all": True}, {"stripe_count": 40}):
        for _ in range(20):
            assert sorted(pooled.choose(**wish, pool_id=1, pool=[2, 4, 6])) == [2, 4, 6]
    assert len(pooled.choose(7, overstripe=True, pool_id=1, pool=[2, 4, 6])) == 7


def test_a_start_has_to_be_in_the_pool_and_is_followed_by_the_rest_of_it(mds):
    pooled = mds(THREE_BY_FIVE, pools=1)
    assert pooled.choose(3, start=4, pool_id=1, pool=[2, 4, 6, 8]) == [4, 6, 8]
    assert pooled.choose(3, start=8, pool_id=1, pool=[2, 4, 6, 8]) == [8, 2, 4]
    assert error_of(pooled.choose, start=3, pool_id=1, pool=[2, 4, 6, 8]) == errno.EINVAL


def test_a_pool_that_cannot_be_is_refused(mds):
    pooled = mds(THREE_BY_FIVE, pools=1)
    for pool_id, pool in ((2, [1]), (1, [1, 15]), (1, [1, 1])):
        assert error_of(pooled.choose, pool_id=pool_id, pool=pool) == errno.EINVAL
    assert error_of(pooled.choose, pool_id=1, pool=[]) == errno.ENOSPC


def test_space_is_compared_within_the_pool(mds):
    osts = osts_of([0, 0, 1, 1], [10 * GIB, 10 * GIB, 2 * GIB, 2 * GIB])
    # Round robin draws S = 0 and takes slot 1. A mark of 0 takes the first OST.
    assert mds(osts, draws=[0], pools=1).choose(1, pool_id=1, pool=[0, 1]) == [1]
    assert mds(osts, draws=[0], pools=1).choose(1, pool_id=1, pool=[1, 2]) == [1]
    alike = mds(osts_of([0, 0], [10 * GIB, 10 * GIB]), draws=[0], pools=1)
    assert alike.choose(1, pool_id=1, pool=[0, 1]) == [1]


def test_the_equal_space_of_a_pool_is_believed_for_5_s(mds):
    last = (10 + 2) * GIB // 256 - 1
    pooled = mds(osts_of([0, 0]), draws=[1, last], pools=1)
    assert pooled.choose(1, now_s=10, pool_id=1, pool=[0, 1]) == [0]
    pooled.see(osts_of([0, 0], [10 * GIB, 2 * GIB]))
    assert pooled.choose(1, now_s=14, pool_id=1, pool=[0, 1]) == [1]  # the next one in turn
    assert pooled.choose(1, now_s=15, pool_id=1, pool=[0, 1]) == [1]  # the last one by weight


def test_an_ost_is_charged_by_the_number_in_its_pool(library):
    chance = Noted(1)
    closed = {1: NO_CREATE, 2: NO_CREATE}
    osts = osts_of([0, 0, 1, 1], units(300000, 200000, 100000, 100000), closed)
    pooled = Mds(library, osts, chance.randrange, pools=1)
    for now_s in (0, 40, 90):
        assert pooled.choose(1, now_s=now_s, pool_id=1, pool=[0, 1, 2]) == [0]
    # q = 26 · 300000 / 512 / 2 = 7617, and 4 OSTs are active: P = 3q, then P/2 + 3q; after 50 s
    # that is halved. Servers are not charged as long as no file is chosen without a pool.
    assert chance.bounds == [300000, 300000 - 22851, 300000 - (11425 + 22851) // 2]
