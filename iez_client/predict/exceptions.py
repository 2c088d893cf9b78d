"""Exceptions: an exact rule that single values break: spikes, files that were not written."""

from dataclasses import dataclass

import numpy as np

from iez_client.predict.exact import slack_of
from iez_client.predict.middle import lower_median, median
from iez_client.predict.record import Values, named
from iez_client.predict.tail import described

FEWEST = 8
REGULAR = 0.8  # part of the values that must follow the rule
CONFIRMED = 0.6  # part that is left of them when one period of them is taken as given
CYCLES = 3  # in which a period must have come
LONGEST = 2  # exceptions in turn: more of them are no exceptions


@dataclass(frozen=True, slots=True)
class Broken:
    """A season and a step from one period to the next, with what breaks it."""

    season: Values
    step: float
    exceptions: int


def find_broken(values: Values) -> Broken | None:
    """The shortest period for which nearly all values follow the rule."""
    if len(values) < FEWEST:
        return None
    slack = 2 * slack_of(values)
    at = np.arange(len(values))
    for period in range(1, len(values) // CYCLES + 1):
        step = median(values[period:] - values[:-period])
        flat = values - step * (at // period)
        season = np.array([lower_median(flat[phase::period]) for phase in range(period)])
        odd = np.abs(flat - season[at % period]) > slack
        regular = len(values) - int(odd.sum())
        # The season itself is taken from the values: what is left confirms it.
        if regular >= REGULAR * len(values) and regular - period >= CONFIRMED * len(values):
            return Broken(season, step, int(odd.sum())) if _single(odd) else None
    return None


def _single(odd: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> bool:
    """Never many in turn. An exception right now may be the first of many: it counts as one only
    where others have passed, and if it is alone."""
    padded = np.concatenate([[False], odd, [False]])
    edges = np.flatnonzero(padded[1:] != padded[:-1])
    runs = edges[1::2] - edges[::2]
    if odd[-1] and (len(runs) < 2 or runs[-1] > 1):
        return False
    return len(runs) == 0 or int(runs.max()) <= LONGEST


@named("exceptions", freedom=1.0)
def exceptions(values: Values, horizon: int) -> Values | None:
    """The rule goes on."""
    found = find_broken(values)
    if found is None:
        return None
    at, period = np.arange(len(values), len(values) + horizon), len(found.season)
    return np.asarray(found.season[at % period] + found.step * (at // period))


def but_for_exceptions(values: Values, horizon: int) -> str:
    """Why the rule can be relied on. Empty: there is none."""
    found = find_broken(values)
    if found is None:
        return ""
    rule = described(len(found.season), found.step)
    return f"{rule}, but for {found.exceptions} exceptions of {len(values)}"
