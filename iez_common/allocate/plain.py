"""Plain: the kernel in numpy, step by step what csrc/allocate_*.c does, and slower."""

import numpy as np

from iez_common.allocate.columns import Floats, Ints
from iez_common.allocate.kernel import Bound, Order, Picks, Placed, Rooms, Stripes, loads_of

PRECISION = 1e-10
FIRST_SHARE = 1e-3
EXACT_MAX = 100_000  # requests; of more, the order of placement looks only at
LEADING_BITS = 16  # of a stripe's size
STEP_BITS = 8  # of a stripe's size: what differs by less counts as equal


class PlainKernel:
    """For machines on which the C module is not built."""

    def order_of(self, stripes: Stripes) -> Order:
        if len(stripes) <= EXACT_MAX:
            return np.lexsort((-stripes.counts, -stripes.stripe_bytes)).astype(np.uint32)
        bits = _bit_lengths(stripes.stripe_bytes)
        leading = stripes.stripe_bytes >> np.maximum(bits - LEADING_BITS, 0)
        return np.lexsort((-stripes.counts, -leading, -bits)).astype(np.uint32)

    def bound(
        self, rooms: Rooms, stripes: Stripes, granule_bytes: int, from_z: float
    ) -> Bound | None:
        return _Search(
            rooms, _needs(stripes, stripes.stripe_bytes // granule_bytes, len(rooms)), granule_bytes
        ).run(from_z)

    def bound_by_count(
        self, rooms: Rooms, stripes: Stripes, sums: Ints, from_z: float
    ) -> Bound | None:
        units = (stripes.stripe_bytes >= sums[0]).astype(np.int64)
        return _Search(rooms, _needs(stripes, units, len(rooms)), 0, sums).run(from_z)

    def place(self, rooms: Rooms, stripes: Stripes, order: Order, room: Ints) -> Placed | int:
        room, left = room.copy(), rooms.free_bytes.copy()
        picks, starts = _empty(stripes)
        written = 0
        for request in order.tolist():
            size, count = int(stripes.stripe_bytes[request]), int(stripes.counts[request])
            shift = max(size.bit_length() - STEP_BITS, 0)
            roomy = np.flatnonzero(left >= size)
            if len(roomy) < count:
                return int(request)
            steps = room[roomy] >> shift
            chosen = roomy[np.argsort(-steps, kind="stable")[:count]]
            room[chosen] -= size
            left[chosen] -= size
            written = _write(picks, starts, request, written, chosen)
        return Placed(picks, starts, rooms.free_bytes - left)

    def fit(self, rooms: Rooms, stripes: Stripes, order: Order, room: Ints) -> Placed | None:
        room = room.copy()
        picks, starts = _empty(stripes)
        written = 0
        for request in order.tolist():
            size, count = int(stripes.stripe_bytes[request]), int(stripes.counts[request])
            roomy = np.flatnonzero(room >= size)
            if len(roomy) < count:
                return None
            chosen = roomy[np.argsort(room[roomy], kind="stable")[:count]]
            room[chosen] -= size
            written = _write(picks, starts, request, written, chosen)
        return Placed(picks, starts, loads_of(stripes, picks, starts, len(rooms)))

    def polish(
        self, rooms: Rooms, stripes: Stripes, placed: Placed, goal: float, steps_max: int
    ) -> Placed:
        board = _Board(rooms, stripes, placed)
        steps = 0
        while steps < steps_max:
            source = int(board.level.argmax())
            if board.level[source] <= goal:
                break
            looked_at = int((board.picks == source).sum()) * len(board.picks)
            if not board.improve(source):
                break
            steps += looked_at
        return Placed(board.picks.astype(np.int32), placed.starts, board.load)


def _bit_lengths(sizes: Ints) -> Ints:
    bits = np.frexp(sizes.astype(np.float64))[1].astype(np.int64)
    # A number of more than 53 bits may have been rounded up to the next power of two.
    bits -= (bits > 0) & (sizes >> np.maximum(bits - 1, 0) == 0)
    return bits


def _empty(stripes: Stripes) -> tuple[Picks, Ints]:
    total = int(stripes.counts.sum())
    return np.empty(total, np.int32), np.empty(len(stripes), np.int64)


def _write(picks: Picks, starts: Ints, request: int, written: int, chosen: Ints) -> int:
    picks[written : written + len(chosen)] = chosen
    starts[request] = written
    return written + len(chosen)


def _needs(stripes: Stripes, units: Ints, osts: int) -> Ints:
    """For m = 0 … OSTs, the sum of what each request has beyond m stripes."""
    by_count = np.zeros(osts + 1, np.int64)
    np.add.at(by_count, stripes.counts, units)
    wider = np.cumsum(by_count[::-1])[::-1]  # of requests with at least m stripes
    beyond = np.append(wider[1:], 0)
    return np.cumsum(beyond[::-1])[::-1]


class _Search:
    """The z at which the tightest condition just holds (csrc/allocate_bound.c)."""

    def __init__(
        self, rooms: Rooms, need: Ints, granule_bytes: int, sums: Ints | None = None
    ) -> None:
        self.rooms, self.granule_bytes, self.sums = rooms, granule_bytes, sums
        self.need = need[::-1]

    def margin(self, z: float) -> tuple[int, float]:
        """By how many units it holds, and what it gains with z."""
        room = self.rooms.under(z)
        if self.sums is None:
            units = room // self.granule_bytes
        else:
            units = np.searchsorted(self.sums, room, side="right").astype(np.int64)
        sorted_units = np.sort(units)
        holds = np.concatenate(([0], np.cumsum(sorted_units))) - self.need
        tightest = int(holds.argmin())
        if self.granule_bytes != 1:
            return int(holds[tightest]), 0.0
        limit = sorted_units[tightest - 1] if tightest else -1
        gains = np.where((room < self.rooms.free_bytes) & (room <= limit), self.rooms.speed, 0.0)
        # Summed one by one: a sum in another order may differ in its last digit.
        return int(holds[tightest]), float(np.cumsum(gains)[-1]) if len(gains) else 0.0

    def run(self, from_z: float) -> Bound | None:
        here, slope = self.margin(from_z)
        if here >= 0:
            return Bound(from_z, from_z)
        z = from_z
        low, high = self._find_high(from_z)
        if high < 0:
            return None
        is_quick = True
        while high - low > high * PRECISION:
            width, step = high - low, high * PRECISION
            following = z - here / slope if slope > 0 else low
            following = max(following, low + step) if here < 0 else min(following, high - step)
            if slope == 0 or following <= low or following >= high or not is_quick:
                following = low + width / 2
            if following <= low or following >= high:
                break
            z = following
            here, slope = self.margin(z)
            low, high = (z, high) if here < 0 else (low, z)
            is_quick = high - low <= width / 2
        return Bound(low, high)

    def _find_high(self, low: float) -> tuple[float, float]:
        full, share = self._z_of_full(), FIRST_SHARE
        if self.granule_bytes > 1:
            following = self._next_granule(low)
            below, above = following * (1 - PRECISION / 4), following * (1 + PRECISION / 4)
            if below > low and self.margin(below)[0] < 0:
                low = below
                if above < full and self.margin(above)[0] >= 0:
                    return low, above
        while low > 0 and share < 1:
            z = low * (1 + share)
            if z < full:
                if self.margin(z)[0] >= 0:
                    return low, z
                low = z
            share *= 8
        return low, full if self.margin(full)[0] >= 0 else -1.0

    def _next_granule(self, low: float) -> float:
        rooms = self.rooms
        size = (rooms.under(low) // self.granule_bytes + 1) * self.granule_bytes
        gaining = size <= rooms.free_bytes
        z = (size.astype(np.float64) + rooms.offset) / rooms.speed
        return float(z[gaining].min()) if gaining.any() else -1.0

    def _z_of_full(self) -> float:
        rooms = self.rooms
        z: Floats = (rooms.free_bytes.astype(np.float64) + 1 + rooms.offset) / rooms.speed
        return float(z.max(initial=0.0)) * (1 + 1e-15)


class _Board:
    """Every stripe with its request and OST (csrc/allocate_polish.c)."""

    def __init__(self, rooms: Rooms, stripes: Stripes, placed: Placed) -> None:
        order = np.argsort(placed.starts, kind="stable")
        self.rooms = rooms
        self.bytes = np.repeat(stripes.stripe_bytes[order], stripes.counts[order])
        self.request = np.repeat(order, stripes.counts[order])
        self.picks = placed.picks.astype(np.int64)
        self.on = np.zeros((len(stripes), len(rooms)), np.bool_)
        self.on[self.request, self.picks] = True
        self.load = loads_of(stripes, placed.picks, placed.starts, len(rooms))
        self.level = np.where(self.load > 0, self._levels(np.arange(len(rooms)), self.load), 0.0)

    def _levels(self, osts: Ints, load: Ints) -> Floats:
        levels: Floats = (load.astype(np.float64) + self.rooms.offset[osts]) / self.rooms.speed[
            osts
        ]
        return levels

    def improve(self, source: int) -> bool:
        """Carries the best exchange out; False if none helps."""
        best, found = float(self.level[source]), None
        everywhere = np.arange(len(self.rooms))
        for stripe in np.flatnonzero(self.picks == source).tolist():
            size = self.bytes[stripe]
            # To another OST for nothing, or for a stripe of it.
            for to, less, back in (
                (everywhere, np.full(len(everywhere), size), None),
                (self.picks, size - self.bytes, self.request),
            ):
                good = (to != source) & (less > 0) & ~self.on[self.request[stripe], to]
                good &= self.rooms.free_bytes[to] - self.load[to] >= less
                if back is not None:
                    good &= ~self.on[back, source]
                at = np.flatnonzero(good)
                if not len(at):
                    continue
                level = np.maximum(
                    self._levels(to[at], self.load[to[at]] + less[at]),
                    self._levels(np.full(len(at), source), self.load[source] - less[at]),
                )
                first = int(level.argmin())
                if level[first] < best:
                    best = float(level[first])
                    found = (stripe, int(to[at[first]]), None if back is None else int(at[first]))
        if found is None:
            return False
        stripe, target, other = found
        self._move(stripe, target)
        if other is not None:
            self._move(other, source)
        return True

    def _move(self, stripe: int, to: int) -> None:
        source, request = int(self.picks[stripe]), self.request[stripe]
        self.on[request, source], self.on[request, to] = False, True
        self.picks[stripe] = to
        for ost, more in ((source, -self.bytes[stripe]), (to, self.bytes[stripe])):
            self.load[ost] += more
            at = np.array([ost])
            self.level[ost] = self._levels(at, self.load[at])[0] if self.load[ost] else 0.0
