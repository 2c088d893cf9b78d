"""The strategy of iez: largest stripes first, on the OSTs with most room under the lower bound.

That alone comes within a hair of the bound where there are many stripes an OST. Where there are
few, the placement is polished and the bound made sharper, or a tighter fit is looked for.
"""

import math
from dataclasses import dataclass

import numpy as np

from iez_common.allocate.columns import Ints
from iez_common.allocate.kernel import Bound, Kernel, Order, Placed, Rooms, Stripes, best_kernel
from iez_common.allocate.problem import Choice, Options, Problem
from iez_common.errors import AllocationError
from iez_common.units import format_about

GOOD_ENOUGH = 1e-4  # above the bound, relative
WORK_MAX = 4_000_000  # requests × OSTs up to which more is tried
STRIPES_MAX = 100_000
SHARPER_WORK_MAX = 2_000_000  # requests and OSTs gone over for a sharper bound
SIZES_MAX = 96  # different stripe sizes that are tried as measures of the bound
STEPS_MAX = 20_000_000  # pairs of stripes that polishing looks at
FITS_MAX = 12  # tries of the tightest fit


@dataclass(frozen=True, slots=True)
class Solution:
    """Positions count the OSTs of the problem."""

    choice: Choice
    load_bytes: Ints  # of each OST
    bound: float


def iez(problem: Problem, options: Options) -> Choice:
    return solve(problem).choice


def solve(problem: Problem, kernel: Kernel | None = None, is_quick: bool = False) -> Solution:
    """A placement, with the z below which there is none; a quick one is not polished."""
    kernel = kernel or best_kernel()
    if not len(problem):
        nothing = Choice(np.zeros(0, np.int32), problem.stripe_count, problem.stripe_count)
        return Solution(nothing, np.zeros(len(problem.osts), np.int64), 0.0)
    positions = tie_order(problem)
    rooms = Rooms(
        problem.free_bytes[positions], problem.speed[positions], problem.offset[positions]
    )
    stripes, owners = single_stripes(problem)
    search = Search(kernel, rooms, stripes)
    placed, bound = search.run(is_quick)
    starts, order = placed.starts, problem.tie_order
    if owners is not None:
        starts = starts[owners]
    if order is not None:
        starts, given = np.empty_like(starts), starts
        starts[order] = given
    loads = np.zeros(len(problem.osts), np.int64)
    loads[positions] = placed.load_bytes
    picks = placed.picks
    np.take(positions.astype(np.int32), picks, out=picks, mode="clip")
    return Solution(Choice(picks, starts, problem.stripe_count), loads, bound)


def lower_bound(problem: Problem, kernel: Kernel | None = None, value: float = math.inf) -> float:
    """The z below which no placement of whole stripes exists; infinite if there is none at all.
    Whoever has a placement with `value` needs no higher one."""
    kernel = kernel or best_kernel()
    positions = np.flatnonzero(problem.usable)
    if not len(problem) or not len(positions):
        return 0.0 if not len(problem) else float("inf")
    rooms = Rooms(
        problem.free_bytes[positions], problem.speed[positions], problem.offset[positions]
    )
    stripes, _ = single_stripes(problem)
    search = Search(kernel, rooms, stripes)
    first = search.first_bound()
    return search.sharper(first, value).low if first else float("inf")


def tie_order(problem: Problem) -> Ints:
    """Usable OSTs, servers in turn: equal OSTs are taken in this order."""
    turns = problem.osts.in_turns
    return turns[problem.usable[turns]]


def single_stripes(problem: Problem) -> tuple[Stripes, Ints | None]:
    """The requests in their tie order. One that may have several stripes on an OST becomes as many
    requests of one stripe: then also where each request begins among them."""
    order = problem.tie_order
    counts, sizes, over = problem.stripe_count, problem.stripe_bytes, problem.overstripe
    if order is not None:
        counts, sizes, over = counts[order], sizes[order], over[order]
    if not over.any():
        return Stripes(np.ascontiguousarray(sizes), np.ascontiguousarray(counts)), None
    parts = np.where(over, counts, 1)
    owners = np.cumsum(parts) - parts
    return Stripes(np.repeat(sizes, parts), np.repeat(np.where(over, 1, counts), parts)), owners


class Search:
    """Bounds and placements of one set of stripes on one set of OSTs."""

    def __init__(self, kernel: Kernel, rooms: Rooms, stripes: Stripes) -> None:
        self.kernel, self.rooms, self.stripes = kernel, rooms, stripes
        self.granule_bytes = _common_divisor(stripes.stripe_bytes)

    def run(self, is_quick: bool) -> tuple[Placed, float]:
        bound = self.first_bound()
        if bound is None:
            raise self._refusal(is_proved=True)
        order = self.kernel.order_of(self.stripes)
        room = self.rooms.under(bound.high) // self.granule_bytes * self.granule_bytes
        best = self._placed(order, room)
        if best is None:
            # Where space is scarce, what z leaves to each OST misleads.
            best = self._placed(order, self.rooms.free_bytes)
        if best is not None and (is_quick or self._is_good(self._value(best), bound.low)):
            return best, bound.low
        if best is not None and self._is_small():
            best = self._polished(best, bound.low)
        if best is not None:
            bound = self.sharper(bound, self._value(best))
        if self._is_small():
            best = self._tightest(order, best, bound.low)
        if best is None:
            raise self._refusal(is_proved=False)
        return best, bound.low

    def _placed(self, order: Order, room: Ints) -> Placed | None:
        placed = self.kernel.place(self.rooms, self.stripes, order, room)
        if not isinstance(placed, Placed):
            # Large stripes have filled an OST that a wide request cannot do without.
            widest = np.lexsort((-self.stripes.stripe_bytes, -self.stripes.counts))
            placed = self.kernel.place(self.rooms, self.stripes, widest.astype(np.uint32), room)
        return placed if isinstance(placed, Placed) else None

    def first_bound(self) -> Bound | None:
        if int(self.stripes.counts.max()) > len(self.rooms):
            return None  # not even on OSTs without end
        # All speeds together cannot be outrun; a little less, for the rounding.
        total = int((self.stripes.stripe_bytes * self.stripes.counts).sum())
        from_z = total / float(self.rooms.speed.sum()) * (1 - 1e-9)
        bound = self.kernel.bound(self.rooms, self.stripes, self.granule_bytes, from_z)
        largest = int(self.stripes.stripe_bytes.max())
        if bound is None or largest == self.granule_bytes:
            return bound
        if int(self.rooms.under(bound.high).max()) < largest:
            # Room that is too small for a single stripe would mislead.
            bound = self.kernel.bound(self.rooms, self.stripes, largest, bound.low)
        return bound

    def sharper(self, bound: Bound, value: float) -> Bound:
        """Counts in other measures: whole parts of a stripe, and numbers of stripes of at least
        some size. Each bound is true, so the largest is; `value` needs no higher one."""
        if self._is_good(value, bound.low):
            return bound
        sizes = np.sort(self.stripes.stripe_bytes)
        tries = SHARPER_WORK_MAX // (len(self.stripes) + 10 * len(self.rooms))
        for size in _some(np.unique(sizes)[::-1], min(max(tries, 1), SIZES_MAX)):
            sums = np.cumsum(sizes[np.searchsorted(sizes, size) :])
            bound = self._raised(
                bound, self.kernel.bound_by_count(self.rooms, self.stripes, sums, bound.low)
            )
            for parts in (1, 2, 3):
                granule = max(1, size // parts)
                bound = self._raised(
                    bound, self.kernel.bound(self.rooms, self.stripes, granule, bound.low)
                )
            if self._is_good(value, bound.low):
                break
        return bound

    @staticmethod
    def _raised(bound: Bound, other: Bound | None) -> Bound:
        # None: the stripes do not fit at all; placing will find out which.
        return other if other is not None and other.low > bound.low else bound

    def _polished(self, placed: Placed, bound: float) -> Placed:
        goal = bound * (1 + GOOD_ENOUGH)
        if self._value(placed) <= goal:
            return placed
        return self.kernel.polish(self.rooms, self.stripes, placed, goal, STEPS_MAX)

    def _tightest(self, order: Order, best: Placed | None, bound: float) -> Placed | None:
        """Looks for the lowest z at which the tightest fit goes through."""
        low, high = bound, self._value(best) if best else self._value_of_full()
        found = None
        for turn in range(FITS_MAX):
            if high - low <= bound * GOOD_ENOUGH:
                break
            z = low + (high - low) / 2 if turn else bound * (1 + GOOD_ENOUGH)
            fitted = self.kernel.fit(self.rooms, self.stripes, order, self.rooms.under(z))
            if fitted is None:
                low = z
            else:
                found, high = fitted, min(z, self._value(fitted))
        if found is None:
            return best
        found = self._polished(found, bound)
        return found if best is None or self._value(found) < self._value(best) else best

    def _value(self, placed: Placed) -> float:
        loads = placed.load_bytes
        levels = (loads.astype(np.float64) + self.rooms.offset) / self.rooms.speed
        return float(np.where(loads > 0, levels, 0.0).max(initial=0.0))

    def _value_of_full(self) -> float:
        rooms = self.rooms
        return float(((rooms.free_bytes.astype(np.float64) + rooms.offset) / rooms.speed).max())

    @staticmethod
    def _is_good(value: float, bound: float) -> bool:
        return value <= bound * (1 + GOOD_ENOUGH)

    def _is_small(self) -> bool:
        work = len(self.stripes) * len(self.rooms)
        return work <= WORK_MAX and int(self.stripes.counts.sum()) <= STRIPES_MAX

    def _refusal(self, is_proved: bool) -> AllocationError:
        wanted = int((self.stripes.stripe_bytes * self.stripes.counts).sum())
        what = f"{format_about(wanted)} in {int(self.stripes.counts.sum())} stripes"
        free = format_about(int(self.rooms.free_bytes.sum()))
        where = f"{free} free on {len(self.rooms)} OSTs"
        return AllocationError(
            f"{what} do not fit into {where}"
            if is_proved
            else f"no place was found for {what} in {where}",
            "write less, use more stripes for large files, or free some space",
        )


def _some(sizes: Ints, most: int) -> list[int]:
    """Sizes in falling order: where they are many, the first one by one, then ever fewer."""
    if len(sizes) > most:
        places = np.geomspace(1, len(sizes), most).astype(np.int64) - 1
        sizes = sizes[np.unique(places)]
    return [size for size in sizes.tolist() if size > 0]


def _common_divisor(sizes: Ints) -> int:
    """The largest size of which every stripe is a multiple; 1 where it is too small to matter."""
    largest = int(sizes.max(initial=0))
    # That of some is a multiple of that of all, which takes longer to find.
    if int(np.gcd.reduce(sizes[:64])) * 1024 < largest:
        return 1
    divisor = int(np.gcd.reduce(sizes))
    return divisor if 0 < largest <= divisor * 1024 else 1
