"""Sizes and index sets as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iez_common.units import format_indices, format_size, parse_indices, parse_size_bytes


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0", 0),
        ("65536", 65536),
        ("64k", 65536),
        ("64K", 65536),
        ("4M", 4 << 20),
        ("4MiB", 4 << 20),
        ("4mib", 4 << 20),
        ("4MB", 4 << 20),
        (" 4 M ", 4 << 20),
        ("1.5G", 3 << 29),
        ("2T", 2 << 40),
        ("0.5K", 512),
        ("1.1T", 1209462790553),
    ],
)
def test_sizes_are_powers_of_1024(text: str, size_bytes: int) -> None:
    assert parse_size_bytes(text) == size_bytes


@pytest.mark.parametrize("text", ["", "M", "4X", "-4M", "4 M M", "0x10", "4M4", "1e6", "1.1", "٤M"])
def test_nonsense_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        parse_size_bytes(text)


@given(st.integers(0, 1 << 70))
def test_a_formatted_size_reads_back_exactly(size_bytes: int) -> None:
    assert parse_size_bytes(format_size(size_bytes)) == size_bytes


@pytest.mark.parametrize(
    ("size_bytes", "text"), [(0, "0"), (1023, "1023"), (65536, "64K"), (4 << 20, "4M")]
)
def test_sizes_are_printed_short(size_bytes: int, text: str) -> None:
    assert format_size(size_bytes) == text


def test_index_sets_may_have_holes() -> None:
    assert parse_indices("0-3,7 9-9, 8") == (0, 1, 2, 3, 7, 8, 9)
    assert format_indices((9, 8, 7, 3, 0, 1)) == "0-1,3,7-9"
    assert format_indices(()) == ""


@given(st.sets(st.integers(0, 65535), min_size=1, max_size=60))
def test_a_formatted_set_reads_back(indices: set[int]) -> None:
    assert parse_indices(format_indices(list(indices))) == tuple(sorted(indices))


@pytest.mark.parametrize("text", ["", ",", "a", "3-1", "-1", "0-65536", "1--2"])
def test_nonsense_is_no_set(text: str) -> None:
    with pytest.raises(ValueError, match=r"index|backwards"):
        parse_indices(text)
