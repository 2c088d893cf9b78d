"""Replay: how iez came to an allocation, file by file, told again from its result.

Files of one pool are placed together, pools one after the other (allocator.py). Within a group the
largest stripes come first, each on the OSTs that then have most room under the bound (iez.py); with
the objective `blend` perhaps once more, for equal utilisation at the same z (drift.py).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from iez_common.allocate.allocation import Allocation
from iez_common.allocate.allocator import allocate, name_order, pool_groups
from iez_common.allocate.columns import Flags, Ints, Osts, Requests
from iez_common.allocate.drift import drifted, within_slack
from iez_common.allocate.iez import Search, single_stripes, solve, tie_order
from iez_common.allocate.kernel import Placed, Rooms, Stripes, best_kernel
from iez_common.allocate.objective import Targets, targets_of
from iez_common.allocate.plain import STEP_BITS
from iez_common.allocate.policy import LIST, Policy
from iez_common.allocate.problem import Problem
from iez_common.allocate.striping import sharing
from iez_common.errors import AllocationError


@dataclass(frozen=True, slots=True)
class Group:
    """Files that were placed together."""

    numbers: Ints  # of its requests
    members: Flags  # OSTs of its pool
    usable: Flags  # OSTs that it was placed on
    targets: Targets  # with what earlier groups left
    sharing_files: int  # as in striping.sharing


def groups_of(
    requests: Requests, osts: Osts, policy: Policy, allocation: Allocation
) -> Iterator[Group]:
    """In the order in which they were placed."""
    everything = targets_of(osts, policy)
    loads = np.zeros(len(osts), np.int64)
    for numbers, members in pool_groups(requests, osts, policy):
        own = replace(
            everything,
            open=everything.open & members,
            preferred=everything.preferred & members,
            free_bytes=everything.free_bytes - loads,
            offset=everything.offset + loads,
        )
        sharing_files = int(sharing(requests, policy)[numbers].sum())
        group = Group(numbers, members, own.open, own, sharing_files)
        used = loads_of_files(requests, allocation, numbers)
        if not _needs_avoided(group, used, requests, osts, policy, loads):
            group = replace(group, usable=own.preferred)
        yield group
        loads += used


def _needs_avoided(
    group: Group, used: Ints, requests: Requests, osts: Osts, policy: Policy, loads: Ints
) -> bool:
    """Whether OSTs that are avoided had to be used: where none got anything, it is tried."""
    avoided = group.targets.open & ~group.targets.preferred
    if not avoided.any():
        return False
    if used[avoided].any() or not group.targets.preferred.any():
        return True
    without = replace(
        policy, exclude_osts=policy.exclude_osts | frozenset(osts.index[avoided].tolist())
    )
    left = replace(osts, promised_bytes=osts.promised_bytes + loads)
    try:
        allocate(requests.take(group.numbers), left, without)
    except AllocationError:
        return True
    return False


def stripes_of(allocation: Allocation, numbers: Ints) -> tuple[Ints, Ints]:
    """Every stripe of these files that have a plain list: its file and the position of its OST."""
    counts = allocation.list_count[numbers]
    owners = np.repeat(numbers, counts)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    positions: Ints = allocation.positions[allocation.starts[owners] + within].astype(np.int64)
    return owners, positions


def loads_of_files(requests: Requests, allocation: Allocation, numbers: Ints) -> Ints:
    """New bytes of each OST by these files."""
    loads = np.zeros(len(allocation.osts), np.int64)
    owners, positions = stripes_of(allocation, numbers)
    each = -(-requests.write_bytes[owners] // np.maximum(allocation.list_count[owners], 1))
    np.add.at(loads, positions, each)
    for number in set(numbers.tolist()) & allocation.parts.keys():
        for position, part_bytes in part_loads(requests, allocation, number):
            loads[position] += part_bytes
    return loads


def part_loads(
    requests: Requests, allocation: Allocation, number: int
) -> Iterator[tuple[int, int]]:
    """Positions and new bytes of a file with parts; a part beyond its predicted end has none."""
    start, end = 0, int(requests.write_bytes[number])
    for part in allocation.parts[number]:
        stop = end if part.end_bytes is None else min(part.end_bytes, end)
        each = -(-max(0, stop - start) // len(part.osts))
        for position in np.searchsorted(allocation.osts.index, part.osts).tolist():
            yield position, each
        start = stop


@dataclass(frozen=True, slots=True)
class Moment:
    """The OSTs just before a file was placed, by position; those that were not usable have -1."""

    room_bytes: Ints  # under the bound
    free_bytes: Ints
    limit_bytes: Ints  # what it may take: all that is free, or what the best z leaves
    picks: tuple[int, ...]  # positions that the file took then
    is_by_space: bool  # placed once more for equal utilisation, at the same z

    def steps(self, stripe_bytes: int) -> Ints:
        """Room as placement compares it: small differences do not count."""
        return self.room_bytes >> max(stripe_bytes.bit_length() - STEP_BITS, 0)


class Replay:
    """The placement of a group, before stripes were exchanged."""

    def __init__(
        self,
        requests: Requests,
        osts: Osts,
        group: Group,
        allocation: Allocation,
        is_blend: bool,
    ) -> None:
        pinned = group.numbers[allocation.rung[group.numbers] == LIST]
        self.numbers = np.setdiff1d(pinned, np.array(allocation.splits, np.int64))
        files = requests.take(self.numbers)
        self._problem = Problem(
            files.write_bytes, allocation.stripe_count[self.numbers], files.overstripe, osts,
            group.usable, group.targets.free_bytes, group.targets.speed, group.targets.offset,
            name_order(files),
        )  # fmt: skip
        self._free_bytes = group.targets.free_bytes
        self._kernel = best_kernel()
        self.is_by_space = False
        if is_blend and len(self.numbers) == len(pinned):
            self._drift()

    def _drift(self) -> None:
        """As in drift.py: files that are not split may have been placed once more."""
        try:
            solution = solve(self._problem)
        except AllocationError:
            return
        by_space = within_slack(self._problem, solution.load_bytes)
        if by_space is not None and drifted(self._problem, solution) is not solution:
            self._problem, self.is_by_space = by_space, True

    def moment(self, number: int) -> Moment | None:
        """None where placing by room alone does not get that far."""
        file = int(np.searchsorted(self.numbers, number))
        order = self._problem.tie_order
        place = file if order is None else int(np.flatnonzero(order == file)[0])
        _, owners = self._stripes
        single = place if owners is None else int(owners[place])
        count = int(self._problem.stripe_count[file]) if self._is_over(file) else 1
        at = int(np.flatnonzero(self._order == single)[0])
        before, after = self._placed(at), self._placed(at + count)
        if before is None or after is None:
            return None
        positions, rooms, room = self._start
        first, wanted = int(after.starts[at]), int(self._problem.stripe_count[file])
        return Moment(
            self._spread(room - before.load_bytes),
            self._spread(self._free_bytes[positions] - before.load_bytes),
            self._spread(rooms.free_bytes - before.load_bytes),
            tuple(positions[after.picks[first : first + wanted]].tolist()),
            self.is_by_space,
        )

    def _is_over(self, file: int) -> bool:
        return bool(self._problem.overstripe[file])

    def _spread(self, by_turn: Ints) -> Ints:
        column = np.full(len(self._problem.osts), -1, np.int64)
        column[self._start[0]] = by_turn
        return column

    def _placed(self, count: int) -> Placed | None:
        """The first of them in the order of placement."""
        stripes, _ = self._stripes
        first = self._order[:count]
        some = Stripes(
            np.ascontiguousarray(stripes.stripe_bytes[first]),
            np.ascontiguousarray(stripes.counts[first]),
        )
        _, rooms, room = self._start
        in_order = np.arange(count, dtype=np.uint32)
        if not count:
            nothing = np.zeros(0, np.int64)
            return Placed(nothing.astype(np.int32), nothing, np.zeros(len(rooms), np.int64))
        placed = self._kernel.place(rooms, some, in_order, room.copy())
        return placed if isinstance(placed, Placed) else None

    @cached_property
    def _stripes(self) -> tuple[Stripes, Ints | None]:
        return single_stripes(self._problem)

    @cached_property
    def _order(self) -> Ints:
        return self._kernel.order_of(self._stripes[0]).astype(np.int64)

    @cached_property
    def _start(self) -> tuple[Ints, Rooms, Ints]:
        """Positions in turn, their rooms, and what the bound leaves to each."""
        problem = self._problem
        positions = tie_order(problem)
        rooms = Rooms(
            problem.free_bytes[positions], problem.speed[positions], problem.offset[positions]
        )
        search = Search(self._kernel, rooms, self._stripes[0])
        bound = search.first_bound()
        high = bound.high if bound else 0.0
        return positions, rooms, rooms.under(high) // search.granule_bytes * search.granule_bytes
