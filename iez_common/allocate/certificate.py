"""Certificate: how good an allocation is, with a proof of how much better one could be at most."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from iez_common.allocate import iez
from iez_common.allocate.columns import Flags, Floats, Ints, Osts
from iez_common.allocate.problem import Problem

_PROBLEMS_KEPT = 16
_REQUESTS_KEPT = 10_000  # of the largest problem whose bound is kept


@dataclass(frozen=True, slots=True)
class Certificate:
    """`value` and `bound` are in the objective's unit: seconds, or a share of an OST's size."""

    objective: str
    value: float  # the largest z of an OST
    bound: float  # none has a smaller one, of those in which only the same files are split
    osts: Osts = field(repr=False, compare=False)
    load_bytes: Ints = field(repr=False, compare=False)  # new bytes of each OST
    bandwidth_bytes_per_s: Floats = field(repr=False, compare=False)

    @property
    def ratio(self) -> float:
        """`value` over `bound`: 1 is proved to be the best there is."""
        return self.value / self.bound if self.bound > 0 else 1.0

    @property
    def ostcost_new(self) -> float:
        """Fullest OST over mean, of the new bytes."""
        return _max_over_mean(self.load_bytes / np.maximum(self.osts.size_bytes, 1))

    @property
    def ostcost_total(self) -> float:
        """The same of all bytes, old ones too."""
        held = self.osts.used_bytes + self.load_bytes
        return _max_over_mean(held / np.maximum(self.osts.size_bytes, 1))

    @property
    def oss_imbalance(self) -> float:
        """Fullest OSS over mean, of the new bytes."""
        sizes = np.bincount(self.osts.oss, np.maximum(self.osts.size_bytes, 1))
        return _max_over_mean(np.bincount(self.osts.oss, self.load_bytes) / sizes)

    @property
    def predicted_s(self) -> float:
        """Until the last OST has taken its new bytes."""
        return float((self.load_bytes / self.bandwidth_bytes_per_s).max())


def _max_over_mean(shares: Floats) -> float:
    """1 where there is nothing at all."""
    most = float(shares.max())
    return most * len(shares) / float(shares.sum()) if most > 0 else 1.0


def bound_of(problem: Problem, usable: Flags) -> float:
    """No allocation to these OSTs has a smaller z. The same few problems are asked about again and
    again when strategies are compared."""
    columns = (
        problem.write_bytes, problem.stripe_count, problem.overstripe, usable,
        problem.free_bytes, problem.speed, problem.offset,
    )  # fmt: skip
    if len(problem) > _REQUESTS_KEPT:
        return iez.lower_bound(_problem(problem.osts, *columns))
    asked = _Asked(tuple(column.tobytes() for column in columns), columns, problem.osts)
    return _kept_bound(asked)


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """A problem that is equal to another one with the same columns."""

    key: tuple[bytes, ...]
    columns: tuple[Ints, Ints, Flags, Flags, Ints, Floats, Floats]
    osts: Osts

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked) and self.key == other.key


@lru_cache(_PROBLEMS_KEPT)
def _kept_bound(asked: _Asked) -> float:
    return iez.lower_bound(_problem(asked.osts, *asked.columns))


def _problem(
    osts: Osts,
    write_bytes: Ints,
    stripe_count: Ints,
    overstripe: Flags,
    usable: Flags,
    free_bytes: Ints,
    speed: Floats,
    offset: Floats,
) -> Problem:
    return Problem(write_bytes, stripe_count, overstripe, osts, usable, free_bytes, speed, offset)
