"""Two periods: a sum of two seasons that a series has followed without exception.

Such a series is told by x[t] − x[t−p] − x[t−q] + x[t−p−q] = 0, long before p·q values are there.
"""

import numpy as np

from iez_client.predict.exact import slack_of
from iez_client.predict.record import Values, named

FEWEST = 8  # values: for periods of 2 and 3
PROBES = 4  # last values at which all pairs of periods are tried before one is looked at closely


def find_pair(values: Values) -> tuple[int, int] | None:
    """The shortest two periods that hold throughout. A single spike cannot pass for them where
    p + 2q values are known."""
    count = len(values)
    if count < FEWEST:
        return None
    shorter, longer = np.triu_indices(count // 2, 1)
    fits = (shorter >= 2) & (shorter + 2 * longer <= count) & (longer % np.maximum(shorter, 1) > 0)
    shorter, longer = shorter[fits], longer[fits]
    slack = 4 * slack_of(values)
    for at in range(count - 1, count - 1 - PROBES, -1):
        off = (
            values[at] - values[at - shorter] - values[at - longer] + values[at - shorter - longer]
        )
        good = np.abs(off) <= slack[at]
        shorter, longer = shorter[good], longer[good]
    for p, q in sorted(zip(shorter.tolist(), longer.tolist(), strict=True), key=sum):
        once = values[p:] - values[:-p]
        if (np.abs(once[q:] - once[:-q]) <= slack[p + q :]).all():
            return p, q
    return None


@named("two-periods", freedom=1.0)
def two_periods(values: Values, horizon: int) -> Values | None:
    """Both seasons go on."""
    pair = find_pair(values)
    if pair is None:
        return None
    p, q = pair
    known = np.concatenate([values, np.zeros(horizon)])
    for at in range(len(values), len(known)):
        known[at] = known[at - p] + known[at - q] - known[at - p - q]
    return known[len(values) :]


def both_hold(values: Values, horizon: int) -> str:
    """Why the rule can be relied on. Empty: there is none."""
    pair = find_pair(values)
    return f"two seasons, of {pair[0]} and {pair[1]} values, add up to it" if pair else ""
