"""ARIMA: exact maximum likelihood by a Kalman filter, from statsmodels."""

import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from iez_client.predict.arma import Order, quick_fit
from iez_client.predict.record import Values

EXACT = 0.01  # error of the quick fit, in standard deviations, that leaves nothing to be found
WORSE = 1.2  # times the error of the quick fit: then the search has ended in a wrong place
THREADS = "OPENBLAS_NUM_THREADS"


@dataclass(frozen=True, slots=True)
class Fitted:
    """One fit, with what it says of the next values."""

    order: Order
    residuals: Values  # one step ahead, in standard deviations of the series
    converged: bool
    values: Values
    low: Values
    high: Values

    @property
    def rmse(self) -> float:
        """The first d residuals are the values themselves: nothing was expected yet."""
        return float(np.sqrt(np.mean(np.square(self.residuals[self.order[1] :]))))


def load() -> Any:
    """statsmodels, with the library below it on one thread: the matrices are five by five, and on
    a busy machine threads that wait for each other make a fit take ten times as long."""
    before = os.environ.get(THREADS)
    os.environ[THREADS] = before or "1"
    try:
        from statsmodels.tsa.arima import model  # type: ignore[import-untyped]
    finally:
        if before is None:
            del os.environ[THREADS]
    return model


def fit(values: Values, order: Order, horizon: int, trend: str | None = None) -> Fitted | None:
    """None: it failed. The series is scaled first: on bytes the search ends in wrong places."""
    model = load()
    scale = float(values.std()) or 1.0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = model.ARIMA(values / scale, order=order, trend=trend).fit()
            ahead = result.get_forecast(horizon)
            low, high = (np.asarray(ahead.conf_int(alpha=0.1)) * scale).T
        except (ArithmeticError, IndexError, ValueError, np.linalg.LinAlgError):
            return None
    middle, residuals = np.asarray(ahead.predicted_mean) * scale, np.asarray(result.resid)
    if not (np.isfinite(residuals).all() and np.isfinite(middle).all()):
        return None
    return Fitted(order, residuals, bool(result.mle_retvals["converged"]), middle, low, high)


def exact_arima(values: Values, horizon: int) -> Values | None:
    """The order that the quick fit finds best, fitted exactly; None: the quick fit is better."""
    quick = quick_fit(values)
    if quick is None or quick.rmse < EXACT:
        return None
    exact = fit(values, quick.order, horizon, trend="t" if quick.order[1] else "c")
    if exact is None:
        return None
    rmse = np.sqrt(np.mean(np.square(exact.residuals[-quick.tested :])))
    return exact.values if rmse <= WORSE * quick.rmse else None
