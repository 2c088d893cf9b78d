"""Measure: how near a forecast came to what was then written."""

from collections.abc import Callable, Sequence

import numpy as np

from iez_client.predict.record import Values


def errors(actual: Values, predicted: Values) -> Values:
    """Absolute percentage errors, each at most 1; nothing expected and nothing written is 0."""
    off = np.abs(actual - predicted)
    return np.where(
        actual > 0, np.minimum(off, actual) / np.where(actual > 0, actual, 1.0), off > 0
    )


def accuracy(actual: Sequence[float], predicted: Sequence[float]) -> float:
    """1 − the mean absolute percentage error, each error at most 1."""
    return 1.0 - float(errors(np.asarray(actual, float), np.asarray(predicted, float)).mean())


def held_out_accuracy(
    values: Sequence[float], predict: Callable[[Sequence[float], int], Sequence[float]]
) -> float:
    """Accuracy on the last quarter, all of it forecast at once from the first three."""
    known = len(values) * 3 // 4
    return accuracy(values[known:], predict(values[:known], len(values) - known))
