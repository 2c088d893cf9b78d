"""Choose: the method that would have done best so far, unless the last value would have done about
as well.

A rule that has held for long, or nearly always, is taken first. Else the methods are compared to
each other, at all earlier times. The best of them is then compared to the last value where the two
disagreed about as much as they do now: that a spike is not followed by its like is seen after
spikes only.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from iez_client.predict.arima import exact_arima
from iez_client.predict.arma import quick_arima
from iez_client.predict.exact import TOLERANCE
from iez_client.predict.exceptions import but_for_exceptions, exceptions
from iez_client.predict.level import last, level, shift
from iez_client.predict.markov import markov
from iez_client.predict.record import Forecast, Method, Score, Values
from iez_client.predict.rolling import Record, half_widths, origins, plausible, record
from iez_client.predict.season import (
    seasonal_growth,
    seasonal_last,
    seasonal_level,
    seasonal_line,
    seasonal_shift,
    seasonal_trend,
    two_seasons,
)
from iez_client.predict.tail import settled, tail
from iez_client.predict.trend import curve, damped, drift, growth, line
from iez_client.predict.two_periods import both_hold, two_periods

CANDIDATES: tuple[Method, ...] = (
    level, shift, tail, drift, line, growth, curve, damped, seasonal_last, seasonal_level,
    seasonal_line, seasonal_shift, seasonal_trend, seasonal_growth, two_seasons, quick_arima,
)  # fmt: skip
RULES: tuple[tuple[Method, Callable[[Values, int], str]], ...] = (
    (two_periods, both_hold), (exceptions, but_for_exceptions), (tail, settled),
)  # fmt: skip
BY_NAME = {method.name: method for method in (last, two_periods, exceptions, *CANDIDATES, markov)}

PRICE, RELATIVE_PRICE = 0.01, 0.05  # of freedom: in error, and in parts of the last value's error
DOUBT = 0.4  # standard errors by which a gain is taken to be less than it seems
ALIKE = 0.5  # of the present disagreement with the last value: as telling as all of it
CLEAR = 0.15  # part of the last value's error that must be gained to be followed all the way


@dataclass(frozen=True, slots=True)
class Contest:
    """A method beside the last value."""

    method: Method
    record: Record
    ahead: Values
    handicap: float  # the price of its freedom
    gain: float  # less of error than the last value, at all origins, handicap taken off


def choose(values: Values, horizon: int) -> Forecast:
    """The forecast of the method that is chosen."""
    for method, relies_on in RULES:
        if why := relies_on(values, horizon):
            return apply(method, values, horizon, why)
    base = record(last, values, horizon)
    contests = [
        _contest(method, plausible(values, ahead), base, values)
        for method in CANDIDATES
        if base.tested.any() and (ahead := method(values, horizon)) is not None
    ]
    contests = sorted(
        (each for each in contests if each.record.tested.any()), key=lambda each: -each.gain
    )
    stay = Score(last.name, base.error, "what the others must beat")
    scores = [Score(each.method.name, each.record.error, _reason(each, base)) for each in contests]
    scores.insert(sum(each.gain > 0 for each in contests), stay)
    if contests:
        best = contests[0]
        gain = _gain_when_as_far_apart(best, base, values)
        weight = min(1.0, gain / (CLEAR * base.error)) if gain > 0 else 0.0
        why = _why(best, base, weight)
        if weight > 0:
            ahead = _blended(values[-1], _refined(best.method, values, best.ahead), weight)
            return _forecast(best.method, best.record, values, ahead, why, scores)
    else:
        why = "too few values to tell: the last one stays"
    return _forecast(last, base, values, np.full(horizon, values[-1]), why, scores)


def apply(method: Method, values: Values, horizon: int, why: str = "") -> Forecast:
    """The forecast of a method that was asked for; of the last value where it cannot be used."""
    why = why or f"{method.name} was asked for"
    ahead = method(values, horizon)
    if ahead is None:
        why = f"{method.name} cannot be used: the series is too short or not of its kind"
        method, ahead = last, np.full(horizon, values[-1])
    own = record(method, values, horizon)
    ahead = _refined(method, values, plausible(values, ahead))
    return _forecast(method, own, values, ahead, why, [Score(method.name, own.error, why)])


def _contest(method: Method, ahead: Values, base: Record, values: Values) -> Contest:
    own = record(method, values, len(ahead))
    price = PRICE + RELATIVE_PRICE * base.error
    handicap = price * method.freedom / np.sqrt(len(values))
    gains = _gains(own, base)
    weights = _lateness(own, values)
    gain = float(np.average(gains, weights=weights)) * _trust(len(gains)) if len(gains) else 0.0
    return Contest(method, own, ahead, handicap, gain - handicap)


def _gains(own: Record, base: Record) -> Values:
    """How much less the mean error was, for each origin at which the method was tested."""
    return np.asarray(np.nanmean((base.errors - own.errors)[own.tested], axis=1))


def _lateness(own: Record, values: Values) -> Values:
    """Weights of the origins: the more was known, the more it was like now."""
    return np.square(origins(len(values))[own.tested] / len(values))


def _trust(runs: float) -> float:
    """In a mean of so many: as if one more had come to nothing."""
    return runs / (runs + 1)


def _gain_when_as_far_apart(best: Contest, base: Record, values: Values) -> float:
    """What can be expected now, in doubt less."""
    now = float(np.abs(best.ahead - values[-1]).mean())
    moves = best.record.moves[best.record.tested]
    weights = _lateness(best.record, values)
    if now > 0:
        weights = weights * np.minimum(1.0, moves / (ALIKE * now))
    runs = float(weights.sum())
    if runs == 0:
        return 0.0
    gains = _gains(best.record, base)
    mean = float(weights @ gains) / runs
    deviation = np.sqrt(float(weights @ (gains - mean) ** 2) / runs)
    # Origins share most of what they forecast: only so many are independent.
    apart = 1 + (len(values) - int(origins(len(values))[0])) / len(best.ahead)
    doubt = DOUBT * deviation / np.sqrt(max(min(runs, apart), 0.5))
    return float(mean * _trust(runs) - doubt - best.handicap)


def _refined(method: Method, values: Values, ahead: Values) -> Values:
    """Quick fits serve to choose; what is chosen is fitted exactly."""
    exact = exact_arima(values, len(ahead)) if method is quick_arima else None
    return ahead if exact is None else plausible(values, exact)


def _blended(now: float, ahead: Values, weight: float) -> Values:
    """`weight` of the way from the last value. Between nothing and something lies what never comes:
    there it is one or the other."""
    there = np.full(len(ahead), now) if weight < 0.5 else ahead
    return np.where((ahead == 0) | (now == 0), there, now + weight * (ahead - now))


def _forecast(
    method: Method, own: Record, values: Values, ahead: Values, why: str, scores: list[Score]
) -> Forecast:
    widths = half_widths(own.misses) if own.tested.any() else np.full(len(ahead), np.ptp(values))
    widths += TOLERANCE * ahead
    return Forecast(
        tuple(ahead.tolist()), method.name, tuple(np.maximum(ahead - widths, 0.0).tolist()),
        tuple((ahead + widths).tolist()), own.error, why, tuple(scores),
    )  # fmt: skip


def _reason(each: Contest, base: Record) -> str:
    if each.gain > 0:
        return f"better than the last value by {each.gain:.2%}, after {each.handicap:.2%} handicap"
    if each.record.error < base.error:
        return "not clearly better than the last value"
    return "no better than the last value"


def _why(best: Contest, base: Record, weight: float) -> str:
    other = f"{best.method.name} was {best.record.error:.1%} off at earlier times"
    if weight == 0.0:
        return f"nothing is clearly better than the last value, {base.error:.1%} off; {other}"
    why = f"{other}, the last value {base.error:.1%}"
    return why if weight == 1.0 else f"{why}: a small gain, so {weight:.0%} of the way from it"
