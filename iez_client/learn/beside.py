"""Beside: applications that run at the same time in, what their plans promise to each OST out.

Each application is planned for itself. Two that write at the same time would each be even, and
together not; so the one that is planned later fits in with the one that was planned before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from iez_client.observe.osts import Observation, ObservedFileSystem
from iez_common.extents import ost_bytes, parse_extents
from iez_common.knowledge import Application, PlannedLayout

if TYPE_CHECKING:
    from iez_common.database import Database


@dataclass(frozen=True, slots=True)
class Beside:
    """The plannings that were looked at, and the files that they are about."""

    planning_ids: frozenset[int] = frozenset()
    layouts: Sequence[PlannedLayout] = field(default=(), repr=False)

    def promised(self, observed: ObservedFileSystem, turns: int) -> ObservedFileSystem:
        """The OSTs with the bytes that others will write there during one of so many turns."""
        starts = tuple(f"{name}/" for name in observed.names)
        loads: dict[int, int] = {}
        for layout in self.layouts:
            if layout.path.startswith(starts):
                extents = parse_extents(layout.extents, layout.ost_list)
                held = ost_bytes(layout.write_bytes, layout.stripe_size_bytes, extents)
                for index, load in held.items():
                    loads[index] = loads.get(index, 0) + load
        if not loads:
            return observed
        shares = {index: load // turns for index, load in loads.items()}
        observations = tuple(_promised(each, shares) for each in observed.observations)
        return replace(observed, observations=observations)


def _promised(each: Observation, bytes_of: dict[int, int]) -> Observation:
    promised_bytes = each.ost.promised_bytes + bytes_of.get(each.ost.index, 0)
    return replace(each, ost=replace(each.ost, promised_bytes=promised_bytes))


def beside(database: "Database", application: Application) -> Beside:
    """What is planned for the applications that were running during its last run."""
    runs = database.history_runs(application, 1, only_successful=False)
    if not runs:
        return Beside()
    plannings = database.plannings_beside(application, runs[-1])
    layouts = [
        layout
        for planning in plannings
        for layout in database.layouts(planning.id)
        if layout.ost_list
    ]
    return Beside(frozenset(planning.id for planning in plannings), layouts)


def was_overtaken(
    database: "Database", application: Application, planning_id: int, known: Beside
) -> bool:
    """Whether another one was planned at the same time, and before this one: then this one has to
    fit in with it."""
    runs = database.history_runs(application, 1, only_successful=False)
    plannings = database.plannings_beside(application, runs[-1]) if runs else []
    return any(each.id not in known.planning_ids and each.id < planning_id for each in plannings)
