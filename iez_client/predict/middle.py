"""Middle: medians, without what numpy's own spend on the general case."""

import numpy as np

from iez_client.predict.record import Values


def median(values: Values) -> float:
    ordered = np.sort(values)
    return float(ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def lower_median(values: Values) -> float:
    """One of the values."""
    return float(np.sort(values)[(len(values) - 1) // 2])


def medians_by_phase(values: Values, period: int) -> Values:
    return np.array([median(values[phase::period]) for phase in range(period)])
