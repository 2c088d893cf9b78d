"""Batch: many series in, a Forecast for each out; those that follow a rule all at once."""

from collections.abc import Callable, Sequence

import numpy as np

from iez_client.predict.exact import matches
from iez_client.predict.record import Forecast, ForecastError, Score, Values

Progress = Callable[[int, int], None]


def forecast(values: Sequence[float], horizon: int, method: str = "auto") -> Forecast:
    """Continues a series of write bytes by `horizon` values."""
    return forecast_many([values], horizon, method)[0]


def forecast_many(
    series: Sequence[Sequence[float]], horizon: int, method: str = "auto",
    progress: Progress | None = None,
) -> list[Forecast]:  # fmt: skip
    """A forecast for each series, as `forecast` makes it. `progress` is told (done, of all)."""
    if horizon < 1:
        raise ForecastError(f"a forecast of {horizon} values was asked for")
    found: list[Forecast | None] = [None] * len(series)
    by_length: dict[int, list[int]] = {}
    for number, values in enumerate(series):
        by_length.setdefault(len(values), []).append(number)
    for numbers in by_length.values():
        rows = _checked([series[number] for number in numbers])
        for match in matches(rows, horizon):
            scores = (Score(match.rule, 0.0, match.why),)
            for row, values in zip(match.rows.tolist(), match.values.tolist(), strict=True):
                line = tuple(values)
                found[numbers[row]] = Forecast(line, match.rule, line, line, 0.0, match.why, scores)
        for row, number in enumerate(numbers):
            if found[number] is None:
                found[number] = _last(rows[row], horizon)
    return [each for each in found if each is not None]


def _checked(series: Sequence[Sequence[float]]) -> Values:
    rows = np.asarray(series, dtype=np.float64)
    if rows.shape[1] == 0:
        raise ForecastError("a series has no values", hint="give at least one")
    wrong = ~(np.isfinite(rows) & (rows >= 0))
    if wrong.any():
        raise ForecastError(f"a series has the value {rows[wrong][0]:g}: not a number of bytes")
    return rows


def _last(values: Values, horizon: int) -> Forecast:
    line = (float(values[-1]),) * horizon
    steps = np.abs(np.diff(values))
    spread = float(np.quantile(steps, 0.9)) if len(steps) else 0.0
    low = tuple(max(0.0, value - spread) for value in line)
    high = tuple(value + spread for value in line)
    why = "no rule holds"
    return Forecast(line, "last", low, high, 1.0, why, (Score("last", 1.0, why),))
