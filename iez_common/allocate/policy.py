"""Policy: what a site allows and wants. docs/policy.md documents each field and its weight."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from iez_common.allocate.columns import BYTES_MAX
from iez_common.errors import AllocationError

Objective = Literal["blend", "bandwidth", "space"]
Pfl = Literal["auto", "always", "never"]
OBJECTIVES: tuple[Objective, ...] = ("blend", "bandwidth", "space")
PFL: tuple[Pfl, ...] = ("auto", "always", "never")
# How far iez goes with a file, each rung less far than the next.
RUNGS = ("nothing", "count", "pool", "list")
NOTHING, COUNT, POOL, LIST = range(len(RUNGS))
Rung = Literal["nothing", "count", "pool", "list"]
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


@dataclass(frozen=True, slots=True)
class Policy:
    """The defaults are meant to suit a site that says nothing."""

    strategy: str = "iez"
    objective: Objective = "blend"
    ladder: Rung = "list"  # the highest rung that the site allows
    pin_min_bytes: int = MIB  # smaller files are left to Lustre
    pfl: Pfl = "auto"
    split_min_bytes: int = 256 * MIB  # smaller files are not split over components
    exclude_osts: frozenset[int] = frozenset()
    pools: Mapping[str, frozenset[int]] = field(default_factory=dict)  # name to indices
    pools_allowed: frozenset[str] | None = None  # None: all that have members
    # Stripe counts of files that ask for none.
    stripe_count_max: int = 64  # an OST that fails takes only so many files with it
    stripe_count_max_single: int = 4  # of a file with one writer
    single_stripe_bytes: int = GIB  # a file with one writer gets a stripe for each
    shared_stripe_bytes: int = 64 * MIB  # and one with several writers for each
    stripe_size_bytes: int = 4 * MIB  # where the access size is unknown
    # What OSTs are taken for.
    ost_bandwidth_bytes_per_s: float = 1e9  # where nothing is known about it
    busy_floor: float = 0.25  # the share of its bandwidth that the busiest OST keeps
    headroom: float = 0.2  # below this share of free space an OST counts as slower
    headroom_floor: float = 0.05  # down to this
    drift: float = 0.1  # how much faster an OST counts that is emptier than the mean by its size
    # For strategies with chance in them.
    seed: int = 0
    racing: int = 1

    def __post_init__(self) -> None:
        _one_of("objective", self.objective, OBJECTIVES)
        _one_of("ladder", self.ladder, RUNGS)
        _one_of("pfl", self.pfl, PFL)
        for name in ("pin_min_bytes", "split_min_bytes", "seed"):
            _at_least(name, getattr(self, name), 0)
        for name in (
            "stripe_count_max", "stripe_count_max_single", "single_stripe_bytes",
            "shared_stripe_bytes", "racing",
        ):  # fmt: skip
            _at_least(name, getattr(self, name), 1)
        if self.stripe_size_bytes % (64 * KIB) or not 0 < self.stripe_size_bytes < 4 * GIB:
            raise AllocationError("policy: stripe_size is not a multiple of 64K below 4G")
        if not 1 <= self.ost_bandwidth_bytes_per_s <= BYTES_MAX:
            raise AllocationError("policy: ost_bandwidth is not a number of bytes/s from 1 on")
        for name in ("busy_floor", "headroom", "headroom_floor", "drift"):
            low = 0.0 if name in ("headroom", "drift") else 1e-6
            if not low <= getattr(self, name) <= 1:
                raise AllocationError(f"policy: {name} is not between {low:g} and 1")

    @property
    def rung(self) -> int:
        return RUNGS.index(self.ladder)


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise AllocationError(
            f"policy: {name}: there is no {value!r}", f"one of: {', '.join(known)}"
        )


def _at_least(name: str, value: int, low: int) -> None:
    if not value >= low or value != int(value):
        raise AllocationError(f"policy: {name}: {value} is not a whole number of at least {low}")
