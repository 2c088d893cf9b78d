"""Native: the kernel in C."""

from typing import Any

import numpy as np

from iez_common._core import ffi, lib
from iez_common.allocate.columns import Ints
from iez_common.allocate.kernel import Bound, Order, Placed, Rooms, Stripes, loads_of


class NativeKernel:
    """csrc/allocate.h, with the arrays passed as they are."""

    def order_of(self, stripes: Stripes) -> Order:
        order = np.empty(len(stripes), np.uint32)
        _check(lib.iez_allocate_order(_stripes(stripes), _pointer("uint32_t[]", order)))
        return order

    def bound(
        self, rooms: Rooms, stripes: Stripes, granule_bytes: int, from_z: float
    ) -> Bound | None:
        return _bound(
            lib.iez_allocate_bound, _targets(rooms), _stripes(stripes), granule_bytes, from_z
        )

    def bound_by_count(
        self, rooms: Rooms, stripes: Stripes, sums: Ints, from_z: float
    ) -> Bound | None:
        function, numbers = lib.iez_allocate_bound_by_count, _pointer("int64_t[]", sums)
        return _bound(function, _targets(rooms), _stripes(stripes), numbers, len(sums), from_z)

    def place(self, rooms: Rooms, stripes: Stripes, order: Order, room: Ints) -> Placed | int:
        picks, starts, left = _room_for(stripes, rooms)
        room = room.copy()
        done = _check(
            lib.iez_allocate_place(
                len(rooms),
                _stripes(stripes),
                _pointer("uint32_t[]", order),
                _pointer("int64_t[]", room),
                _pointer("int64_t[]", left),
                _pointer("int32_t[]", picks),
                _pointer("int64_t[]", starts),
            )
        )
        if done < len(stripes):
            return int(order[done])
        return Placed(picks, starts, rooms.free_bytes - left)

    def fit(self, rooms: Rooms, stripes: Stripes, order: Order, room: Ints) -> Placed | None:
        picks, starts, _ = _room_for(stripes, rooms)
        done = _check(
            lib.iez_allocate_fit(
                len(rooms),
                _stripes(stripes),
                _pointer("uint32_t[]", order),
                _pointer("int64_t[]", room),
                _pointer("int32_t[]", picks),
                _pointer("int64_t[]", starts),
            )
        )
        if done < len(stripes):
            return None
        return Placed(picks, starts, loads_of(stripes, picks, starts, len(rooms)))

    def polish(
        self, rooms: Rooms, stripes: Stripes, placed: Placed, goal: float, steps_max: int
    ) -> Placed:
        picks = placed.picks.copy()
        _check(
            lib.iez_allocate_polish(
                _targets(rooms),
                _stripes(stripes),
                _pointer("int64_t[]", placed.starts),
                goal,
                steps_max,
                _pointer("int32_t[]", picks),
            )
        )
        return Placed(picks, placed.starts, loads_of(stripes, picks, placed.starts, len(rooms)))


def _pointer(kind: str, array: Any) -> Any:
    return ffi.from_buffer(kind, array)


def _targets(rooms: Rooms) -> Any:
    targets = ffi.new("struct iez_targets *")
    targets.count = len(rooms)
    targets.free_bytes = _pointer("int64_t[]", rooms.free_bytes)
    targets.speed = _pointer("double[]", rooms.speed)
    targets.offset = _pointer("double[]", rooms.offset)
    return targets


def _stripes(stripes: Stripes) -> Any:
    given = ffi.new("struct iez_stripes *")
    given.count = len(stripes)
    given.stripe_bytes = _pointer("int64_t[]", stripes.stripe_bytes)
    given.counts = _pointer("int64_t[]", stripes.counts)
    return given


def _bound(function: Any, *arguments: Any) -> Bound | None:
    low, high = ffi.new("double *"), ffi.new("double *")
    return Bound(low[0], high[0]) if _check(function(*arguments, low, high)) == 0 else None


def _room_for(stripes: Stripes, rooms: Rooms) -> tuple[Any, Ints, Ints]:
    """Arrays for picks and starts, and the free bytes to be used up."""
    picks = np.empty(int(stripes.counts.sum()), np.int32)
    return picks, np.empty(len(stripes), np.int64), rooms.free_bytes.copy()


def _check(answer: int) -> int:
    if answer < 0:
        raise MemoryError
    return answer
