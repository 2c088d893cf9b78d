"""Beside: applications that run at the same time in, what their plans promise to each OST out.

Each application is planned for itself. Two that write at the same time would each be even, and
together not. So the one with the smaller stripes, which has the freer choice, fits in with the
other.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from iez_client.observe.osts import Observation, ObservedFileSystem
from iez_common.extents import ost_bytes, parse_extents
from iez_common.knowledge import Application, PlannedLayout, Prediction

if TYPE_CHECKING:
    from iez_common.database import Database


_PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another application, as it was planned last."""

    application_id: int
    planning_id: int
    is_coarser: bool  # with the larger stripes
    is_current: bool  # planned after the run that went on at the same time
    layouts: Sequence[PlannedLayout] = field(repr=False)

    @property
    def counts(self) -> bool:
        """Whether to fit in with it: a finer one that is planned already may not know of this."""
        return self.is_coarser or self.is_current


def neighbours(
    database: "Database", application: Application, predictions: Iterable[Prediction]
) -> list[Neighbour]:
    """Those that were running during one of its last two runs: what went on beside the last one may
    not have been learned from yet."""
    runs = database.history_runs(application, 2, only_successful=False)
    plannings = {
        each[0]: (run is runs[-1], *each[1:])
        for run in runs
        for each in database.plannings_beside(application, run)
    }
    own = (-_grain_bytes(predictions), application.id) if plannings else (0, 0)
    found = []
    for application_id, (is_last, run_id, stored) in plannings.items():
        grain_bytes = _grain_bytes(database.predictions(stored.id))
        is_coarser = (-grain_bytes, application_id) < own
        is_current = is_last and stored.planning.after_run_id >= run_id
        layouts = [each for each in database.layouts(stored.id) if each.ost_list]
        found.append(Neighbour(application_id, stored.id, is_coarser, is_current, layouts))
    return found


def settled_neighbours(
    database: "Database", application: Application, predictions: Sequence[Prediction]
) -> list[Neighbour]:
    """Those that count, once the coarser ones whose runs have just ended as well are planned
    again."""
    until_s = time.monotonic() + _PATIENCE_S
    while True:
        found = neighbours(database, application, predictions)
        is_settled = all(each.is_current for each in found if each.is_coarser)
        if is_settled or time.monotonic() > until_s:
            return [each for each in found if each.counts]
        time.sleep(0.1)


def _grain_bytes(predictions: Iterable[Prediction]) -> int:
    """The largest stripe, as far as it is known before stripe counts are chosen."""
    sizes = (each.write_bytes // max(1, each.stripe_count) for each in predictions)
    return max(sizes, default=0)


def promised(
    observed: ObservedFileSystem, beside: Iterable[Neighbour], turns: int
) -> ObservedFileSystem:
    """The OSTs with the bytes that others will write there during one of so many turns."""
    starts = tuple(f"{name}/" for name in observed.names)
    loads: dict[int, int] = {}
    for layout in (layout for each in beside for layout in each.layouts):
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
