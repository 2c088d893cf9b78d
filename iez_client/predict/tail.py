"""Tail: a rule that the last values have followed without exception, whatever was before."""

from dataclasses import dataclass

import numpy as np

from iez_client.predict.exact import slack_of
from iez_client.predict.record import Values, named

FEWEST = 4  # confirmations


@dataclass(frozen=True, slots=True)
class Tail:
    """The same step over a period, time after time up to now."""

    period: int
    step: float
    confirmed: int  # times that the step was the one before it


def find_tail(values: Values) -> Tail | None:
    """The rule with the most confirmations: `period` values and the step are taken as given."""
    slack = 2 * slack_of(values)
    best: Tail | None = None
    for period in range(1, len(values) // 2):
        steps = values[period:] - values[:-period]
        others = np.flatnonzero(np.abs(steps - steps[-1]) > slack[period:])
        confirmed = len(steps) - (int(others[-1]) + 1 if len(others) else 0) - 1
        enough = max(FEWEST, period, best.confirmed + 1 if best else 0)
        if confirmed >= enough:
            best = Tail(period, float(steps[-1]), confirmed)
    return best


@named("tail", freedom=1.0)
def tail(values: Values, horizon: int) -> Values | None:
    """Steps over a period that have lately all been the same go on."""
    found = find_tail(values)
    if found is None:
        return None
    at = np.arange(horizon)
    season = values[len(values) - found.period + at % found.period]
    return np.asarray(season + found.step * (1 + at // found.period))


def settled(values: Values, horizon: int) -> str:
    """Why the tail can be relied on: its rule has held for as long as it is to go on, and for a
    third of the series. Empty: it cannot."""
    found = find_tail(values)
    if found is None or found.confirmed < max(horizon, 6, len(values) / 3):
        return ""
    return f"of late, {found.confirmed} times in turn, {described(found.period, found.step)}"


def described(period: int, step: float) -> str:
    again = "each value" if period == 1 else f"each value that came {period} before"
    if step == 0:
        return f"{again} came again"
    return f"{again} came again, {abs(step):.6g} {'more' if step > 0 else 'less'}"
