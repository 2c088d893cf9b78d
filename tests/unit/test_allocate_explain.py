"""Explain: for each OST and file the true reason, with its numbers."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from iez_common.allocate import Osts, Policy, Requests, allocate
from iez_common.allocate import explain as why
from iez_common.allocate import explain_file as file_why
from iez_common.allocate.explain import Explainer, OstReason
from iez_common.errors import AllocationError
from iez_common.records import Ost, Request

MIB, GIB = 1 << 20, 1 << 30
PAGE = (Path(__file__).parents[2] / "docs" / "allocate.md").read_text()
PLAIN = Policy(objective="bandwidth", pfl="never")


def ost(index: int, available: int = 100, size: int = 100, *states: str) -> Ost:
    return Ost(index, size * GIB, available * GIB, str(index % 2), frozenset(states))


def explain(requests: Sequence[Request], osts: Sequence[Ost], policy: Policy = PLAIN) -> Explainer:
    columns = Requests.of(requests), Osts.of(osts)
    return Explainer(*columns, policy, allocate(*columns, policy))


def reasons(explainer: Explainer, number: int) -> dict[int, OstReason]:
    return {each.index: each for each in explainer.file_osts(number)}


def codes(explainer: Explainer) -> dict[int, str]:
    return {each.index: each.why for each in explainer.all_osts()}


def test_what_keeps_an_ost_out_of_everything() -> None:
    osts = [
        ost(0),
        ost(1, 100, 100, "read-only", "degraded"),
        ost(2),
        ost(3, 0, 0),
        ost(4, 100, 100, "degraded"),
        ost(5, 4, 100, "nearly-full"),
    ]
    found = explain([Request(GIB)], osts, Policy(exclude_osts=frozenset({2})))
    assert codes(found) == {
        0: why.MOST_ROOM,
        1: why.CLOSED_BY_STATE,
        2: why.EXCLUDED,
        3: why.NO_SIZE,
        4: why.AVOIDED_BY_STATE,
        5: why.AVOIDED_BY_STATE,
    }
    states = {each.index: each.states for each in found.all_osts()}
    assert (states[1], states[4], states[5]) == (("read-only",), ("degraded",), ("nearly-full",))
    assert {index: each.why for index, each in reasons(found, 0).items()} == codes(found)


def test_an_avoided_ost_that_is_needed_is_not_said_to_be_avoided() -> None:
    osts = [ost(0, 3), ost(1, 9, 100, "degraded")]
    found = explain([Request(8 * GIB, stripe_count=1)], osts)
    assert codes(found) == {0: why.NO_SPACE, 1: why.MOST_ROOM}
    small = reasons(found, 0)[0]
    assert (small.why, small.free_bytes, small.needed_bytes) == (why.NO_SPACE, 3 * GIB, 8 * GIB)


def test_an_avoided_ost_that_may_be_used_but_has_no_room_is_judged_by_its_room() -> None:
    """The others do not suffice, for want of OSTs: then a degraded one counts like any other."""
    osts = [ost(0), ost(1), ost(2, 100, 100, "degraded"), ost(3, 1, 100, "degraded")]
    found = explain([Request(9 * GIB, stripe_count=3)], osts)
    assert codes(found)[2] == why.MOST_ROOM
    assert codes(found)[3] == why.NO_SPACE


def test_rooms_are_those_of_the_moment_when_a_file_was_placed() -> None:
    """Three OSTs; 6 G first, then 4 G, then 3 G in two stripes: the bound is 13 G over three OSTs,
    and no less than 6 G for the largest stripe."""
    files = [Request(6 * GIB, 1), Request(4 * GIB, 1), Request(3 * GIB, 2)]
    found = explain(files, [ost(0), ost(1), ost(2)])
    first, second, third = (reasons(found, number) for number in range(3))
    assert [each.why for each in first.values()] == [why.MOST_ROOM, why.IN_TURN, why.IN_TURN]
    assert second[0].why == why.LESS_ROOM
    assert (second[0].room_bytes, second[0].last_room_bytes) == (0, 6 * GIB)
    assert (second[1].why, second[1].room_bytes) == (why.MOST_ROOM, 6 * GIB)
    assert second[2].why == why.IN_TURN
    assert [each.room_bytes for each in third.values()] == [0, 2 * GIB, 6 * GIB]
    assert third[1].is_chosen
    assert third[1].last_room_bytes == 2 * GIB
    assert third[1].load_bytes == 3 * GIB // 2


def test_the_sum_of_an_ost_is_that_of_its_files() -> None:
    files = [Request(6 * GIB, 1), Request(4 * GIB, 1), Request(3 * GIB, 2)]
    found = explain(files, [ost(0), ost(1), ost(2), ost(3, 100, 100, "full")])
    outcomes = found.all_osts()
    assert [each.load_bytes for each in outcomes] == found.allocation.load_bytes.tolist()
    assert sum(each.stripe_count for each in outcomes) == 4
    certificate = found.allocation.certificate
    assert max(each.level for each in outcomes) == certificate.value
    assert outcomes[0].room_bytes == pytest.approx(6 * GIB, abs=2)
    assert outcomes[3].level == 0


def test_an_ost_that_got_nothing_had_less_room_or_no_space() -> None:
    osts = [ost(0, 50), ost(1, 50), ost(2, 5), ost(3, 1)]
    found = explain([Request(8 * GIB, 2)], osts, Policy(objective="space", pfl="never"))
    outcomes = {each.index: each for each in found.all_osts()}
    assert outcomes[2].why == why.LESS_ROOM
    assert outcomes[2].room_bytes == 0
    assert outcomes[3].why == why.NO_SPACE
    assert (outcomes[3].free_bytes, outcomes[3].needed_bytes) == (GIB, 4 * GIB)


def test_pools_are_explained_on_top_of_each_other() -> None:
    policy = Policy(
        objective="bandwidth", pools={"a": frozenset({0, 1}), "b": frozenset({1, 2, 3})}
    )
    files = [Request(4 * GIB, 1, pool="b"), Request(6 * GIB, 2, pool="a")]
    found = explain(files, [ost(index) for index in range(5)], policy)
    assert codes(found)[4] == why.NOT_IN_POOL
    of_b = reasons(found, 0)
    assert of_b[0].why == why.NOT_IN_POOL
    assert of_b[1].free_bytes == 97 * GIB  # the smaller pool came first
    assert [each.why for each in reasons(found, 1).values()][2:] == [why.NOT_IN_POOL] * 3


def test_emptier_osts_that_are_taken_at_the_same_z_are_told_by_utilisation() -> None:
    """8 G decide z, so the two files of 2 G may lie together: on the emptier OST that is left."""
    files = [Request(size * GIB, 1) for size in (8, 2, 2)]
    found = explain(files, [ost(0, 40), ost(1, 60), ost(2, 60)], Policy(pfl="never"))
    assert found.allocation.load_bytes.tolist() == [0, 8 * GIB, 4 * GIB]
    large, small = reasons(found, 0), reasons(found, 1)
    assert all(each.is_by_space for each in (*large.values(), *small.values()))
    assert [each.why for each in large.values()] == [why.ABOVE_Z, why.MOST_ROOM, why.IN_TURN]
    assert [each.why for each in small.values()] == [why.LESS_ROOM, why.ABOVE_Z, why.MOST_ROOM]
    # OST 0 is fuller than OST 1, and so counts as a little slower: 8 G would take it longer.
    assert large[0].room_bytes is not None
    assert 7 * GIB < large[0].room_bytes < large[0].needed_bytes == 8 * GIB
    assert (small[1].room_bytes, small[1].free_bytes) == (0, 52 * GIB)


def test_exchanged_stripes_are_said_to_be_evened_out_and_no_reason_is_invented() -> None:
    """Two OSTs and stripes of 3, 3, 2, 2 and 2: by room alone one gets 7, the other 5; the exchange
    that makes both 6 moves stripes away from where they had most room."""
    files = [Request(size * GIB, 1) for size in (3, 3, 2, 2, 2)]
    found = explain(files, [ost(0), ost(1)])
    assert found.allocation.load_bytes.tolist() == [6 * GIB, 6 * GIB]
    told = [reasons(found, number) for number in range(5)]
    moved = [each for each in told if any(one.why == why.EVENED_OUT for one in each.values())]
    assert moved
    for each in moved:
        assert {one.is_chosen for one in each.values() if one.why == why.EVENED_OUT} == {
            True,
            False,
        }


def test_a_file_that_is_split_for_balance() -> None:
    files = [Request(10 * GIB, 3, writers=8), Request(GIB, 1)]
    found = explain(files, [ost(index) for index in range(4)], Policy(objective="bandwidth"))
    reason = found.file(0)
    assert reason.parts_why == file_why.BALANCE
    told = reasons(found, 0)
    assert {each.why for each in told.values()} == {why.EVENED_OUT}
    assert sum(each.load_bytes for each in told.values()) == pytest.approx(10 * GIB, abs=64)
    assert found.file(1).parts_why == ""


def test_a_file_that_may_grow_has_a_part_beyond() -> None:
    files = [Request(2 * GIB, 1, high_bytes=8 * GIB)]
    policy = Policy(objective="bandwidth", split_min_bytes=9 * GIB)
    found = explain(files, [ost(0), ost(1)], policy)
    assert found.file(0).parts_why == file_why.UNCERTAIN
    told = reasons(found, 0)
    assert (told[0].why, told[0].load_bytes) == (why.MOST_ROOM, 2 * GIB)
    assert (told[1].why, told[1].load_bytes, told[1].is_chosen) == (why.BEYOND, 0, True)


def test_an_overstriped_file_counts_its_stripes() -> None:
    found = explain([Request(9 * GIB, 9, overstripe=True)], [ost(index) for index in range(3)])
    told = reasons(found, 0)
    assert {(each.why, each.stripe_count) for each in told.values()} == {(why.MOST_ROOM, 3)}
    assert told[2].load_bytes == 3 * GIB


@pytest.mark.parametrize(
    ("request_", "policy", "rung", "code"),
    [
        (Request(MIB - 1), Policy(), "nothing", file_why.SMALL),
        (Request(MIB), Policy(), "list", file_why.ALLOWED),
        (Request(GIB), Policy(ladder="nothing"), "nothing", file_why.LADDER),
        (Request(GIB), Policy(ladder="count"), "count", file_why.LADDER),
        (Request(GIB), Policy(ladder="pool"), "count", file_why.NO_POOL),
        (Request(GIB, pool="p"), Policy(ladder="pool"), "pool", file_why.LADDER),
        (Request(GIB, pool="p"), Policy(), "pool", file_why.UNKNOWN_POOL),
    ],
)
def test_how_far_it_went_with_a_file(
    request_: Request, policy: Policy, rung: str, code: str
) -> None:
    found = explain([request_], [ost(0), ost(1)], policy)
    reason = found.file(0)
    assert (reason.placement.rung, reason.rung_why) == (rung, code)
    if rung != "list":
        assert {each.why for each in reasons(found, 0).values()} == {why.NOT_PINNED}
        assert set(codes(found).values()) == {why.NOT_PINNED}


@pytest.mark.parametrize(
    ("requests", "count", "code"),
    [
        ([Request(GIB, 2)], 2, file_why.GIVEN),
        ([Request(3 * GIB)], 3, file_why.SINGLE_SIZE),
        ([Request(5 * MIB)], 1, file_why.SINGLE_SIZE),
        ([Request(9 * GIB)], 4, file_why.SINGLE_CAP),
        ([Request(9 * GIB)] * 4, 2, file_why.SHARE),
        ([Request(9 * GIB, writers=3)], 3, file_why.WRITERS),
        ([Request(200 * MIB, writers=9)], 3, file_why.SHARED_SIZE),
        ([Request(90 * GIB, writers=99)], 6, file_why.CAP),
        ([Request(9 * GIB, writers=99), Request(GIB, pool="p", writers=9)], 6, file_why.CAP),
        ([Request(9 * GIB, writers=99, pool="p")], 2, file_why.ALL_OSTS),
        ([Request(300 * GIB)], 5, file_why.SPACE),
    ],
)
def test_where_a_stripe_count_comes_from(requests: list[Request], count: int, code: str) -> None:
    policy = Policy(stripe_count_max=6, pools={"p": frozenset({0, 1})})
    reason = explain(requests, [ost(index, 70) for index in range(8)], policy).file(0)
    assert (reason.placement.stripe_count, reason.count_why) == (count, code)


def test_where_a_stripe_size_comes_from() -> None:
    found = explain([Request(GIB), Request(GIB, access_bytes=8 * MIB)], [ost(0), ost(1)])
    assert [found.file(number).size_why for number in (0, 1)] == [file_why.DEFAULT, file_why.ACCESS]


@pytest.mark.parametrize("strategy", ["greedy", "random", "lustre-rr", "lustre-qos", "paper"])
def test_other_strategies_have_rules_of_their_own(strategy: str) -> None:
    osts = [ost(0), ost(1), ost(2), ost(3, 100, 100, "read-only")]
    found = explain([Request(GIB, 2)], osts, Policy(strategy=strategy))
    told = reasons(found, 0)
    assert told[3].why == why.CLOSED_BY_STATE
    assert {told[index].why for index in range(3)} == {why.STRATEGY}
    assert sum(each.is_chosen for each in told.values()) == 2


@settings(deadline=None, max_examples=60)
@given(some.data())
def test_what_is_said_is_true_of_any_allocation(data: some.DataObject) -> None:
    states = some.sampled_from(["", "", "", "degraded", "nearly-full", "read-only", "full"])
    osts = [
        ost(index, data.draw(some.integers(1, 100)), 100, *filter(None, [data.draw(states)]))
        for index in range(data.draw(some.integers(1, 12)))
    ]
    sizes = some.one_of(some.integers(1, 4 * MIB), some.integers(1, 20).map(lambda n: n * GIB))
    files = [
        Request(
            data.draw(sizes),
            data.draw(some.integers(0, 4)),
            writers=data.draw(some.sampled_from([1, 64])),
            overstripe=data.draw(some.booleans()),
            pool=data.draw(some.sampled_from(["", "", "a", "b"])),
        )
        for _ in range(data.draw(some.integers(1, 12)))
    ]
    policy = Policy(
        objective=data.draw(some.sampled_from(["blend", "bandwidth", "space"])),
        pools={"a": frozenset(range(0, 12, 2)), "b": frozenset(range(4, 12))},
    )
    try:
        found = explain(files, osts, policy)
    except AllocationError:
        return
    stripes = np.zeros(len(osts), np.int64)
    for number in range(len(files)):
        placement = found.allocation.placement(number)
        named = {*placement.osts, *(index for part in placement.parts for index in part.osts)}
        told = reasons(found, number)
        assert {index for index, each in told.items() if each.is_chosen} == named
        assert found.file(number).count_why != file_why.BY_STRATEGY
        stripes += [each.stripe_count for each in told.values()]
        for each in told.values():
            if each.why == why.LESS_ROOM:
                assert each.room_bytes is not None and each.last_room_bytes is not None
                assert each.room_bytes < each.last_room_bytes
            elif each.why == why.NO_SPACE:
                assert each.free_bytes is not None and each.free_bytes < each.needed_bytes
            elif each.why == why.AVOIDED_BY_STATE:
                assert each.states
    assert [each.stripe_count for each in found.all_osts()] == stripes.tolist()


def test_the_page_tells_every_code() -> None:
    names = [name for name in vars(why) if name.isupper() and isinstance(getattr(why, name), str)]
    assert len(names) >= 13
    for name in names:
        assert f"| `{getattr(why, name)}` |" in PAGE, name
