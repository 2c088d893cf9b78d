"""Level: methods that expect one value from now on."""

import numpy as np

from iez_client.predict.measure import errors
from iez_client.predict.middle import median
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
    """Where the present level begins: the series is split in two where that explains most, then its
    later part, until a split explains no more than chance would."""
    count = len(values)
    if count < 4:
        return 0
    calm = _without_spikes(values)
    scatter = 1.05 * median(np.abs(np.diff(values)))  # a standard deviation, robustly
    price = 3.0 * np.log(count) * max(scatter, 1e-9 * float(values.max())) ** 2
    start = 0
    while count - start >= 4:
        part = calm[start:] - calm[start:].mean()
        sizes = np.arange(1, len(part))
        # What two levels explain: the square of the first part's sum, over both lengths.
        explained = np.cumsum(part)[:-1] ** 2 * len(part) / (sizes * (len(part) - sizes))
        split = int(explained.argmax())
        if explained[split] <= price:
            break
        start += split + 1
    return start


def _without_spikes(values: Values) -> Values:
    """Running medians of three."""
    inner = np.sort(np.stack([values[:-2], values[1:-1], values[2:]]), axis=0)[1]
    return np.concatenate([inner[:1], inner, inner[-1:]])
