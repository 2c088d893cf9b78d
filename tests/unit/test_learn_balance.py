"""How even layouts are, and what each OST holds of a file."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iez_client.learn.balance import Laid, balances
from iez_common.extents import Extent, format_extents, ost_bytes, parse_extents

MIB = 1 << 20


def state(osts: int, size_bytes: int = 1 << 40) -> str:
    each = {"size_bytes": size_bytes, "available_bytes": size_bytes, "oss": "a", "states": []}
    listed = [{"index": index, **each} for index in range(osts)]
    return json.dumps([{"file_system": "l", "prefix": "/l", "osts": listed}])


def test_stripes_go_round_the_osts() -> None:
    held = ost_bytes(10 * MIB + 5, MIB, parse_extents("", (7, 3, 5, 1)))
    assert held == {7: 3 * MIB, 3: 3 * MIB, 5: 2 * MIB + 5, 1: 2 * MIB}


def test_components_follow_each_other() -> None:
    extents = parse_extents("1048576:1 4194304:2 eof:1", (0, 1, 2, 3))
    assert extents == [
        Extent(0, MIB, (0,)),
        Extent(MIB, 4 * MIB, (1, 2)),
        Extent(4 * MIB, None, (3,)),
    ]
    assert ost_bytes(6 * MIB, MIB, extents) == {0: MIB, 1: 2 * MIB, 2: MIB, 3: 2 * MIB}
    assert ost_bytes(MIB // 2, MIB, extents) == {0: MIB // 2}


def test_extents_are_written_as_they_are_read() -> None:
    text = format_extents([(MIB, 1), (None, 2)])
    assert text == "1048576:1 eof:2"
    assert format_extents([]) == ""
    with pytest.raises(ValueError, match="invalid literal"):
        parse_extents("x:y", (1,))


@given(
    size=st.integers(0, 1 << 44),
    stripe=st.integers(0, 64).map(lambda n: n * 65536),
    ends=st.lists(st.integers(1, 1 << 44), max_size=4).map(sorted),
    counts=st.lists(st.integers(1, 8), min_size=5, max_size=5),
)
def test_no_byte_is_lost(size: int, stripe: int, ends: list[int], counts: list[int]) -> None:
    components = list(zip([*ends, None], counts, strict=False))
    osts = tuple(range(sum(count for _, count in components)))
    extents = parse_extents(format_extents(components), osts)
    assert sum(ost_bytes(size, stripe, extents).values()) == size


def test_one_file_on_one_of_four_osts_is_four_times_the_mean() -> None:
    (found,) = balances([Laid("/l/a", 8 * MIB, 1, MIB, (2,))], state(4))
    assert (found.file_count, found.ost_cost, found.round_robin_cost) == (1, 4.0, 4.0)


def test_round_robin_has_the_same_stripe_counts() -> None:
    big, small = Laid("/l/a", 9 * MIB, 1, MIB, (0,)), Laid("/l/b", MIB, 1, MIB, (1,))
    placed = [big, small, Laid("/l/c", 9 * MIB, 1, MIB, (1,)), Laid("/l/d", MIB, 1, MIB, (0,))]
    (found,) = balances(placed, state(2))
    assert found.ost_cost == 1.0
    assert found.round_robin_cost == pytest.approx(1.8)


def test_files_elsewhere_and_files_without_osts_do_not_count() -> None:
    files = [
        Laid("/l/a", MIB, 1, MIB, (0,)),
        Laid("/m/b", MIB, 1, MIB, (0,)),
        Laid("/l/c", 1, 0, 0, ()),
    ]
    (found,) = balances(files, state(1))
    assert found.file_count == 1
    assert balances(files[1:], state(1)) == []


def test_osts_that_are_gone_give_no_figure() -> None:
    assert balances([Laid("/l/a", MIB, 1, MIB, (9,))], state(4)) == []
