"""Drift: where whole stripes leave a choice, the emptier OSTs get them.

A placement at its best seldom uses all room: with 64 equal stripes on 15 OSTs some OST has five,
and then all may. Within these limits the files are placed once more, for equal utilisation.
"""

from dataclasses import replace

import numpy as np

from iez_common.allocate.columns import Ints
from iez_common.allocate.iez import WORK_MAX, Solution, solve
from iez_common.allocate.problem import Problem
from iez_common.errors import AllocationError

SLACK_MIN = 0.02  # of the room, that is not needed


def drifted(problem: Problem, solution: Solution) -> Solution:
    """As good in the objective, and no worse in how full the fullest OST gets."""
    by_space = within_slack(problem, solution.load_bytes)
    if by_space is None:
        return solution
    try:
        found = solve(by_space, is_quick=True)
    except AllocationError:
        return solution
    if by_space.value(found.load_bytes) >= by_space.value(solution.load_bytes):
        return solution
    return replace(found, bound=solution.bound)


def within_slack(problem: Problem, load_bytes: Ints) -> Problem | None:
    """The same files for equal utilisation, each OST within what the z of these loads leaves to it;
    None where that is next to nothing, or too much work."""
    if len(problem) * len(problem.osts) > WORK_MAX or not len(problem):
        return None
    osts = problem.osts
    room = problem.value(load_bytes) * problem.speed - problem.offset
    limit = np.where(problem.usable, np.clip(room, 0, problem.free_bytes), 0).astype(np.int64)
    # Rounding must not forbid what is there already.
    limit = np.minimum(np.maximum(limit, load_bytes), problem.free_bytes)
    if int(limit.sum()) < (1 + SLACK_MIN) * int(load_bytes.sum()):
        return None
    used = osts.used_bytes + osts.promised_bytes
    size = np.maximum(osts.size_bytes, 1).astype(np.float64)
    return replace(problem, free_bytes=limit, speed=size, offset=used.astype(np.float64))
