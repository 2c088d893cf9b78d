"""Beside: applications that run at the same time in, what their plans promise to each OST out.

Each application is planned for itself. Two that write at the same time would each be even, and
together not. So the one with the smaller stripes, which has the freer choice, fits in with the
other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from iez_client.observe.osts import Observation, ObservedFileSystem
from iez_common.extents import ost_bytes, parse_extents
from iez_common.knowledge import Application, PlannedLayout, Prediction

if TYPE_CHECKING:
    from iez_common.database import Database


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Another application, as it was planned last."""

    application_id: int
    planning_id: int
    grain_bytes: int
    layouts: Sequence[PlannedLayout] = field(repr=False)


def neighbours(
    database: "Database", application: Application, predictions: Iterable[Prediction]
) -> list[Neighbour]:
    """Those that were running during its last run and that it has to fit in with."""
    runs = database.history_runs(application, 1, only_successful=False)
    plannings = database.plannings_beside(application, runs[-1]) if runs else []
    own = (-_grain_bytes(predictions), application.id) if plannings else (0, 0)
    found = []
    for application_id, planning in plannings:
        grain_bytes = _grain_bytes(database.predictions(planning.id))
        if (-grain_bytes, application_id) < own:
            layouts = [each for each in database.layouts(planning.id) if each.ost_list]
            found.append(Neighbour(application_id, planning.id, grain_bytes, layouts))
    return found


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
