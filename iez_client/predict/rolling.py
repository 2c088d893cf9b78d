"""Rolling: how a method would have done at earlier times, each time all steps ahead at once."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iez_client.predict.measure import errors
from iez_client.predict.record import Method, Values

MOST_ORIGINS = 16
STRETCH = 1.0  # of the range seen so far: how far above it a forecast may go
NOTHING = 1e-9  # of the largest value: as good as zero


@dataclass(frozen=True, slots=True)
class Record:
    """What a method would have foreseen. A line for each origin, a column for each step; NaN where
    there is nothing to compare."""

    errors: Values  # in parts of the truth, at most 1
    misses: Values  # in bytes
    moves: Values  # mean distance from the last value, for each origin

    @property
    def tested(self) -> NDArray[np.bool_]:
        """Origins at which the method could be used."""
        return np.isfinite(self.moves)

    @property
    def error(self) -> float:
        means = np.nanmean(self.errors[self.tested], axis=1)
        return float(means.mean()) if len(means) else 1.0


def origins(count: int) -> NDArray[np.intp]:
    """Numbers of values that are taken as known, the others being forecast."""
    first = max(2, count // 3)
    number = min(MOST_ORIGINS, max(count - first, 0))
    return np.unique(np.linspace(first, count - 1, number).astype(np.intp))


def plausible(values: Values, ahead: Values) -> Values:
    """Within what the series supports: neither negative nor far above all that was seen."""
    top = float(values.max())
    most = top + STRETCH * (top - float(values.min()))
    kept = np.clip(np.nan_to_num(ahead, nan=float(values[-1]), posinf=most), 0.0, most)
    return np.where(kept > NOTHING * top, kept, 0.0)


def record(method: Method, values: Values, horizon: int) -> Record:
    starts = origins(len(values))
    shape = (len(starts), horizon)
    off, misses, moves = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape[0], np.nan)
    for line, start in enumerate(starts):
        steps = min(horizon, len(values) - start)
        ahead = method(values[:start], steps)
        if ahead is None:
            continue
        ahead = plausible(values[:start], ahead)
        actual = values[start : start + steps]
        off[line, :steps] = errors(actual, ahead)
        misses[line, :steps] = np.abs(actual - ahead)
        moves[line] = np.abs(ahead - values[start - 1]).mean()
    return Record(off, misses, moves)


def half_widths(misses: Values) -> Values:
    """For each step, what nine misses of ten stayed below: it grows with the steps."""
    widths, widest = np.zeros(misses.shape[1]), 0.0
    for step in range(len(widths)):
        near = misses[:, step // 2 : step + 1]
        near = near[np.isfinite(near)]
        if len(near):
            # Of few misses the largest is not the ninth of ten, but likely less.
            widest = max(widest, float(np.quantile(near, 0.9)) * (1 + 3 / len(near)))
        widths[step] = widest
    return widths
