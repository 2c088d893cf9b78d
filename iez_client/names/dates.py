"""Dates: tells which numbers of a name are a date, a time of day or a clock's seconds."""

from collections.abc import Sequence
from datetime import UTC, datetime

_NEAR_S = 86_400.0  # names may have local time, and a run may begin before midnight
_SEPARATORS = ("-", "_", ".", ":", "T", "t", "h", "-T", "/", "", "@", "+")
_DIGITS_MAX = 14  # of YYYYMMDDHHMMSS
_PER_SECOND = {10: 1, 13: 10**3, 16: 10**6, 19: 10**9}  # by digits: seconds to nanoseconds


def date_fields(
    values: Sequence[str], literals: Sequence[str], started_s: float, ended_s: float
) -> frozenset[int]:
    """The places of fields that are the clock's at the time of the run. A date of another time is
    one of the work itself, such as a simulated day, and comes again. `started_s` 0: not known."""
    found: set[int] = set()
    place = 0
    while place < len(values):
        taken, when_s = _read(values, literals, place)
        if taken and (not started_s or started_s - _NEAR_S <= when_s <= ended_s + _NEAR_S):
            found.update(range(place, place + taken))
            place += taken
        else:
            place += 1
    return frozenset(found)


def _read(values: Sequence[str], literals: Sequence[str], place: int) -> tuple[int, float]:
    """How many fields from `place` on are one point in time, and which."""
    text = values[place]
    if not text.isdigit():
        return 0, 0.0
    if len(text) in _PER_SECOND and text[0] == "1":
        return 1, int(text) / _PER_SECOND[len(text)]
    if len(text) not in (4, 8, 12, 14) or text[:2] not in ("19", "20"):
        return 0, 0.0
    # Fields that belong together: year, month, day, then the time of day.
    found = 0, 0.0
    digits = text
    taken = 1
    while len(digits) <= _DIGITS_MAX:
        when_s = _seconds(digits)
        if when_s is not None:
            found = taken, when_s
        if place + taken == len(values) or literals[place + taken] not in _SEPARATORS:
            break
        digits += values[place + taken]
        taken += 1
    return found


def _seconds(digits: str) -> float | None:
    """Of YYYYMMDD, with HHMM or HHMMSS behind it or not."""
    if len(digits) not in (8, 10, 12, 14) or not digits.isdigit():
        return None
    digits = digits.ljust(_DIGITS_MAX, "0")
    hour, minute, second = (int(digits[at : at + 2]) for at in (8, 10, 12))
    year, month, day = int(digits[:4]), int(digits[4:6]), int(digits[6:8])
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        return None
