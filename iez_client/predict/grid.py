"""Grid: the paper's own method: of all ARIMA orders up to 5 the one with the least RMSE."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import numpy as np

from iez_client.predict.arima import Fitted, fit, load
from iez_client.predict.arma import Order
from iez_client.predict.cores import spread
from iez_client.predict.measure import errors
from iez_client.predict.record import Forecast, Score, Values
from iez_client.predict.rolling import plausible

ORDERS: tuple[Order, ...] = tuple(product(range(6), range(6), range(6)))


def least_rmse(fits: Sequence[Fitted | None]) -> Fitted | None:
    """Of those that came to an end."""
    good = [each for each in fits if each is not None and each.converged]
    return min(good, key=lambda each: each.rmse, default=None)


def paper(
    values: Values, horizon: int, orders: Sequence[Order] = ORDERS,
    progress: Callable[[int, int], None] | None = None,
) -> Forecast:  # fmt: skip
    """Fits all orders on all cores; `progress` is told (fits done, of all)."""
    load()  # once, before the processes part
    fits = spread(partial(_fit, values, horizon), orders, progress)
    failed = sum(each is None or not each.converged for each in fits)
    best = least_rmse(fits)
    if best is None:
        line = (float(values[-1]),) * horizon
        why = f"none of {len(orders)} fits came to an end: the last value stays"
        return Forecast(line, "last", line, line, 1.0, why, (Score("last", 1.0, why),))
    middle, low, high = (
        tuple(plausible(values, part).tolist()) for part in (best.values, best.low, best.high)
    )
    why = f"ARIMA{best.order} has the least RMSE of {len(orders)} orders; {failed} fits failed"
    error = _held_out_error(values, best.order)
    return Forecast(middle, "paper", low, high, error, why, (Score("paper", error, why),))


def _fit(values: Values, horizon: int, order: Order) -> Fitted | None:
    return fit(values, order, horizon)


def _held_out_error(values: Values, order: Order) -> float:
    """On the last quarter: to search all orders at every origin would take hours."""
    known = len(values) * 3 // 4
    tried = fit(values[:known], order, len(values) - known) if known > 1 else None
    if tried is None:
        return 1.0
    return float(np.mean(errors(values[known:], plausible(values[:known], tried.values))))
