"""Extents: which part of a file lies on which of its OSTs, in a composite layout.

As a text, for tables and the database: `END:COUNT` for each component, with blanks between. Each
begins where the one before ended, the end of the last is `eof`, and the next COUNT OSTs of the
file's list are its own. Empty for a plain layout.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_EOF = "eof"


@dataclass(frozen=True, slots=True)
class Extent:
    """One component. `end_bytes` None: to the end of the file."""

    start_bytes: int
    end_bytes: int | None
    osts: tuple[int, ...]


def format_extents(components: Iterable[tuple[int | None, int]]) -> str:
    """From the end of each component, None for that of the file, and how many OSTs it has."""
    return " ".join(f"{_EOF if end is None else end}:{count}" for end, count in components)


def parse_extents(text: str, osts: Sequence[int]) -> list[Extent]:
    """One extent for a plain layout. Raises ValueError where the text makes no sense."""
    found = []
    start_bytes = at = 0
    for word in text.split() or [f"{_EOF}:{len(osts)}"]:
        end, _, count = word.partition(":")
        end_bytes = None if end == _EOF else int(end)
        found.append(Extent(start_bytes, end_bytes, tuple(osts[at : at + int(count)])))
        start_bytes, at = end_bytes or start_bytes, at + int(count)
    return found


def ost_bytes(size_bytes: int, stripe_size_bytes: int, extents: Iterable[Extent]) -> dict[int, int]:
    """What each OST holds of a file of that size."""
    held: dict[int, int] = {}
    for each in extents:
        end_bytes = size_bytes if each.end_bytes is None else min(each.end_bytes, size_bytes)
        length, count = end_bytes - each.start_bytes, len(each.osts)
        if length <= 0 or not count:
            continue
        size = stripe_size_bytes or -(-length // count)
        rows, rest = divmod(length, count * size)
        for place, ost in enumerate(each.osts):
            stripe = rows * size + min(size, max(0, rest - place * size))
            held[ost] = held.get(ost, 0) + stripe
    return held
