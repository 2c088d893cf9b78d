"""Lustre's view: which OSTs the MDS would take, and how many stripes it would settle for.

It knows nothing of iez's own exclusions. What it knows is some seconds old, so what is chosen
in one go does not change which OSTs can be chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from iez_common.allocate.columns import Osts
from iez_common.allocate.problem import Choice
from iez_common.errors import AllocationError
from iez_common.records import CLOSED

_MIB = 1 << 20
_AWAY = frozenset({"inactive", "unreachable"})


@dataclass(frozen=True, slots=True)
class View:
    """The OSTs as the MDS sees them, by position."""

    server: tuple[int, ...]
    available_bytes: tuple[int, ...]
    open: tuple[bool, ...]  # takes new objects
    degraded: tuple[bool, ...]
    active: tuple[bool, ...]  # the MDS is connected to it
    ready: tuple[bool, ...]  # has an object that was created in advance

    @classmethod
    def of(cls, osts: Osts, ready: Sequence[bool] = ()) -> "View":
        """`ready`: empty means that all are."""
        size, available = osts.size_bytes.tolist(), osts.available_bytes.tolist()
        full = [is_full(*each) for each in zip(size, available, strict=True)]
        return cls(
            server=tuple(osts.oss.tolist()),
            available_bytes=tuple(available),
            open=tuple(not s & CLOSED and not f for s, f in zip(osts.states, full, strict=True)),
            degraded=tuple("degraded" in states for states in osts.states),
            active=tuple(not states & _AWAY for states in osts.states),
            ready=tuple(ready) or (True,) * len(osts),
        )

    def counts(self, stripe_count: int, overstripe: bool) -> tuple[int, int]:
        """How many stripes the MDS tries to give a file, and with how many it is content."""
        active = sum(self.active)
        if overstripe or stripe_count <= active:
            return stripe_count, stripe_count
        return active, active - active // 4


def is_full(size_bytes: int, available_bytes: int) -> bool:
    """Whether the MDS stops creating there: below about a thousandth of the size, at least 1 MiB.

    It starts again only at twice as much and 1 MiB more; an OST between the two is taken as open,
    for what it was before is not known here.
    """
    low_mib = max(1, size_bytes // 1024 // _MIB)
    return available_bytes // _MIB < low_mib


def choice_of(lists: list[list[int]]) -> Choice:
    """The OSTs of each file as a Choice. A file without any is what Lustre calls ENOSPC."""
    for file, chosen in enumerate(lists):
        if not chosen:
            raise AllocationError(
                f"Lustre would find no OST for request {file}",
                "every OST is full, closed or not connected",
            )
    return Choice.in_order(
        np.array([ost for chosen in lists for ost in chosen], np.int64),
        np.array([len(chosen) for chosen in lists], np.int64),
    )
