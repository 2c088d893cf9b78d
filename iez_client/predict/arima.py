"""ARIMA: exact maximum likelihood by a Kalman filter, from statsmodels."""

import warnings
from dataclasses import dataclass

import numpy as np

from iez_client.predict.arma import Order, quick_fit
from iez_client.predict.record import Values


WORSE = 1.1  # times the error of the quick fit: then the search has ended in a wrong place


@dataclass(frozen=True, slots=True)
class Fitted:
    """One fit, with what it says of the next values."""

    order: Order
    rmse: float  # in standard deviations of the series, one step ahead, on what it was fitted to
    converged: bool
    values: Values
    low: Values
    high: Values


def fit(values: Values, order: Order, horizon: int, trend: str | None = None) -> Fitted | None:
    """None: it failed. The series is scaled first: on bytes the search ends in wrong places."""
    from statsmodels.tsa.arima.model import ARIMA

    scale = float(values.std()) or 1.0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result = ARIMA(values / scale, order=order, trend=trend).fit()
            ahead = result.get_forecast(horizon)
            low, high = (np.asarray(ahead.conf_int(alpha=0.1)) * scale).T
            middle = np.asarray(ahead.predicted_mean) * scale
        except (ArithmeticError, IndexError, ValueError, np.linalg.LinAlgError):
            return None
    # The first d residuals are the values themselves: nothing was expected yet.
    rmse = float(np.sqrt(np.mean(np.square(result.resid[order[1] :]))))
    if not (np.isfinite(rmse) and np.isfinite(middle).all()):
        return None
    return Fitted(order, rmse, bool(result.mle_retvals["converged"]), middle, low, high)


def exact_arima(values: Values, horizon: int) -> Values | None:
    """The order that the quick fit finds best, fitted exactly; None: the quick fit is better."""
    quick = quick_fit(values)
    if quick is None:
        return None
    exact = fit(values, quick.order, horizon, trend="t" if quick.order[1] else "c")
    if exact is None or exact.rmse > WORSE * quick.rmse:
        return None
    return exact.values
