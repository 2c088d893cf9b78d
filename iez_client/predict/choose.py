"""Choose: the method that would have done best so far, unless the last value would have done about
as well."""

from dataclasses import dataclass

import numpy as np

from iez_client.predict.arima import exact_arima
from iez_client.predict.arma import quick_arima
from iez_client.predict.level import last, level, shift
from iez_client.predict.markov import markov
from iez_client.predict.record import Forecast, Method, Score, Values
from iez_client.predict.rolling import Record, half_widths, origins, plausible, record
from iez_client.predict.season import (
    seasonal_damped,
    seasonal_growth,
    seasonal_last,
    seasonal_level,
    seasonal_line,
    seasonal_shift,
    seasonal_trend,
    two_seasons,
)
from iez_client.predict.tail import tail
from iez_client.predict.trend import curve, damped, drift, growth, line, recent_line

CANDIDATES: tuple[Method, ...] = (
    last, level, shift, tail, drift, line, recent_line, growth, curve, damped,
    seasonal_last, seasonal_level, seasonal_line, seasonal_shift, seasonal_trend,
    seasonal_growth, seasonal_damped, two_seasons, markov, quick_arima,
)  # fmt: skip
DOUBT = 0.4  # standard errors by which a gain is taken to be smaller than it seems
PRICE, RELATIVE_PRICE = 0.01, 0.05  # of freedom: percentage error, and part of the last value's
CLEAR = 0.1  # part of the last value's error that must be gained to be followed all the way


@dataclass(frozen=True, slots=True)
class Contest:
    """How a method compares to the last value."""

    method: Method
    record: Record
    error: float
    gain: float  # of percentage error, in doubt and after the price of its freedom


def contest(method: Method, own: Record, base: Record, count: int) -> Contest | None:
    """None: it has never been put to the test."""
    differences = own.errors - base.errors
    tested = np.isfinite(differences).any(axis=1)
    runs = int(tested.sum())
    if not runs:
        return None
    means = np.nanmean(differences[tested], axis=1)
    difference = float(means.mean()) * runs / (runs + 1)
    # Origins share most of what they forecast: only so many are independent.
    independent = min(runs, 1 + (count - int(origins(count)[0])) / own.errors.shape[1])
    doubt = DOUBT * float(means.std()) / np.sqrt(independent)
    base_error = mean_error(base)
    price = (PRICE + RELATIVE_PRICE * base_error) * method.freedom / np.sqrt(count)
    return Contest(method, own, mean_error(own), -difference - doubt - price)


def mean_error(of: Record) -> float:
    tested = np.isfinite(of.errors).any(axis=1)
    return float(np.nanmean(of.errors[tested], axis=1).mean()) if tested.any() else 1.0


def choose(values: Values, horizon: int) -> Forecast:
    """The forecast of the method that is chosen."""
    base = record(last, values, horizon)
    contests = [
        found
        for method in CANDIDATES[1:]
        if method(values, horizon) is not None
        and (found := contest(method, record(method, values, horizon), base, len(values)))
    ]
    stay = Contest(last, base, mean_error(base), 0.0)
    ranked = sorted([stay, *contests], key=lambda each: -each.gain)
    scores = tuple(Score(each.method.name, each.error, _reason(each, stay)) for each in ranked)
    best = ranked[0]
    weight = min(1.0, best.gain / (CLEAR * stay.error)) if best is not stay else 0.0
    return continued(best, values, horizon, weight, _why(ranked, stay, weight), scores)


def apply(method: Method, values: Values, horizon: int) -> Forecast:
    """The forecast of a method that was asked for; of the last value where it cannot be used."""
    if method(values, horizon) is None:
        why = f"{method.name} cannot be used: the series is too short or not of its kind"
        method = last
    else:
        why = f"{method.name} was asked for"
    own = record(method, values, horizon)
    score = Score(method.name, mean_error(own), why)
    return continued(Contest(method, own, score.error, 0.0), values, horizon, 1.0, why, (score,))


def continued(
    by: Contest, values: Values, horizon: int, weight: float, why: str, scores: tuple[Score, ...]
) -> Forecast:
    """Ahead by a method, `weight` of the way from the last value."""
    ahead = exact_arima(values, horizon) if by.method is quick_arima else None
    if ahead is None:
        ahead = by.method(values, horizon)
    middle = np.full(horizon, values[-1])
    if ahead is not None and weight > 0:
        middle += weight * (plausible(values, ahead) - middle)
    widths = half_widths(by.record.misses, horizon)
    if not len(origins(len(values))):
        widths += np.ptp(values)
    return Forecast(
        tuple(middle.tolist()), by.method.name, tuple(np.maximum(middle - widths, 0.0).tolist()),
        tuple((middle + widths).tolist()), by.error, why, scores,
    )  # fmt: skip


def _reason(each: Contest, stay: Contest) -> str:
    if each is stay:
        return "what the others must beat"
    if each.gain > 0:
        return f"better than the last value by at least {each.gain:.2%}"
    if each.error < stay.error:
        return "not clearly better than the last value"
    return "no better than the last value"


def _why(ranked: list[Contest], stay: Contest, weight: float) -> str:
    best = ranked[0]
    if len(ranked) == 1:
        return "too few values to tell: the last one stays"
    if best is stay:
        next_one = ranked[1]
        return (
            f"the last value was {stay.error:.1%} off at earlier times; nothing was clearly better"
            f" ({next_one.method.name}: {next_one.error:.1%})"
        )
    why = f"{best.error:.1%} off at earlier times, the last value {stay.error:.1%}"
    return why if weight == 1 else f"{why}: a small gain, so {weight:.0%} of the way"
