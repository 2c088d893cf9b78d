"""States: what letters, bits and space say about an OST, as names of records.STATES."""

from collections.abc import Iterable

NEARLY_FULL_PERCENT = 5  # below this share of its size an OST counts as nearly full
FILES_LOW = 32  # below this many free objects the MDS takes an OST for full

_LETTERS = {"D": "degraded", "R": "read-only", "N": "no-create", "S": "full", "I": "full"}
_BITS = {0x1: "degraded", 0x2: "read-only", 0x4: "no-create", 0x20: "full", 0x40: "full"}


def from_letters(text: str) -> tuple[str, ...]:
    """States of the file `statfs_state`; an empty line is a healthy OST. Letters of later releases
    are passed over: not each of them means trouble."""
    return tuple(sorted({_LETTERS[letter] for letter in text if letter in _LETTERS}))


def from_bits(bits: int) -> tuple[str, ...]:
    """States of the field `state` of an answer to IOC_OBD_STATFS."""
    return tuple(sorted({name for bit, name in _BITS.items() if bits & bit}))


def with_space(
    states: Iterable[str], size_bytes: int, available_bytes: int, files_free: int | None = None
) -> frozenset[str]:
    """The states, and what the space adds: full as an MDS sees it, below 0.1 % of the size and at
    least 1 MiB, or else nearly full."""
    low_bytes = max(1 << 20, size_bytes >> 10)
    if available_bytes < low_bytes or (files_free is not None and files_free < FILES_LOW):
        return frozenset(states) | {"full"}
    if available_bytes * 100 < size_bytes * NEARLY_FULL_PERCENT and "full" not in states:
        return frozenset(states) | {"nearly-full"}
    return frozenset(states)
