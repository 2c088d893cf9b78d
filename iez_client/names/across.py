"""Across: what a field was in earlier runs and what it is in this one in, what it is by all out.

The newest run is the best guide to the next. What earlier ones add: that a constant changes, that
a run with one rank or one step is no proof against either.
"""

from collections.abc import Sequence
from dataclasses import replace

from iez_common.knowledge import Field

_MIXED = Field("random")


def merge_fields(
    known: Sequence[Field], new: Sequence[Field], job_ids: frozenset[int]
) -> tuple[Field, ...]:
    """Field by field; `first` is the newest run's."""
    return tuple(_merge(old, now, job_ids) for old, now in zip(known, new, strict=True))


def _merge(known: Field, new: Field, job_ids: frozenset[int]) -> Field:
    if new.kind == known.kind == "constant" or (known.kind == "parts" and new.kind == "constant"):
        return _constant(known, new, job_ids)
    if new.kind == "constant":
        return _one_value(known, new)
    if new.kind == "parts" and known.kind != "parts":
        # The same number for another count of ranks: it is none of them.
        if known.kind == "constant" and known.first == new.first:
            return known
        return new if known.kind == "constant" else _one_value(known, new)
    if known.kind in ("random", "timestamp", "pid") and new.kind == "step":
        return known  # numbers that rose by chance
    if new.kind in ("rank", "step"):
        return replace(new, width=_width(known, new))
    return new


def _constant(known: Field, new: Field, job_ids: frozenset[int]) -> Field:
    """A constant in both runs. One that rose may be a step from run to run; the next run tells."""
    if new.first == known.first:
        return replace(new, width=_width(known, new))
    rise = new.first - known.first
    if rise <= 0 or new.first in job_ids or rise > max(known.first, 1000):
        return _MIXED
    return Field("step", _width(known, new), new.first, rise)


def _one_value(known: Field, new: Field) -> Field:
    """A field that had several values before, and one value now."""
    away = new.first - known.first
    if known.kind == "rank":
        return known if away % known.stride == 0 and away >= 0 else new
    if known.kind == "step":
        # A run of one step does not show the stride; one that is off the known grid has none.
        if known.stride and away % known.stride:
            return _MIXED
        return replace(known, first=new.first)
    return known  # random, timestamp, pid


def _width(known: Field, new: Field) -> int:
    """Numbers that fill their width do not show it."""
    return new.width or known.width
