"""Simple strategies: by chance, and always the least loaded; others are measured against them.

An overstriped file comes back to an OST only once it has been on all that have room.
"""

from collections.abc import Callable

import numpy as np

from iez_common.allocate.columns import Ints
from iez_common.allocate.problem import Choice, Options, Problem
from iez_common.errors import AllocationError


def random(problem: Problem, options: Options) -> Choice:
    """Every request takes distinct OSTs by chance, of those that have room for its stripe."""
    draw = np.random.default_rng(options.seed)
    targets = np.flatnonzero(problem.usable)
    return _place(problem, targets, lambda roomy, load: draw.permutation(roomy))


def greedy(problem: Problem, options: Options) -> Choice:
    """Requests in the order given take the OSTs that are the least loaded for their speed.

    Nothing is by chance: between equal OSTs the lower position wins.
    """
    targets = np.flatnonzero(problem.usable & (problem.speed > 0))
    offset, speed = problem.offset[targets], problem.speed[targets]

    def least_loaded(roomy: Ints, load: Ints) -> Ints:
        level = ((load + offset) / speed)[roomy]
        return roomy[level.argsort(kind="stable")]

    return _place(problem, targets, least_loaded)


def _place(problem: Problem, targets: Ints, order: Callable[[Ints, Ints], Ints]) -> Choice:
    """Gives each request the first of its targets in the order that `order` puts them, given those
    with room and the bytes that each target has been given so far."""
    load = np.zeros(len(targets), np.int64)
    free = problem.free_bytes[targets]
    counts, overstripe = problem.stripe_count.tolist(), problem.overstripe.tolist()
    taken: list[Ints] = []
    for request, stripe in enumerate(problem.stripe_bytes.tolist()):
        missing = counts[request]
        while missing:
            roomy = np.flatnonzero(load + stripe <= free)
            if not len(roomy) or (missing > len(roomy) and not overstripe[request]):
                raise AllocationError(
                    f"request {request} needs {missing} OSTs with {stripe} bytes free each, "
                    f"and there are {len(roomy)}",
                    "ask for other stripe counts, or for fewer bytes",
                )
            chosen = order(roomy, load)[:missing]
            load[chosen] += stripe
            missing -= len(chosen)
            taken.append(targets[chosen])
    positions = np.concatenate(taken) if taken else np.zeros(0, np.int64)
    return Choice.in_order(positions, problem.stripe_count.copy())
