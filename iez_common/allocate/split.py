"""Split: one or two files over components with different OSTs, where whole stripes cannot be even.

Whole files are placed as ever; what is left up to one level of all OSTs is then filled with the
files that are split, a component for each part of it.
"""

from dataclasses import dataclass, replace

import numpy as np

from iez_common.allocate.allocation import Part
from iez_common.allocate.columns import Floats, Ints
from iez_common.allocate.iez import Solution, lower_bound, solve
from iez_common.allocate.kernel import Rooms, Stripes, best_kernel
from iez_common.allocate.policy import MIB, Policy
from iez_common.allocate.problem import Choice, Problem
from iez_common.errors import AllocationError

SPLIT_MAX = 2  # files
EVEN_ENOUGH = 0.002  # above the level of water; then no more is split
GAIN_MIN = 0.02  # below this, `auto` does not bother
PARTS_MAX = 24  # components of a file
UNCERTAIN_SHARE = 1.1  # a file that may grow beyond this share of its bytes gets a second part
UNCERTAIN_MIN_BYTES = 64 * MIB


@dataclass(frozen=True, slots=True)
class Split:
    """A solution in which `files` have parts instead of a list."""

    rest: Solution  # of the other files, by their place in `kept`
    kept: Ints
    parts: dict[int, tuple[Part, ...]]
    load_bytes: Ints
    bound: float  # of all layouts in which the other files are whole


def water_level(problem: Problem, load_bytes: Ints, pour_bytes: int) -> float | None:
    """The z up to which OSTs with this load would be filled, if bytes were water; None: they would
    overflow."""
    usable = problem.usable
    rooms = Rooms(
        (problem.free_bytes - load_bytes)[usable],
        problem.speed[usable],
        (problem.offset + load_bytes)[usable],
    )
    # All in one stripe: the condition that is left is that of the sum.
    water = Stripes(np.array([pour_bytes]), np.array([1]))
    bound = best_kernel().bound(rooms, water, 1, 0.0)
    return bound.high if bound else None


def split(
    problem: Problem, whole: Solution, writers: Ints, stripe_size: Ints, policy: Policy
) -> Split | None:
    """The best way to split a file or two; None where it gains too little."""
    nothing = np.zeros(len(problem.osts), np.int64)
    level = water_level(problem, nothing, int(problem.write_bytes.sum()))
    if level is None:
        return None
    value = problem.value(whole.load_bytes)
    gain = GAIN_MIN if policy.pfl == "auto" else EVEN_ENOUGH
    if value <= level * (1 + gain):
        return None
    best, best_value = None, value / (1 + gain)
    for files in _candidates(problem, writers, stripe_size, policy):
        found = _try(problem, files, stripe_size, level)
        if found is None or _widest(found) > policy.stripe_count_max:
            continue
        reached = problem.value(found.load_bytes)
        if reached < best_value:
            best, best_value = found, reached
        if best_value <= level * (1 + EVEN_ENOUGH):
            break
    if best is None:
        return None
    others = lower_bound(_alone(problem, best.kept), value=best_value)
    return replace(best, bound=max(level, others))


def _widest(found: Split) -> int:
    """The most OSTs that a split file is on."""
    return max(len({ost for part in parts for ost in part.osts}) for parts in found.parts.values())


def _candidates(problem: Problem, writers: Ints, stripe_size: Ints, policy: Policy) -> list[Ints]:
    """The largest file, and the two largest; the order of files decides only between those that
    would be split alike."""
    is_able = (problem.write_bytes >= policy.split_min_bytes) & ~problem.overstripe
    if policy.pfl == "auto":
        # A single writer goes from part to part: on its own it gains nothing by more of them, and
        # they only serve to fill up what other files leave.
        others = int(problem.stripe_count.sum()) - problem.stripe_count
        is_able &= (writers > 1) | (others >= int(problem.usable.sum()))
    able = np.flatnonzero(is_able)
    order = np.arange(len(problem)) if problem.tie_order is None else problem.tie_order
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    columns = (place, -stripe_size, -problem.stripe_count, -problem.write_bytes)
    largest = able[np.lexsort([column[able] for column in columns])]
    return [largest[:count] for count in range(1, min(SPLIT_MAX, len(largest)) + 1)]


def _try(problem: Problem, files: Ints, stripe_size: Ints, level: float) -> Split | None:
    kept = np.setdiff1d(np.arange(len(problem)), files)
    try:
        solution = solve(_alone(problem, kept), is_quick=True)
    except AllocationError:
        return None
    loads = solution.load_bytes.copy()
    pour_bytes = int(problem.write_bytes[files].sum())
    z = water_level(problem, loads, pour_bytes)
    if z is None:
        return None
    shares = np.clip(z * problem.speed - problem.offset - loads, 0, problem.free_bytes - loads)
    shares[~problem.usable] = -1.0  # behind those that are full, which crumbs may still go to
    parts: dict[int, tuple[Part, ...]] = {}
    for file in files.tolist():
        made = _fill(
            shares, loads, problem.osts.index,
            int(problem.write_bytes[file]), int(problem.stripe_count[file]), int(stripe_size[file]),
        )  # fmt: skip
        if made is None:
            return None
        parts[file] = made
    if (loads > problem.free_bytes).any():
        return None
    return Split(solution, kept, parts, loads, level)


def _alone(problem: Problem, kept: Ints) -> Problem:
    """The problem of these files alone."""
    return replace(
        problem,
        write_bytes=problem.write_bytes[kept],
        stripe_count=problem.stripe_count[kept],
        overstripe=problem.overstripe[kept],
        tie_order=None if problem.tie_order is None else _ranks(problem.tie_order, kept),
    )


def _ranks(order: Ints, kept: Ints) -> Ints:
    """The tie order of those that are kept, in their own numbers."""
    number = np.full(len(order), -1)
    number[kept] = np.arange(len(kept))
    ranked = number[order]
    return ranked[ranked >= 0]


def _fill(
    shares: Floats, loads: Ints, index: Ints, write_bytes: int, stripe_count: int, stripe_size: int
) -> tuple[Part, ...] | None:
    """Takes a file's bytes from the shares, which shrink, and adds them to the loads: each part
    covers the OSTs with the largest shares up to the smallest of these."""
    parts: list[Part] = []
    start = 0
    while start < write_bytes:
        order = np.argsort(-shares, kind="stable")[:stripe_count]
        chosen = order[shares[order] >= stripe_size]
        rest = write_bytes - start
        if not len(chosen) or len(parts) == PARTS_MAX - 1:
            # Crumbs that are smaller than a stripe.
            chosen, each = order, rest
        else:
            each = int(shares[chosen[-1]]) // stripe_size * stripe_size * len(chosen)
        length = min(each, rest)
        is_last = start + length >= write_bytes
        end = None if is_last else start + length
        parts.append(Part(end, stripe_size, tuple(index[chosen].tolist())))
        share = -(-length // len(chosen))
        shares[chosen] = np.maximum(shares[chosen] - share, 0)
        loads[chosen] += share
        start += length
    return tuple(parts)


def tails(
    problem: Problem, choice: Choice, load_bytes: Ints, high_bytes: Ints, stripe_size: Ints
) -> dict[int, tuple[Part, ...]]:
    """Files that may become much larger than predicted get a second part for what comes on top, on
    the OSTs that have most room when all else is placed. It costs nothing until it is written."""
    unsure = (high_bytes > UNCERTAIN_SHARE * problem.write_bytes) & (choice.stripe_count > 0)
    unsure &= (problem.write_bytes >= UNCERTAIN_MIN_BYTES) & ~problem.overstripe
    files = np.flatnonzero(unsure)
    if not len(files):
        return {}
    beyond = replace(
        problem,
        write_bytes=high_bytes[files] - problem.write_bytes[files],
        stripe_count=problem.stripe_count[files],
        overstripe=problem.overstripe[files],
        free_bytes=np.maximum(problem.free_bytes - load_bytes, 0),
        offset=problem.offset + load_bytes,
        tie_order=None if problem.tie_order is None else _ranks(problem.tie_order, files),
    )
    try:
        tail = solve(beyond).choice
    except AllocationError:
        return {}  # no space for it: should it be written, Lustre finds some or says so
    index = problem.osts.index
    parts: dict[int, tuple[Part, ...]] = {}
    for at, file in enumerate(files.tolist()):
        size = int(stripe_size[file])
        # Lustre wants room in a part for a stripe on each of its OSTs.
        row = size * int(choice.stripe_count[file])
        end = -(-int(problem.write_bytes[file]) // row) * row
        first, second = (tuple(index[each].tolist()) for each in (choice.of(file), tail.of(at)))
        parts[file] = (Part(end, size, first), Part(None, size, second))
    return parts
