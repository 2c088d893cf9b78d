"""Kernel: the parts of the allocator that must be quick, in C or, without it, in numpy.

Both give the same answers: native.py calls csrc/allocate.h, plain.py says it again.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from iez_common.allocate.columns import Floats, Ints

Order = NDArray[np.uint32]
Picks = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Rooms:
    """OSTs; earlier ones win between equals. All columns are contiguous."""

    free_bytes: Ints
    speed: Floats  # above 0
    offset: Floats

    def __len__(self) -> int:
        return len(self.free_bytes)

    def under(self, z: float) -> Ints:
        """What z leaves to each, in whole bytes."""
        room = z * self.speed - self.offset
        most = self.free_bytes.astype(np.float64)
        whole = np.minimum(np.maximum(room, 0), most).astype(np.int64)
        # Not by a float, which cannot hold every number of bytes.
        return np.where(room < most, whole, self.free_bytes)


@dataclass(frozen=True, slots=True)
class Stripes:
    """Requests: each has `counts` stripes of `stripe_bytes`, on different OSTs."""

    stripe_bytes: Ints
    counts: Ints

    def __len__(self) -> int:
        return len(self.counts)


class Bound(NamedTuple):
    """No z below `low` will do; at `high` the conditions hold."""

    low: float
    high: float


class Placed(NamedTuple):
    """Each request's OSTs are in `picks` from its `starts` on."""

    picks: Picks
    starts: Ints
    load_bytes: Ints


class Kernel(Protocol):
    def order_of(self, stripes: Stripes) -> Order:
        """Largest stripes first (of more than 100,000 requests by their leading 16 bits), then most
        stripes, then as given."""

    def bound(
        self, rooms: Rooms, stripes: Stripes, granule_bytes: int, from_z: float
    ) -> Bound | None:
        """The least z from `from_z` on for which the necessary conditions hold when all is counted
        in whole granules; None if no z will do."""

    def bound_by_count(
        self, rooms: Rooms, stripes: Stripes, sums: Ints, from_z: float
    ) -> Bound | None:
        """The same, counting stripes of at least sums[0] bytes: the n smallest ones of different
        requests take sums[n - 1] bytes together."""

    def place(self, rooms: Rooms, stripes: Stripes, order: Order, room: Ints) -> Placed | int:
        """Each request takes the OSTs with most room; or the request that found no space."""

    def fit(self, rooms: Rooms, stripes: Stripes, order: Order, room: Ints) -> Placed | None:
        """Each request takes the OSTs with least room that is enough; None: it was not."""

    def polish(
        self, rooms: Rooms, stripes: Stripes, placed: Placed, goal: float, steps_max: int
    ) -> Placed:
        """Lowers the OST with the largest z by exchanges of stripes, as long as that helps."""


def loads_of(stripes: Stripes, picks: Picks, starts: Ints, osts: int) -> Ints:
    """New bytes of each OST."""
    order = np.argsort(starts, kind="stable")
    each = np.repeat(stripes.stripe_bytes[order], stripes.counts[order])
    loads = np.zeros(osts, np.int64)
    np.add.at(loads, picks, each)
    return loads


@cache
def best_kernel() -> Kernel:
    """C where it is built."""
    try:
        from iez_common.allocate.native import NativeKernel
    except ImportError:
        from iez_common.allocate.plain import PlainKernel

        return PlainKernel()
    return NativeKernel()
