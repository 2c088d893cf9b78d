"""Explain: an allocation in, out why each OST was or was not chosen, and why each file got what it
got. Numbers and short codes only; iez_client/cli puts them into words."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from iez_common.allocate.allocation import Allocation
from iez_common.allocate.columns import Floats, Ints, Osts, Requests
from iez_common.allocate.explain_file import FileReason, file_reason
from iez_common.allocate.objective import targets_of
from iez_common.allocate.policy import LIST, Policy
from iez_common.allocate.problem import Problem
from iez_common.allocate.replay import Group, Moment, Replay, groups_of, part_loads, stripes_of
from iez_common.records import AVOIDED, CLOSED

# Why an OST was left out: of everything, or of one file.
CLOSED_BY_STATE = "closed"
EXCLUDED = "excluded"
NO_SIZE = "no-size"
NOT_IN_POOL = "not-in-pool"
AVOIDED_BY_STATE = "avoided"
NO_SPACE = "no-space"  # too little free for a stripe
ABOVE_Z = "above-z"  # a stripe would bring it above the best z
LESS_ROOM = "less-room"  # others had more under the bound
IN_TURN = "in-turn"  # as much as the last that was chosen, which comes before it
NOT_PINNED = "not-pinned"  # Lustre chooses
# Why it was chosen.
MOST_ROOM = "most-room"
BEYOND = "beyond"  # for what comes on top of the predicted bytes
# Either.
EVENED_OUT = "evened-out"  # exchanged or split afterwards, so that the largest z fell
STRATEGY = "strategy"  # by the rule of another strategy than iez


@dataclass(frozen=True, slots=True)
class OstOutcome:
    """One OST, and what all files together make of it."""

    index: int
    is_chosen: bool
    why: str  # a code from above; MOST_ROOM for one that is chosen
    states: tuple[str, ...]  # that keep it out
    stripe_count: int
    load_bytes: int
    free_bytes: int
    room_bytes: int  # how much would bring it to the bound, at most what is free
    level: float  # its z; 0 for one that gets nothing
    needed_bytes: int  # of the smallest stripe that is placed


@dataclass(frozen=True, slots=True)
class OstReason:
    """One OST and one file."""

    index: int
    is_chosen: bool
    why: str
    states: tuple[str, ...] = ()
    stripe_count: int = 0
    load_bytes: int = 0
    free_bytes: int | None = None  # when the file was placed; None: it cannot be told
    room_bytes: int | None = None  # then, under the bound
    last_room_bytes: int | None = None  # of the last OST that was chosen
    needed_bytes: int = 0  # by a stripe
    is_by_space: bool = False  # room is up to equal utilisation, not to the bound of the objective


class Explainer:
    """What can be said about one allocation."""

    def __init__(
        self, requests: Requests, osts: Osts, policy: Policy, allocation: Allocation
    ) -> None:
        self.requests, self.osts, self.policy = requests, osts, policy
        self.allocation = allocation
        self._replays: dict[int, Replay] = {}  # by the group's place

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        return tuple(groups_of(self.requests, self.osts, self.policy, self.allocation))

    def file(self, number: int) -> FileReason:
        _, group = self._group_of(number)
        return file_reason(number, self.requests, self.policy, self.allocation, group)

    def all_osts(self) -> tuple[OstOutcome, ...]:
        """Every OST, by position."""
        stripes, needed = self._stripe_counts, self._smallest_stripe
        pinned = bool((self.allocation.rung == LIST).any())
        loads = self.allocation.load_bytes
        targets = targets_of(self.osts, self.policy)
        bound = self.allocation.certificate.bound
        room = np.clip(bound * targets.speed - targets.offset, 0, targets.free_bytes)
        outcomes = []
        for position, index in enumerate(self.osts.index.tolist()):
            free = int(targets.free_bytes[position])
            why, states = self._kept_out(position)
            is_chosen = bool(stripes[position])
            if is_chosen:
                why = MOST_ROOM if self._is_iez else STRATEGY
            elif not why and not pinned:
                why = NOT_PINNED
            elif not why and not self._is_iez:
                why = STRATEGY
            elif not why:
                why = NO_SPACE if free < needed else LESS_ROOM
            outcome = OstOutcome(
                index, is_chosen, why, states, int(stripes[position]), int(loads[position]),
                free, int(room[position]), float(self._levels[position]), needed,
            )  # fmt: skip
            outcomes.append(outcome)
        return tuple(outcomes)

    def file_osts(self, number: int) -> tuple[OstReason, ...]:
        """Every OST as this file sees it, by position."""
        place, group = self._group_of(number)
        reasons = []
        mine = self._own_stripes(number)
        is_pinned = self.allocation.rung[number] == LIST
        moment = None
        if is_pinned and self._is_iez and number not in self.allocation.splits:
            moment = self._replay(place).moment(number)
        for position, index in enumerate(self.osts.index.tolist()):
            if position in mine:
                count, load = mine[position]
                reasons.append(self._chosen(number, position, count, load, moment))
                continue
            why, states = self._kept_out(position, group)
            if why or not is_pinned:
                reasons.append(OstReason(index, False, why or NOT_PINNED, states))
            else:
                reasons.append(self._passed_over(number, position, moment))
        return tuple(reasons)

    def _chosen(
        self, number: int, position: int, count: int, load: int, moment: Moment | None
    ) -> OstReason:
        why = EVENED_OUT
        if not self._is_iez:
            why = STRATEGY
        elif moment is not None and position in moment.picks:
            why = MOST_ROOM
        elif not load and number in self.allocation.parts:
            why = BEYOND
        return self._reason(number, position, True, why, moment, count, load)

    def _passed_over(self, number: int, position: int, moment: Moment | None) -> OstReason:
        if not self._is_iez:
            return self._reason(number, position, False, STRATEGY, None)
        if moment is None or position in moment.picks:
            return self._reason(number, position, False, EVENED_OUT, moment)
        needed = self._stripe_bytes(number)
        if moment.free_bytes[position] < needed:
            return self._reason(number, position, False, NO_SPACE, moment)
        if moment.limit_bytes[position] < needed:
            return self._reason(number, position, False, ABOVE_Z, moment)
        steps = moment.steps(needed)
        is_equal = steps[position] == steps[list(moment.picks)].min()
        why = IN_TURN if is_equal else LESS_ROOM
        return self._reason(number, position, False, why, moment)

    def _reason(
        self, number: int, position: int, is_chosen: bool, why: str, moment: Moment | None,
        count: int = 0, load: int = 0,
    ) -> OstReason:  # fmt: skip
        index, needed = int(self.osts.index[position]), self._stripe_bytes(number)
        if moment is None:
            return OstReason(index, is_chosen, why, (), count, load, needed_bytes=needed)
        room = moment.limit_bytes if why == ABOVE_Z else moment.room_bytes
        return OstReason(
            index, is_chosen, why, (), count, load,
            free_bytes=int(moment.free_bytes[position]),
            room_bytes=int(room[position]),
            last_room_bytes=int(moment.room_bytes[list(moment.picks)].min()),
            needed_bytes=needed,
            is_by_space=moment.is_by_space,
        )  # fmt: skip

    def _kept_out(self, position: int, group: Group | None = None) -> tuple[str, tuple[str, ...]]:
        """What keeps the OST out before any room is compared; for one group, or for all."""
        states = self.osts.states[position]
        groups = self.groups if group is None else (group,)
        if states & CLOSED:
            return CLOSED_BY_STATE, tuple(sorted(states & CLOSED))
        if int(self.osts.index[position]) in self.policy.exclude_osts:
            return EXCLUDED, ()
        if not self.osts.size_bytes[position]:
            return NO_SIZE, ()
        if not any(each.members[position] for each in groups):
            return NOT_IN_POOL, ()
        if not any(each.usable[position] for each in groups) and states & AVOIDED:
            return AVOIDED_BY_STATE, tuple(sorted(states & AVOIDED))
        return "", ()

    @property
    def _is_iez(self) -> bool:
        return self.allocation.strategy == "iez"

    def _group_of(self, number: int) -> tuple[int, Group]:
        place = int(self._places[number])
        return place, self.groups[place]

    @cached_property
    def _places(self) -> Ints:
        """Of each file's group."""
        places = np.zeros(len(self.requests), np.int64)
        for place, group in enumerate(self.groups):
            places[group.numbers] = place
        return places

    def _replay(self, place: int) -> Replay:
        if place not in self._replays:
            self._replays[place] = Replay(
                self.requests, self.osts, self.groups[place], self.allocation,
                is_blend=self.policy.objective == "blend",
            )  # fmt: skip
        return self._replays[place]

    def _stripe_bytes(self, number: int) -> int:
        count = max(1, int(self.allocation.stripe_count[number]))
        return -(-int(self.requests.write_bytes[number]) // count)

    def _own_stripes(self, number: int) -> dict[int, tuple[int, int]]:
        """Stripes and new bytes of a file on each OST that it has."""
        found: dict[int, tuple[int, int]] = {}
        _, positions = stripes_of(self.allocation, np.array([number]))
        each = -(-int(self.requests.write_bytes[number]) // max(1, len(positions)))
        pairs = [(position, each) for position in positions.tolist()]
        if number in self.allocation.parts:
            pairs = list(part_loads(self.requests, self.allocation, number))
        for position, load in pairs:
            count, before = found.get(position, (0, 0))
            found[position] = (count + 1, before + load)
        return found

    @cached_property
    def _stripe_counts(self) -> Ints:
        _, positions = stripes_of(self.allocation, np.arange(len(self.requests)))
        counts = np.bincount(positions, minlength=len(self.osts))
        for number in self.allocation.parts:
            for position, _ in part_loads(self.requests, self.allocation, number):
                counts[position] += 1
        return counts

    @cached_property
    def _smallest_stripe(self) -> int:
        pinned = np.flatnonzero(self.allocation.rung == LIST)
        if not len(pinned):
            return 0
        counts = np.maximum(self.allocation.stripe_count[pinned], 1)
        return int((-(-self.requests.write_bytes[pinned] // counts)).min())

    @cached_property
    def _levels(self) -> Floats:
        targets = targets_of(self.osts, self.policy)
        problem = Problem(
            self.requests.write_bytes, self.requests.stripe_count, self.requests.overstripe,
            self.osts, targets.open, targets.free_bytes, targets.speed, targets.offset,
        )  # fmt: skip
        return problem.levels(self.allocation.load_bytes)
