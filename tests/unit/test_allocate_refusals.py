"""Nonsense is refused with a reason, and a hint where there is something to try."""

import math

import numpy as np
import pytest

from iez_common.allocate import STRATEGIES, Osts, Policy, Requests, allocate
from iez_common.allocate.columns import BYTES_MAX
from iez_common.errors import AllocationError
from iez_common.records import CLOSED, Ost, Request

GIB = 1 << 30
FOUR = [Ost(index, 10 * GIB, 10 * GIB) for index in range(4)]
NAN, INFINITE = math.nan, math.inf


def refused(work, *arguments, **named):
    """The message and the hint; one line each, the message a sentence without an end."""
    with pytest.raises(AllocationError) as caught:
        work(*arguments, **named)
    error = caught.value
    assert error.exit_code == 65
    for text in (error.message, error.hint):
        assert "\n" not in text
        assert len(text) < 160
    assert error.message
    assert not error.message.endswith(".")
    return error.message, error.hint


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_files_are_refused_where_no_ost_can_be_used(strategy):
    policy = Policy(strategy=strategy)
    for state in CLOSED:
        closed = [Ost(0, GIB, GIB, states=frozenset({state})), Ost(1, GIB, GIB, states={state})]
        message, hint = refused(allocate, [Request(GIB, 1)], closed, policy)
        assert message == "no OST can be used: each is closed, excluded or without a size"
        assert "iez osts" in hint
    refused(allocate, [Request(GIB, 1)], [], policy)
    refused(allocate, [Request(GIB, 1)], [Ost(0, 0, 0)], policy)


def test_all_osts_can_be_excluded_only_in_vain():
    message, _ = refused(allocate, [Request(1)], FOUR, Policy(exclude_osts=frozenset(range(9))))
    assert "no OST can be used" in message


def test_a_count_beyond_the_osts_is_refused_unless_stripes_may_share():
    message, hint = refused(allocate, [Request(GIB, 4), Request(GIB, 5)], FOUR)
    assert message == "request 1 asks for 5 stripes, and 4 OSTs can be used"
    assert "overstriping" in hint
    made = allocate([Request(GIB, 9, overstripe=True)], FOUR)
    assert len(made.placement(0).osts) == 9


def test_a_count_counts_only_osts_that_can_be_used():
    closed = [*FOUR[:3], Ost(3, 10 * GIB, 10 * GIB, states=frozenset({"full"}))]
    message, _ = refused(allocate, [Request(GIB, 4)], closed)
    assert message == "request 0 asks for 4 stripes, and 3 OSTs can be used"


def test_the_request_that_is_named_is_that_of_the_caller_with_pools_too():
    policy = Policy(pools={"a": frozenset({1, 2})})
    message, _ = refused(allocate, [Request(GIB, 4), Request(GIB, 3, pool="a")], FOUR, policy)
    assert message == "request 1 asks for 3 stripes, and 2 OSTs can be used"


@pytest.mark.parametrize("strategy", ["iez", "greedy", "random", "paper", "paper-rising"])
def test_bytes_beyond_the_space_are_refused(strategy):
    policy = Policy(strategy=strategy)
    for files in (
        [Request(41 * GIB, 4)],  # more than all
        [Request(11 * GIB, 1)],  # more than one can take
        [Request(30 * GIB, 4), Request(11 * GIB, 4)],
        [Request(6 * GIB, 1)] * 5,  # one too many, for all that is free
    ):
        message, hint = refused(allocate, files, FOUR, policy)
        assert "OSTs" in message
        assert hint
    assert allocate([Request(40 * GIB, 4)], FOUR, Policy()).certificate.ratio == pytest.approx(1)


def test_what_iez_says_about_space():
    message, hint = refused(allocate, [Request(11 * GIB, 1)], FOUR)
    assert message == "11.0G in 1 stripes do not fit into 40.0G free on 4 OSTs"
    assert "more stripes" in hint


def test_what_fits_only_by_free_space_is_placed():
    """The fast OSTs are small: what the bound leaves to each would fill them too early."""
    targets = Osts.make(
        [gib * GIB for gib in (7, 13, 6, 13)],
        [gib * GIB for gib in (7, 13, 6, 13)],
        bandwidth_bytes_per_s=[1.041e9, 0.987e9, 0.987e9, 0.295e9],
    )
    files = [Request(gib * GIB, 3) for gib in (9, 5, 6, 8)]
    found = allocate(files, targets, Policy(objective="bandwidth", pfl="never"))
    assert (found.load_bytes <= targets.available_bytes).all()


@pytest.mark.parametrize("rate", [-1.0, NAN, INFINITE, 1e-300, 1e300])
def test_a_bandwidth_that_nothing_can_be_divided_by_is_refused(rate):
    message, _ = refused(Osts.make, [GIB], [GIB], bandwidth_bytes_per_s=[rate])
    assert message == f"bandwidth_bytes_per_s: {rate} is not a rate"


def test_an_unknown_strategy_is_refused_with_those_that_there_are():
    message, hint = refused(allocate, [], FOUR, Policy(strategy="best"))
    assert message == "there is no strategy 'best'"
    assert hint == f"one of: {', '.join(STRATEGIES)}"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("objective", "speed"),
        ("ladder", "roof"),
        ("pfl", "maybe"),
    ],
)
def test_a_policy_says_what_a_word_could_be(field, value):
    message, hint = refused(Policy, **{field: value})
    assert message == f"policy: {field}: there is no {value!r}"
    assert hint.startswith("one of: ")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("pin_min_bytes", -1), ("split_min_bytes", -1), ("seed", -1), ("stripe_count_max", 0),
        ("stripe_count_max_single", 0), ("single_stripe_bytes", 0), ("shared_stripe_bytes", 0),
        ("racing", 0), ("stripe_size_bytes", 65535), ("stripe_size_bytes", 0),
        ("stripe_size_bytes", 4 * GIB), ("ost_bandwidth_bytes_per_s", 0.0),
        ("ost_bandwidth_bytes_per_s", NAN), ("ost_bandwidth_bytes_per_s", INFINITE),
        ("ost_bandwidth_bytes_per_s", 1e-300), ("ost_bandwidth_bytes_per_s", 1e300),
        ("busy_floor", 0.0), ("busy_floor", NAN), ("headroom", -0.1), ("headroom", 1.1),
        ("headroom_floor", 0.0), ("drift", 2.0), ("drift", -INFINITE), ("pin_min_bytes", NAN),
        ("stripe_count_max", 1.5),
    ],
)  # fmt: skip
def test_a_policy_refuses_numbers_that_make_no_sense(field, value):
    assert refused(Policy, **{field: value})[0].startswith("policy: ")


def test_a_pool_that_is_not_allowed_is_refused_with_those_that_are():
    policy = Policy(pools={"a": frozenset({1})}, pools_allowed=frozenset({"a", "c"}))
    message, hint = refused(allocate, [Request(GIB, 1, pool="b")], FOUR, policy)
    assert message == "the pool 'b' is not allowed here"
    assert hint == "pools that are: a, c"
    refused(allocate, [Request(1, pool="a")], FOUR, Policy(pools_allowed=frozenset()))


def test_a_pool_without_an_ost_that_can_be_used_is_refused():
    policy = Policy(pools={"a": frozenset({77})})
    message, _ = refused(allocate, [Request(GIB, 1, pool="a")], FOUR, policy)
    assert message == "no OST of the pool 'a' can be used"


@pytest.mark.parametrize("value", [-1, NAN, INFINITE, -INFINITE, 0.5, "1", None, 1 << 62, 1 << 70])
@pytest.mark.parametrize(
    "field", ["write_bytes", "stripe_count", "writers", "access_bytes", "high_bytes"]
)
def test_requests_are_whole_numbers_that_are_not_negative(field, value):
    message, _ = refused(allocate, [Request(**{"write_bytes": GIB, field: value})], FOUR)
    assert field in message


@pytest.mark.parametrize("value", [-1, NAN, INFINITE, 0.5, "1", None, 1 << 62, 1 << 70])
@pytest.mark.parametrize("field", ["index", "size_bytes", "available_bytes", "promised_bytes"])
def test_osts_are_whole_numbers_that_are_not_negative(field, value):
    ost = Ost(**{"index": 0, "size_bytes": GIB, "available_bytes": GIB, field: value})
    assert field in refused(allocate, [], [ost])[0]


@pytest.mark.parametrize("value", [-1.0, NAN, INFINITE, "fast", None])
@pytest.mark.parametrize("field", ["bandwidth_bytes_per_s", "recent_bytes_per_s"])
def test_rates_are_numbers_that_are_not_negative(field, value):
    assert field in refused(allocate, [], [Ost(0, GIB, GIB, **{field: value})])[0]


def test_the_number_at_fault_is_said_with_its_place():
    assert refused(Requests.make, [5, -7, 6])[0] == "write_bytes: -7 (number 1) is below 0"
    message, _ = refused(Requests.make, [5, 6], stripe_count=[1, 2001])
    assert message == "stripe_count: 2001 (number 1) is above 2000"
    assert refused(Requests.make, [1.0, NAN])[0] == "write_bytes: nan is not a number"


@pytest.mark.parametrize(
    "columns",
    [
        {"stripe_count": [1, 2]}, {"writers": [1, 2, 3, 4]}, {"access_bytes": [1]},
        {"high_bytes": [[1, 2, 3]]}, {"overstripe": [True, False]}, {"pool": ["a"]},
        {"names": ["a", "b"]}, {"stripe_count": []}, {"overstripe": [[True]] * 3},
    ],
)  # fmt: skip
def test_columns_of_requests_have_one_length(columns):
    refused(Requests.make, [1, 2, 3], **columns)


@pytest.mark.parametrize(
    "columns",
    [
        {"index": [0, 1]}, {"oss": ["a"]}, {"states": [["full"]]}, {"promised_bytes": [0]},
        {"bandwidth_bytes_per_s": [1.0, 2.0]}, {"recent_bytes_per_s": [[1.0] * 3]},
    ],
)  # fmt: skip
def test_columns_of_osts_have_one_length(columns):
    refused(Osts.make, [GIB] * 3, [GIB] * 3, **columns)


def test_rows_of_different_lengths_are_no_column():
    refused(Requests.make, [[1], [1, 2]])
    refused(Requests.make, [[1, 2], [3, 4]])
    refused(Osts.make, [GIB, GIB], [GIB])


def test_an_ost_that_is_there_twice_is_refused():
    message, hint = refused(allocate, [], [*FOUR, Ost(2, GIB, GIB)])
    assert message == "an OST is there twice"
    assert hint


def test_an_ost_with_more_available_than_its_size_is_refused():
    message, _ = refused(allocate, [], [Ost(7, GIB, GIB), Ost(9, GIB, GIB + 1)])
    assert message == "OST 9 has more available than its size"


def test_an_unknown_state_is_refused_with_those_that_there_are():
    message, hint = refused(allocate, [], [Ost(0, GIB, GIB, states=frozenset({"tired"}))])
    assert message == "'tired' is not a state of an OST"
    assert "degraded" in hint


def test_sums_beyond_what_64_bits_hold_are_refused():
    half = BYTES_MAX // 2 + GIB
    refusals = (
        refused(Requests.make, [half] * 2),
        refused(Requests.make, np.array([half] * 5, np.uint64)),
        refused(Osts.make, [half] * 2, [0] * 2),
        refused(Osts.make, [GIB] * 2, [GIB] * 2, promised_bytes=[half] * 2),
    )
    assert all("the sum is above" in message for message, _ in refusals)


def test_the_largest_sums_are_still_placed():
    for free in (BYTES_MAX // 4, BYTES_MAX // 8 + 6, BYTES_MAX // 24 * 2):
        targets = [
            Ost(index, BYTES_MAX // 4, free, bandwidth_bytes_per_s=1.7e9) for index in range(4)
        ]
        for objective in ("blend", "bandwidth", "space"):
            policy = Policy(objective=objective)
            made = allocate([Request(2 * free, 4)] * 2, targets, policy)
            assert sum(made.load_bytes.tolist()) >= 4 * free
            assert made.certificate.ratio == pytest.approx(1)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nothing_to_place_is_no_nonsense(strategy):
    made = allocate([], FOUR, Policy(strategy=strategy))
    assert len(made) == 0
    assert list(made) == []
    assert made.load_bytes.tolist() == [0] * 4
    certificate = made.certificate
    assert (certificate.value, certificate.bound, certificate.ratio) == (0, 0, 1)
    assert (certificate.ostcost_new, certificate.oss_imbalance) == (1, 1)
    assert certificate.predicted_s == 0
