"""ARMA: quick fits by least squares, to choose an order with (Hannan and Rissanen: the shocks of
a long autoregression stand in for those that are not seen)."""

from dataclasses import dataclass

import numpy as np

from iez_client.predict.record import Values, named

LAGS, SHOCKS = 5, 2  # of values and of shocks, at most
FEWEST = 16
ORDERS = tuple(
    (p, q) for q in range(SHOCKS + 1) for p in range(LAGS + 1) if q == 0 or p <= 2
)  # fmt: skip
RIDGE = 1e-10  # keeps the equations of exact series solvable

Order = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class QuickFit:
    """An order, with weights for the series differenced d times, about its mean and scaled."""

    order: Order
    scale: float
    constant: float
    of_values: Values
    of_shocks: Values
    rmse: float  # one step ahead, in standard deviations of the series
    tested: int  # last values over which it is taken
    information: float  # Akaike's, corrected for few values: the less, the better


def _flat(values: Values, differenced: int, scale: float) -> tuple[Values, float]:
    """Differences about zero, of the size of one, and their mean, which was taken off: no system
    of equations is near to singular then."""
    steps = np.diff(values, differenced) / scale
    mean = float(steps.mean())
    return steps - mean, mean


def _columns(values: Values, lags: int, start: int) -> Values:
    """Column i: the value i + 1 before, for each time from `start` on."""
    count = len(values)
    return np.stack([values[start - lag : count - lag] for lag in range(1, lags + 1)], axis=1)


def _shocks(values: Values) -> tuple[Values, int]:
    """What a long autoregression did not foresee, and how many values it needs before."""
    lags = max(1, min(2 * LAGS, len(values) // 5))
    known = np.column_stack([np.ones(len(values) - lags), _columns(values, lags, lags)])
    system = known.T @ known + RIDGE * len(known) * np.eye(lags + 1)
    weights = np.linalg.solve(system, known.T @ values[lags:])
    return np.concatenate([np.zeros(lags), values[lags:] - known @ weights]), lags


def _best(values: Values, differenced: int, scale: float) -> QuickFit:
    """The best order for one number of differences: all are solved together."""
    flat, _ = _flat(values, differenced, scale)
    shocks, before = _shocks(flat)
    start = max(LAGS, before + SHOCKS)
    known = np.column_stack([
        np.ones(len(flat) - start), _columns(flat, LAGS, start), _columns(shocks, SHOCKS, start)
    ])  # fmt: skip
    wanted = flat[start:]
    gram, target = known.T @ known, known.T @ wanted
    orders = [(p, q) for p, q in ORDERS if p + q <= len(flat) // 6]
    used = np.array([_used(p, q) for p, q in orders])
    both = used[:, :, None] & used[:, None, :]
    systems = (
        np.where(both, gram, 0.0)
        + np.eye(len(gram)) * np.where(used, RIDGE * len(wanted), 1.0)[:, None, :]
    )
    weights = np.linalg.solve(systems, np.where(used, target, 0.0)[:, :, None])[:, :, 0]
    spread = ((wanted - weights @ known.T) ** 2).mean(axis=1)
    free = used.sum(axis=1) + 1
    penalty = 2 * free / np.maximum(len(wanted) - free - 1, 1)
    information = np.log(np.maximum(spread, 1e-18)) + penalty
    at = int(information.argmin())
    p, q = orders[at]
    chosen = weights[at]
    return QuickFit(
        order=(p, differenced, q),
        scale=scale,
        constant=float(chosen[0]),
        of_values=chosen[1 : 1 + p],
        of_shocks=chosen[1 + LAGS : 1 + LAGS + q],
        rmse=float(np.sqrt(spread[at])),
        tested=len(wanted),
        information=float(information[at]),
    )


def _used(p: int, q: int) -> list[bool]:
    return [True, *(lag < p for lag in range(LAGS)), *(lag < q for lag in range(SHOCKS))]


def quick_fit(values: Values) -> QuickFit | None:
    """The order of least information, with differences or without."""
    scale = float(values.std())
    if len(values) < FEWEST or scale == 0:
        return None
    return min((_best(values, d, scale) for d in (0, 1)), key=lambda fit: fit.information)


@named("arima", freedom=5.0)
def quick_arima(values: Values, horizon: int) -> Values | None:
    """An ARIMA process goes on as expected."""
    fit = quick_fit(values)
    if fit is None:
        return None
    p, differenced, q = fit.order
    flat, mean = _flat(values, differenced, fit.scale)
    shocks = _shocks(flat)[0] if q else flat
    past, surprises = list(flat[::-1][:p]), list(shocks[::-1][:q])
    room = 2 * float(np.ptp(flat))
    low, high = float(flat.min()) - room, float(flat.max()) + room
    ahead = np.empty(horizon)
    for step in range(horizon):
        value = fit.constant + fit.of_values @ past + fit.of_shocks @ surprises
        ahead[step] = min(max(value, low), high)
        past, surprises = [ahead[step], *past][:p], [0.0, *surprises][:q]
    ahead = (ahead + mean) * fit.scale
    return np.asarray(values[-1] + np.cumsum(ahead)) if differenced else ahead
