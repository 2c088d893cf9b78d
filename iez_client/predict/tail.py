"""Tail: a rule that the last values have followed without exception, whatever was before."""

import numpy as np

from iez_client.predict.exact import TOLERANCE
from iez_client.predict.record import Values, named


@named("tail", freedom=1.0)
def tail(values: Values, horizon: int) -> Values | None:
    """Steps over a period that have lately all been the same go on."""
    count = len(values)
    slack = 2 * TOLERANCE * float(values.max())
    best, best_period, best_step = 3, 0, 0.0  # as many confirmations at least
    for period in range(1, count // 2):
        steps = values[period:] - values[:-period]
        differs = np.flatnonzero(np.abs(steps - steps[-1]) > slack)
        same = len(steps) - 1 - int(differs[-1]) if len(differs) else len(steps)
        # `period` values and the step are taken as given; all else confirms.
        if same >= period + 1 and same - 1 > best:
            best, best_period, best_step = same - 1, period, float(steps[-1])
    if not best_period:
        return None
    at = np.arange(horizon)
    return np.asarray(
        values[count - best_period + at % best_period] + best_step * (1 + at // best_period)
    )
