"""Exact: rules that series have followed without exception, for many of one length at once.

A rule must have been confirmed: a period has come twice, a step was the same at least twice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from iez_client.predict.record import Values

TOLERANCE, OF_LARGEST = 1e-6, 1e-9  # parts of a value, of the largest one: bytes are whole numbers
NOTHING = 1e-12  # of the largest value: what subtraction leaves of zero

Mask = NDArray[np.bool_]


def slack_of(rows: Values) -> Values:
    """How far each value may be from what a rule says."""
    size = np.abs(rows)
    return np.asarray(TOLERANCE * size + OF_LARGEST * size.max(axis=-1, keepdims=True))


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of regularity. Rows are series; a period is the distance at which it shows."""

    name: str
    periods: Callable[[int], range]  # that n values can confirm
    holds: Callable[[Values, Values, int], Mask]  # rows, how far values may be off, period
    goes_on: Callable[[Values, int, int], Values]  # rows, period, horizon
    why: str


@dataclass(frozen=True, slots=True)
class Match:
    """Rows that follow a rule, and their continuations, line by line."""

    rule: str
    rows: NDArray[np.intp]
    values: Values
    why: str


def matches(rows: Values, horizon: int) -> Iterator[Match]:
    """Each row at most once, by the simplest rule."""
    index, slack = np.arange(len(rows)), slack_of(rows)
    for rule in RULES:
        for period in rule.periods(rows.shape[1]):
            good = rule.holds(rows, slack, period)
            if not good.any():
                continue
            values = rule.goes_on(rows[good], period, horizon)
            values[values <= NOTHING * rows[good].max(axis=1, keepdims=True)] = 0.0
            yield Match(rule.name, index[good], values, rule.why.format(period=period))
            rows, index, slack = rows[~good], index[~good], slack[~good]
            if not len(rows):
                return


def _equal(rows: Values, slack: Values, period: int) -> Mask:
    return np.asarray((rows == rows[:, -1:]).all(axis=1))


def _stays(rows: Values, period: int, horizon: int) -> Values:
    return np.repeat(rows[:, -1:], horizon, axis=1)


def _slopes(rows: Values) -> Values:
    return np.asarray((rows[:, -1:] - rows[:, :1]) / (rows.shape[1] - 1))


def _straight(rows: Values, slack: Values, period: int) -> Mask:
    line = rows[:, :1] + _slopes(rows) * np.arange(rows.shape[1])
    return np.asarray((np.abs(rows - line) <= slack).all(axis=1))


def _straight_on(rows: Values, period: int, horizon: int) -> Values:
    return np.asarray(rows[:, -1:] + _slopes(rows) * np.arange(1, horizon + 1))


def _filtered(
    rows: Values, slack: Values, period: int, test: Callable[[Values, Values], Mask]
) -> Mask:
    """`test` on the rows whose first and last values do not rule the period out."""
    late, early = rows[:, -1] - rows[:, -1 - period], rows[:, period] - rows[:, 0]
    good = np.abs(late - early) <= slack[:, [-1, -1 - period, period, 0]].sum(axis=1)
    if good.any():
        good[good] = test(rows[good], slack[good])
    return np.asarray(good)


def _repeats(rows: Values, slack: Values, period: int) -> Mask:
    def test(rows: Values, slack: Values) -> Mask:
        steps = rows[:, period:] - rows[:, :-period]
        good = np.asarray((np.abs(steps) <= slack[:, period:]).all(axis=1))
        if rows.shape[1] < 2 * period:
            # Two values came again: that is enough if no two of one period are alike.
            ordered = np.sort(rows[:, :period], axis=1)
            good &= (np.diff(ordered, axis=1) > TOLERANCE * ordered[:, 1:]).all(axis=1)
        return good

    return _filtered(rows, slack, period, test)


def _repeat(rows: Values, period: int, horizon: int) -> Values:
    return rows[:, rows.shape[1] - period + np.arange(horizon) % period]


def _drifts(rows: Values, slack: Values, period: int) -> Mask:
    def test(rows: Values, slack: Values) -> Mask:
        steps = rows[:, period:] - rows[:, :-period]
        off = np.abs(steps - steps.mean(axis=1, keepdims=True))
        return np.asarray((off <= slack[:, period:] + slack[:, :-period]).all(axis=1))

    return _filtered(rows, slack, period, test)


def _drift_on(rows: Values, period: int, horizon: int) -> Values:
    steps = rows[:, period:] - rows[:, :-period]
    times = 1 + np.arange(horizon) // period
    return np.asarray(_repeat(rows, period, horizon) + steps.mean(axis=1, keepdims=True) * times)


def _log_steps(rows: Values, period: int) -> Values:
    """The mean, for each row."""
    logs = np.log(rows)
    return np.asarray((logs[:, period:] - logs[:, :-period]).mean(axis=1, keepdims=True))


def _grows(rows: Values, slack: Values, period: int) -> Mask:
    """Every value is the same multiple of the one a period before."""
    good = np.asarray((rows > 0).all(axis=1))
    own = rows[good]
    factor = np.exp(_log_steps(own, period))
    off = np.abs(own[:, period:] - own[:, :-period] * factor)
    good[good] = ((off <= 2 * slack[good, period:]) & (off < own[:, period:])).all(axis=1)
    return good


def _grow_on(rows: Values, period: int, horizon: int) -> Values:
    """At most as far up or down again as the series has come."""
    times = np.minimum(1 + np.arange(horizon) // period, (rows.shape[1] - 1) // period)
    return np.asarray(_repeat(rows, period, horizon) * np.exp(_log_steps(rows, period) * times))


def _square(rows: Values) -> tuple[Values, Values]:
    """Parabolas by least squares over time in units of the length, and what they miss."""
    at = np.arange(rows.shape[1]) / rows.shape[1]
    powers = np.vander(at, 3)
    parabolas = rows @ np.linalg.pinv(powers).T
    return parabolas, np.abs(rows - parabolas @ powers.T)


def _bends(rows: Values, slack: Values, period: int) -> Mask:
    return np.asarray((_square(rows)[1] <= slack).all(axis=1))


def _bend_on(rows: Values, period: int, horizon: int) -> Values:
    at = np.arange(rows.shape[1], rows.shape[1] + horizon) / rows.shape[1]
    return np.asarray(_square(rows)[0] @ np.vander(at, 3).T)


def _slopes_repeat(rows: Values, slack: Values, period: int) -> Mask:
    """Every place of the period has its own slope."""
    steps = rows[:, period:] - rows[:, :-period]
    off = np.abs(steps[:, period:] - steps[:, :-period])
    return np.asarray((off <= 4 * slack[:, 2 * period :]).all(axis=1))


def _slopes_on(rows: Values, period: int, horizon: int) -> Values:
    steps = rows[:, -period:] - rows[:, -2 * period : -period]
    at = np.arange(horizon)
    return np.asarray(_repeat(rows, period, horizon) + steps[:, at % period] * (1 + at // period))


RULES = (
    Rule("constant", lambda n: range(1, 2), _equal, _stays, "all values are equal"),
    Rule("affine", lambda n: range(1, 1 + (n > 2)), _straight, _straight_on,
         "every step is the same"),
    Rule("periodic", lambda n: range(2, max(n // 2 + 1, n - 1)), _repeats, _repeat,
         "the values repeat every {period}"),
    Rule("geometric", lambda n: range(1, 1 + (n > 2)), _grows, _grow_on,
         "every value is the same multiple of the one before"),
    Rule("periodic-drift", lambda n: range(2, (n - 1) // 2 + 1), _drifts, _drift_on,
         "the values repeat every {period}, shifted by the same step each time"),
    Rule("periodic-growth", lambda n: range(2, (n - 1) // 2 + 1), _grows, _grow_on,
         "the values repeat every {period}, times the same factor each time"),
    Rule("quadratic", lambda n: range(1, 1 + (n > 4)), _bends, _bend_on,
         "the steps grow by the same amount"),
    Rule("periodic-slopes", lambda n: range(2, n // 3 + 1), _slopes_repeat, _slopes_on,
         "every {period}th value grows by a step of its own"),
)  # fmt: skip
