"""Lustre's round robin: the OSTs that the MDS gives to new files while all OSTs are about alike.

S, K and C below are the start, the offset and the countdown to the next random start.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from iez_common.allocate.lustre_view import View, choice_of
from iez_common.allocate.problem import Choice, Options, Problem

Release = Literal["2.14", "2.15", "2.17"]  # 2.14 and before, 2.15 and 2.16, 2.17 and later
RESEED_FILES = 2000
RESEED_ROUNDS = 30


def lustre_rr(problem: Problem, options: Options) -> Choice:
    """What round robin of Lustre 2.17 gives, from a state that nobody knows: it is drawn.

    A file may get fewer stripes than it asks for.
    """
    robin = RoundRobin(View.of(problem.osts), Random(options.seed))
    counts, over = problem.stripe_count.tolist(), problem.overstripe.tolist()
    return choice_of(
        in_flight(robin, len(problem), lambda i: robin.begin(counts[i], over[i]), options.racing)
    )


def order_array(servers: Sequence[int]) -> list[int]:
    """The order in which round robin visits the OSTs; `servers` says whose each OST is.

    OSTs are taken to have registered in the order of their positions, which decides between
    servers with equally many.
    """
    owned: dict[int, list[int]] = {}
    ranked: list[int] = []
    for ost, server in enumerate(servers):
        owned.setdefault(server, []).append(ost)
        if server in ranked:
            ranked.remove(server)
        count = len(owned[server])
        smaller = (at for at, other in enumerate(ranked) if len(owned[other]) < count)
        ranked.insert(next(smaller, len(ranked)), server)
    slots = len(servers)
    order = [-1] * slots
    for server in ranked:
        for j, ost in enumerate(owned[server]):
            slot = j * slots // len(owned[server])
            while order[slot] >= 0:
                slot = (slot + 1) % slots
            order[slot] = ost
    return order


class RoundRobin:
    """The state that all creates share."""

    def __init__(self, view: View, draw: Random, release: Release = "2.17") -> None:
        self.view = view
        self.draw = draw
        self.release = release
        self.order = order_array(view.server)
        self.start = 0  # S
        self.offset = 0  # K
        self.countdown = 0  # C: the first create draws S

    def allocate(
        self, stripe_count: int, overstripe: bool = False, others: Collection[int] = ()
    ) -> list[int]:
        """OSTs of one file while nobody else creates; none where Lustre fails."""
        create = self.begin(stripe_count, overstripe, others)
        while create.step():
            pass
        return create.chosen

    def begin(
        self, stripe_count: int, overstripe: bool = False, others: Collection[int] = ()
    ) -> "Create":
        """Starts a create; `others` are the OSTs of the file's other components."""
        wanted, least = self.view.counts(stripe_count, overstripe)
        slots = len(self.order)
        if slots:
            self._move_start(slots, wanted, least)
        tries = slots * -(-wanted // slots) if overstripe and slots else slots
        return Create(self, wanted, least, overstripe, others, tries, self.start)

    def _move_start(self, slots: int, wanted: int, least: int) -> None:
        self.countdown -= 1
        if self.countdown <= 0:
            self.start = self.draw.randrange(slots)
            self.countdown = (RESEED_FILES // slots + RESEED_ROUNDS) * slots
            return
        if self.release == "2.14":
            if least < slots and self.start <= slots:
                return
            self.start %= slots
        else:
            if self.start < slots:
                return
            self.start -= slots
        # Where N mod n is 1 the start precesses by itself.
        if wanted > 1 and slots % wanted != 1:
            self.offset += 1


@dataclass(slots=True)
class Create:
    """One file on its way: it tries one OST a step, in up to three passes that grow laxer."""

    robin: RoundRobin
    wanted: int
    least: int
    overstripe: bool
    others: Collection[int]
    tries: int  # of each pass
    first_start: int
    chosen: list[int] = field(default_factory=list)
    turn: int = 0  # the pass
    tried: int = 0  # in this pass
    at: int = 0

    def step(self) -> bool:
        """Tries the next OST. False once the file has all that it gets."""
        if len(self.chosen) < self.wanted and self.tried < self.tries:
            ost = self._next()
            self.tried += 1
            if self._takes(ost):
                self.chosen.append(ost)
        if len(self.chosen) < self.wanted and self.tried < self.tries:
            return True
        if len(self.chosen) >= self.least or self.turn == 2:
            return False
        self.turn += 1
        self.tried = 0
        if self.robin.release == "2.14":
            self.robin.start = self.first_start
        return True

    def _next(self) -> int:
        robin = self.robin
        if robin.release == "2.14":
            self.at = robin.start
            robin.start += 1
        elif robin.release == "2.17" and self.turn == 2 and self.tried > 0:
            self.at += 1  # others do not see this walk
        else:
            robin.start += 1
            self.at = robin.start
        return robin.order[(self.at + robin.offset) % len(robin.order)]

    def _takes(self, ost: int) -> bool:
        view = self.robin.view
        if not view.open[ost] or (ost in self.chosen and not self.overstripe):
            return False
        if self.turn < 2 and view.degraded[ost]:
            return False
        return self.turn > 0 or (view.ready[ost] and ost not in self.others)


def in_flight(
    robin: RoundRobin, files: int, begin: Callable[[int], Create | list[int]], racing: int
) -> list[list[int]]:
    """The OSTs of each file, with `racing` creates under way at once.

    At each turn one of them, drawn at random, either begins or tries its next OST. A finished one
    makes room for the next of the queue. Up to 2.14 a lock keeps creates apart; later it does not.
    """
    draw = robin.draw
    most = 1 if robin.release == "2.14" else max(1, racing)
    lists: list[list[int]] = [[] for _ in range(files)]
    under_way: list[tuple[int, Create | None]] = []
    coming = 0
    while under_way or coming < files:
        while coming < files and len(under_way) < most:
            under_way.append((coming, None))
            coming += 1
        at = draw.randrange(len(under_way)) if len(under_way) > 1 else 0
        file, create = under_way[at]
        if create is None:
            begun = begin(file)
            if isinstance(begun, Create):
                under_way[at] = (file, begun)
                continue
            lists[file] = begun
        elif create.step():
            continue
        else:
            lists[file] = create.chosen
        under_way.pop(at)
    return lists
