"""Trend: methods that follow a line or a curve."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from iez_client.predict.middle import median
from iez_client.predict.record import Values, named

MOST_PAIRED = 60  # values between which slopes are taken


@lru_cache(maxsize=256)
def _pairs(count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places of all pairs of values; of a long series, between so many of them."""
    at = np.unique(np.linspace(0, count - 1, min(count, MOST_PAIRED)).astype(np.intp))
    first, second = np.triu_indices(len(at), 1)
    return at[first], at[second]


def robust_line(values: Values) -> tuple[float, float]:
    """Value at the last time, and slope: medians over all pairs (Theil and Sen)."""
    first, second = _pairs(len(values))
    slope = median((values[second] - values[first]) / (second - first))
    back = np.arange(len(values)) - (len(values) - 1)
    return median(values - slope * back), slope


@named("line", freedom=2.0)
def line(values: Values, horizon: int) -> Values | None:
    """A straight line through all values."""
    if len(values) < 2:
        return None
    end, slope = robust_line(values)
    return np.asarray(end + slope * np.arange(1, horizon + 1))


@named("growth", freedom=2.5)
def growth(values: Values, horizon: int) -> Values | None:
    """A straight line through the logarithms: growth by a factor."""
    if len(values) < 2 or values.min() <= 0:
        return None
    ahead = line(np.log(values), horizon)
    return None if ahead is None else np.exp(np.minimum(ahead, 700.0))


@named("drift", freedom=2.0)
def drift(values: Values, horizon: int) -> Values | None:
    """From the last value on, with the slope of all values."""
    if len(values) < 2:
        return None
    _, slope = robust_line(values)
    return np.asarray(values[-1] + slope * np.arange(1, horizon + 1))


def _shapes(at: Values, count: int) -> Values:
    """Curves of which one, stretched and moved, may fit: a line each."""
    paces = np.geomspace(0.7, 2.0 * count, 48)[:, None]
    return np.concatenate([
        np.exp(-at / paces),
        np.exp((at - count) / paces[paces[:, 0] >= count / 3]),
        [np.log1p(at), np.sqrt(at), at * at, at**1.5, 1 / (1 + at)],
    ])  # fmt: skip


@named("curve", freedom=3.0)
def curve(values: Values, horizon: int) -> Values | None:
    """The best of many curves: decay to a floor, saturation, growth by powers or by a factor."""
    count = len(values)
    if count < 8:
        return None
    shapes = _shapes(np.arange(count + horizon, dtype=np.float64), count)
    seen = shapes[:, :count] - shapes[:, :count].mean(axis=1, keepdims=True)
    size = (seen * seen).sum(axis=1)
    stretch = seen @ (values - values.mean()) / np.maximum(size, 1e-12)
    off = np.abs(values - values.mean() - stretch[:, None] * seen).sum(axis=1)
    best = int(off.argmin())
    ahead = shapes[best, count:] - shapes[best, :count].mean()
    return np.asarray(values.mean() + stretch[best] * ahead)


ALPHAS, BETAS, PHIS = (
    part.ravel()
    for part in np.meshgrid([0.1, 0.3, 0.5, 0.7, 0.9], [0.0, 0.1, 0.3, 0.6], [0.8, 0.9, 0.98])
)


@named("damped", freedom=3.0)
def damped(values: Values, horizon: int) -> Values | None:
    """Exponential smoothing with a damped trend; weights by least error one step ahead."""
    if len(values) < 6:
        return None
    level = np.full(len(ALPHAS), values[0])
    slope = np.full(len(ALPHAS), 0.0)
    off = np.zeros(len(ALPHAS))
    for value in values[1:]:
        expected = level + PHIS * slope
        miss = value - expected
        off += np.abs(miss)
        level = expected + ALPHAS * miss
        slope = PHIS * slope + ALPHAS * BETAS * miss
    best = int(off.argmin())
    return np.asarray(
        level[best] + slope[best] * np.cumsum(PHIS[best] ** np.arange(1, horizon + 1))
    )
