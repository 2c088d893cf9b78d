"""Rolling: how a method would have done at earlier times, each time all steps ahead at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iez_client.predict.measure import errors
from iez_client.predict.record import Method, Values

MOST_ORIGINS = 24
STRETCH = 1.5  # of the range seen so far: how far above it a forecast may go


@dataclass(frozen=True, slots=True)
class Record:
    """A line for each origin, a column for each step; NaN where there is nothing to compare."""

    errors: Values  # in percent of the truth, at most 1
    misses: Values  # absolute, in bytes


def origins(count: int) -> NDArray[np.intp]:
    """Numbers of values that are taken as known, the others being forecast."""
    first = max(2, count // 3)
    return np.unique(
        np.linspace(first, count - 1, min(MOST_ORIGINS, max(count - first, 0)), dtype=np.intp)
    )


def plausible(values: Values, ahead: Values) -> Values:
    """Within what the series supports: neither negative nor far above all that was seen."""
    top = float(values.max())
    return np.clip(
        np.nan_to_num(ahead, nan=values[-1], posinf=top),
        0.0,
        top + STRETCH * (top - float(values.min())),
    )


def record(method: Method, values: Values, horizon: int) -> Record:
    starts = origins(len(values))
    off, misses = (np.full((len(starts), horizon), np.nan) for _ in range(2))
    for line, start in enumerate(starts):
        steps = min(horizon, len(values) - start)
        ahead = method(values[:start], steps)
        if ahead is None:
            continue
        ahead = plausible(values[:start], ahead)
        actual = values[start : start + steps]
        off[line, :steps] = errors(actual, ahead)
        misses[line, :steps] = np.abs(actual - ahead)
    return Record(off, misses)


def half_widths(misses: Values, horizon: int) -> Values:
    """For each step, what nine misses of ten stayed below: it grows with the steps."""
    widths, widest = np.zeros(horizon), 0.0
    for step in range(horizon):
        near = misses[:, step // 2 : step + 1]
        near = near[np.isfinite(near)]
        if len(near):
            # Of few misses, the largest is not the ninth of ten but likely less.
            widest = max(widest, float(np.quantile(near, 0.9)) * (1 + 1 / np.sqrt(len(near))))
        widths[step] = widest
    return widths
