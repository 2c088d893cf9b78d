"""Markov: states that follow each other with the frequencies seen, the paper's comparison."""

import numpy as np
from numpy.typing import NDArray

from iez_client.predict.middle import median
from iez_client.predict.record import Values, named

MOST_STATES = 12


@named("markov", freedom=4.0)
def markov(values: Values, horizon: int) -> Values | None:
    """The middle of what the chain of states leads to."""
    if len(values) < 4:
        return None
    levels, states = _states(values)
    counts = np.zeros((len(levels), len(levels)))
    np.add.at(counts, (states[:-1], states[1:]), 1.0)
    share = np.bincount(states, minlength=len(levels)) / len(states)
    counts += 0.5 * share  # a state that was never left leads to all, as often as each was seen
    chain = counts / counts.sum(axis=1, keepdims=True)
    ahead, now = np.empty(horizon), np.eye(len(levels))[states[-1]]
    for step in range(horizon):
        now = now @ chain
        ahead[step] = levels[np.searchsorted(np.cumsum(now), 0.5 * now.sum())]
    return ahead


def _states(values: Values) -> tuple[Values, NDArray[np.intp]]:
    """Levels in rising order, and the number of each value's level."""
    seen, states = np.unique(values, return_inverse=True)
    if len(seen) > MOST_STATES:
        edges = np.unique(np.quantile(values, np.linspace(0, 1, MOST_STATES // 2 + 1)[1:-1]))
        states = np.searchsorted(edges, values, side="right")
        states = np.unique(states, return_inverse=True)[1]
        seen = np.array([median(values[states == each]) for each in range(states.max() + 1)])
    return seen, states
