"""Batch: many series in, a Forecast for each out; those that follow a rule all at once."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from iez_client.predict.choose import BY_NAME, apply, choose
from iez_client.predict.cores import spread
from iez_client.predict.exact import matches
from iez_client.predict.grid import paper
from iez_client.predict.level import last
from iez_client.predict.record import Forecast, Score, Values
from iez_common.errors import ForecastError

METHODS = ("auto", "exact", *BY_NAME, "paper")
MOST_BYTES, LEAST_BYTES = 1e100, 1e-100  # beyond them the arithmetic breaks down
MOST_VALUES = 400  # the last ones, where no rule holds for all: what was before tells little
FEW = 32  # series that are not worth starting other processes for

Progress = Callable[[int, int], None]


def forecast(values: Sequence[float], horizon: int, method: str = "auto") -> Forecast:
    """Continues a series of write bytes by `horizon` values."""
    return forecast_many([values], horizon, method)[0]


def forecast_many(
    series: Sequence[Sequence[float]], horizon: int, method: str = "auto",
    progress: Progress | None = None,
) -> list[Forecast]:  # fmt: skip
    """A forecast for each series, as `forecast` makes it.

    `progress` is told how much of the slow work is done, and how much there is: series that follow
    no rule, or fits of the paper's grid.
    """
    if method not in METHODS:
        raise ForecastError(f"no method is called {method}", hint=f"one of {', '.join(METHODS)}")
    if horizon < 1:
        raise ForecastError(f"{horizon} values cannot be forecast", hint="ask for one at least")
    found: dict[int, Forecast] = {}
    left: dict[int, Values] = {}
    by_length: dict[int, list[int]] = {}
    for number, values in enumerate(series):
        by_length.setdefault(len(values), []).append(number)
    for numbers in by_length.values():
        rows = _checked([series[number] for number in numbers])
        if method in ("auto", "exact"):
            _regular(rows, numbers, horizon, found)
        left.update((at, row) for at, row in zip(numbers, rows, strict=True) if at not in found)
    found.update(zip(left, _slowly(list(left.values()), horizon, method, progress), strict=True))
    return [found[number] for number in range(len(series))]


def _checked(series: Sequence[Sequence[float]]) -> Values:
    rows = np.asarray(series, dtype=np.float64)
    if rows.shape[1] == 0:
        raise ForecastError("a series has no values", hint="give one at least")
    wrong = ~((rows >= 0) & (rows <= MOST_BYTES))
    if wrong.any():
        raise ForecastError(f"a series has the value {rows[wrong][0]:g}: not a number of bytes")
    return np.where(rows < LEAST_BYTES, 0.0, rows)


def _regular(
    rows: Values, numbers: Sequence[int], horizon: int, found: dict[int, Forecast]
) -> None:
    """Adds the series that follow a rule."""
    for match in matches(rows, horizon):
        scores = (Score(match.rule, 0.0, match.why),)
        for row, values in zip(match.rows.tolist(), match.values.tolist(), strict=True):
            line = tuple(values)
            found[numbers[row]] = Forecast(line, match.rule, line, line, 0.0, match.why, scores)


def _slowly(
    rows: Sequence[Values], horizon: int, method: str, progress: Progress | None
) -> list[Forecast]:
    if method == "paper":
        return [
            paper(row, horizon, progress=_shifted(progress, number, len(rows)))
            for number, row in enumerate(rows)
        ]
    work = partial(_one, horizon, method)
    if len(rows) > FEW:
        return spread(work, rows, progress)
    results = []
    for row in rows:
        results.append(work(row))
        if progress:
            progress(len(results), len(rows))
    return results


def _one(horizon: int, method: str, values: Values) -> Forecast:
    recent = values[-MOST_VALUES:]
    if method == "auto":
        return choose(recent, horizon)
    if method == "exact":
        return apply(last, recent, horizon, "no rule holds: the last value stays")
    return apply(BY_NAME[method], recent, horizon)


def _shifted(progress: Progress | None, number: int, count: int) -> Progress | None:
    """Tells the fits of one series as a part of those of all."""
    if progress is None:
        return None
    return lambda done, fits: progress(number * fits + done, count * fits)
