"""Level: methods that expect one value from now on."""

import numpy as np

from iez_client.predict.measure import errors
from iez_client.predict.record import Values, named

MOST_CHOICES = 200  # values of which the best level is sought; more do not make it better


def best_level(values: Values) -> float:
    """The value that would have had the least percentage error; one of those that were seen.

    It lies below the median where values scatter widely, for percentages count from the truth.
    """
    recent = values[-MOST_CHOICES:]
    choices = np.unique(recent)
    return float(choices[errors(recent[:, None], choices[None, :]).mean(axis=0).argmin()])


@named("last", freedom=0.0)
def last(values: Values, horizon: int) -> Values:
    """The last value stays."""
    return np.full(horizon, values[-1])


@named("level", freedom=1.0)
def level(values: Values, horizon: int) -> Values:
    """The best level of all values stays."""
    return np.full(horizon, best_level(values))


@named("shift", freedom=1.5)
def shift(values: Values, horizon: int) -> Values:
    """The best level since the last shift stays."""
    return np.full(horizon, best_level(values[last_shift(values) :]))


def last_shift(values: Values) -> int:
    """Where the present level begins, by the best split into levels: least squares, and a price
    for every level that grows with the scatter from value to value."""
    count = len(values)
    if count < 4:
        return 0
    calm = _without_spikes(values)
    scatter = 1.05 * float(np.median(np.abs(np.diff(values))))  # a standard deviation, robustly
    price = 3.0 * np.log(count) * max(scatter, 1e-9 * float(np.abs(values).max())) ** 2
    sums = np.concatenate([[0.0], np.cumsum(calm)])
    squares = np.concatenate([[0.0], np.cumsum(calm * calm)])
    cost, start = np.zeros(count + 1), np.zeros(count + 1, dtype=np.intp)
    begins = np.arange(count)
    for end in range(1, count + 1):
        sizes = end - begins[:end]
        spread = squares[end] - squares[:end] - (sums[end] - sums[:end]) ** 2 / sizes
        total = cost[:end] + np.maximum(spread, 0.0) + price
        start[end] = total.argmin()
        cost[end] = total[start[end]]
    return int(start[count])


def _without_spikes(values: Values) -> Values:
    """Running medians of three."""
    inner = np.sort(np.stack([values[:-2], values[1:-1], values[2:]]), axis=0)[1]
    return np.concatenate([inner[:1], inner, inner[-1:]])
