"""Season: methods that expect what was written a period ago."""

from functools import lru_cache

import numpy as np

from iez_client.predict.level import best_level, shift
from iez_client.predict.middle import median, medians_by_phase
from iez_client.predict.record import Continue, Named, Values, named
from iez_client.predict.trend import growth, line, robust_line

ROUNDS = 4  # in which two seasons are told apart


def period_of(values: Values) -> int:
    """The distance at which values are most alike; 0: none stands out from chance."""
    return _period_of(values.tobytes())


@lru_cache(maxsize=256)
def _period_of(data: bytes) -> int:
    """Kept, because every seasonal method asks for the same beginnings of a series."""
    values = np.frombuffer(data)
    count = len(values)
    if count < 6:
        return 0
    _, slope = robust_line(values)
    flat = values - slope * np.arange(count)
    lags = np.arange(1, count // 2 + 1)
    unlike = np.array([np.abs(flat[lag:] - flat[:-lag]).mean() for lag in lags])
    usual = median(unlike)
    # The mean of n differences of noise scatters by about 1/√n: what stands out lies lower still.
    good = (unlike < usual * (1 - 2 / np.sqrt(count - lags))) & (unlike < unlike[0])
    if not good.any():
        return 0
    least = unlike[good].min()
    return int(lags[good & (unlike <= least + 0.1 * (usual - least))][0])


@named("seasonal-last", freedom=2.0)
def seasonal_last(values: Values, horizon: int) -> Values | None:
    """The last period comes again."""
    period = period_of(values)
    return np.resize(values[-period:], horizon) if period else None


@named("seasonal-level", freedom=2.0)
def seasonal_level(values: Values, horizon: int) -> Values | None:
    """At each place of the period its best level stays."""
    period = period_of(values)
    if not period:
        return None
    levels = np.array([best_level(values[phase::period]) for phase in range(period)])
    return levels[np.arange(len(values), len(values) + horizon) % period]


@named("seasonal-line", freedom=3.0)
def seasonal_line(values: Values, horizon: int) -> Values | None:
    """A season on top of a straight line."""
    period = period_of(values)
    if not period:
        return None
    slope = median(values[period:] - values[:-period]) / period
    at = np.arange(len(values) + horizon)
    levels = medians_by_phase(values - slope * at[: len(values)], period)
    ahead = at[len(values) :]
    return np.asarray(levels[ahead % period] + slope * ahead)


@named("two-seasons", freedom=4.0)
def two_seasons(values: Values, horizon: int) -> Values | None:
    """Two seasons, one on top of the other."""
    first = period_of(values)
    if not first:
        return None
    at = np.arange(len(values) + horizon)
    known, ahead = at[: len(values)], at[len(values) :]
    one = medians_by_phase(values, first)
    second = period_of(values - one[known % first])
    if not second or second % first == 0:
        return None
    two = np.zeros(second)
    for _ in range(ROUNDS):
        two = medians_by_phase(values - one[known % first], second)
        one = medians_by_phase(values - two[known % second], first)
    return np.asarray(one[ahead % first] + two[ahead % second])


def _factors(values: Values, period: int) -> Values | None:
    """How each place of the period compares to the mean of the period about it."""
    weights = np.full(period, 1.0 / period)
    if period % 2 == 0:
        weights = np.convolve(weights, [0.5, 0.5])
    about = np.convolve(values, weights, mode="valid")
    if len(about) < period or about.min() <= 0:
        return None
    start = (len(weights) - 1) // 2
    ratios = values[start : start + len(about)] / about
    found = np.roll(medians_by_phase(ratios, period), start)
    return found / found.mean() if found.min() > 0 else None


def _adjusted(name: str, freedom: float, rest: Continue) -> Named:
    """Takes the season out, continues the rest by another method, and puts the season back."""

    def go_on(values: Values, horizon: int) -> Values | None:
        period = period_of(values)
        factors = _factors(values, period) if period else None
        if factors is None:
            return None
        season = np.resize(factors, len(values) + horizon)
        ahead = rest(values / season[: len(values)], horizon)
        return None if ahead is None else ahead * season[len(values) :]

    return Named(name, freedom, go_on)


seasonal_shift = _adjusted("seasonal-shift", 3.0, shift)
seasonal_trend = _adjusted("seasonal-trend", 3.5, line)
seasonal_growth = _adjusted("seasonal-growth", 3.5, growth)
