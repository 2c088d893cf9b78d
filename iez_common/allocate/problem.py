"""Problem: what a strategy is given, and what it gives back.

Positions count the OSTs of `osts`, in the order of their indices.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from iez_common.allocate.columns import Flags, Floats, Ints, Osts

Positions = NDArray[np.int32] | NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Problem:
    """Files whose stripe counts are settled, and OSTs with what the objective asks of each: new
    bytes ≤ min(free, z · speed − offset), for the least z."""

    write_bytes: Ints
    stripe_count: Ints
    overstripe: Flags
    osts: Osts
    usable: Flags  # by iez; Lustre's own strategies judge by the states themselves
    free_bytes: Ints
    speed: Floats  # above 0
    offset: Floats
    tie_order: Ints | None = field(default=None, repr=False)  # of equal files; None: as given

    def __len__(self) -> int:
        return len(self.write_bytes)

    @property
    def stripe_bytes(self) -> Ints:
        """What each stripe of a file holds, rounded up to whole bytes."""
        return -(-self.write_bytes // self.stripe_count)

    def levels(self, load_bytes: Ints) -> Floats:
        """The z that each OST reaches; 0 for one that gets nothing, however full it is."""
        return np.where(load_bytes > 0, (load_bytes + self.offset) / self.speed, 0.0)

    def value(self, load_bytes: Ints) -> float:
        """The objective: the largest z."""
        return float(self.levels(load_bytes).max(initial=0.0))


@dataclass(frozen=True, slots=True)
class Choice:
    """Positions of OSTs. A strategy that models Lustre may give a file fewer stripes than it asks
    for."""

    positions: Positions
    starts: Ints  # of each request, where its positions begin
    stripe_count: Ints  # and how many they are

    @classmethod
    def in_order(cls, positions: Positions, stripe_count: Ints) -> "Choice":
        """The stripes of the first request come first."""
        return cls(positions, np.cumsum(stripe_count) - stripe_count, stripe_count)

    def of(self, request: int) -> list[int]:
        start, count = int(self.starts[request]), int(self.stripe_count[request])
        return [int(position) for position in self.positions[start : start + count]]

    def loads(self, write_bytes: Ints, osts: int) -> Ints:
        """New bytes of each OST: every stripe of a file holds as much."""
        loads = np.zeros(osts, np.int64)
        given = self.stripe_count > 0
        stripes = -(-write_bytes[given] // self.stripe_count[given])
        order = np.argsort(self.starts[given], kind="stable")
        each = np.repeat(stripes[order], self.stripe_count[given][order])
        np.add.at(loads, self.positions, each)
        return loads


@dataclass(frozen=True, slots=True)
class Options:
    """What strategies with chance in them need besides the problem."""

    seed: int = 0
    racing: int = 1  # creates in flight at once


Strategy = Callable[[Problem, Options], Choice]
