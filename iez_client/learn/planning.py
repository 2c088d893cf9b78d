"""Planning: what is known of an application in, the plan of its next run out."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING

from iez_client.filesystems import FileSystem
from iez_client.learn import stored
from iez_client.learn.beside import Neighbour, neighbours, promised, settled_neighbours
from iez_client.learn.entries import Entry, Pair, draft_of
from iez_client.learn.foresee import RUNS_MAX, Foreseen, Progress, foresee
from iez_client.learn.phases import after, phases
from iez_client.learn.roots import roots_on
from iez_client.names import Coming
from iez_client.observe.osts import Observation, ObservedFileSystem, observe
from iez_client.plan.bind import bind
from iez_client.plan.build import known_file_systems
from iez_client.plan.compile import compile_draft
from iez_client.plan.template import Name, encode, parse
from iez_client.request.decide import decide
from iez_client.request.row import Wanted
from iez_common.allocate import Placement, Policy
from iez_common.allocate.policy_file import policy_of
from iez_common.config import Config
from iez_common.errors import AllocationError, IezError, InputError
from iez_common.extents import format_extents
from iez_common.knowledge import Application, PlannedLayout, Planning
from iez_common.records import Request

if TYPE_CHECKING:
    from iez_common.database import Database

_ATTEMPTS = 3  # to take in runs that end meanwhile
_QUICK_FILES_MAX = 50_000  # some seconds


@dataclass(frozen=True, slots=True)
class Made:
    """A plan that was made."""

    image: bytearray | None  # None: there is nothing to place
    file_count: int
    planned_count: int  # of them, those that are not left to Lustre
    entry_count: int = 0
    rule_count: int = 0


@dataclass(frozen=True, slots=True)
class NextRun:
    """The run to plan for."""

    command: Sequence[str]
    directory: str
    rank_count: int  # 0: as many as in the last one

    def coming(self, config: Config) -> Coming:
        file_systems = known_file_systems(config)
        return Coming(roots_on(file_systems, self.command, self.directory), self.rank_count)


def like_the_last(
    database: "Database", application: Application, rank_count: int | None = None
) -> NextRun:
    """The last run once more, perhaps on another number of ranks."""
    runs = database.history_runs(application, 1)
    if not runs:
        raise InputError(f"{application.name}: no run is known", f"iez-run {application.program}")
    last = runs[-1]
    ranks = last.rank_count if rank_count is None else rank_count
    return NextRun(last.command, last.directory, ranks)


def foresee_next(
    database: "Database",
    application: Application,
    coming: Coming,
    method: str = "auto",
    progress: Progress | None = None,
) -> tuple[list[Foreseen], int]:
    """What the next run will write, and the newest run that this takes into account."""
    runs = database.history_runs(application, RUNS_MAX)
    rows = database.history(runs)
    templates = database.templates(application)
    found = foresee(templates, runs, rows, coming, method, progress)
    return found, max((run.id for run in runs), default=0)


def make_plan(
    database: "Database", application: Application, next_run: NextRun, config: Config
) -> Made:
    """Predicts, allocates, remembers what was planned, and puts the plan in place. A run that ended
    meanwhile may have put its own there, or may have been overtaken: the newest knowledge wins."""
    for attempt in range(_ATTEMPTS):
        made, is_newest = _make(database, application, next_run, config)
        if is_newest or attempt == _ATTEMPTS - 1:
            break
    return made


def make_plan_quickly(
    database: "Database", application: Application, next_run: NextRun, config: Config
) -> Made:
    """While the job waits: exact rules and last values only, and nothing is remembered."""
    last = database.history_runs(application, 1)
    if last and last[-1].file_count > _QUICK_FILES_MAX:
        raise IezError(
            f"{application.name}: {last[-1].file_count} files are too many to plan before the job",
            f"iez plan make {quote(application.name)}",
        )
    coming = next_run.coming(config)
    foreseen, _ = foresee_next(database, application, coming, "exact")
    beside = neighbours(database, application, (each.prediction for each in foreseen))
    others = [each for each in beside if each.is_coarser]
    return _put_in_place(foreseen, application, coming, config, others)[0]


def _make(
    database: "Database", application: Application, next_run: NextRun, config: Config
) -> tuple[Made, bool]:
    """Also whether that took the newest runs and plans of others into account."""
    coming = next_run.coming(config)
    foreseen, newest = foresee_next(database, application, coming)
    own = [each.prediction for each in foreseen]
    others = settled_neighbours(database, application, own)
    made, entries, observed = _put_in_place(foreseen, application, coming, config, others)
    if entries:
        planning = Planning(time.time(), newest, _state(observed))
        layouts = [_layout(each) for each in entries]
        predictions = (each.foreseen.prediction for each in entries)
        database.save_planning(application, planning, predictions, layouts)
    now = database.history_runs(application, 1)
    is_newest = not now or now[-1].id <= newest
    beside = neighbours(database, application, own)
    plans = {each.planning_id for each in beside if each.counts}
    return made, is_newest and plans == {each.planning_id for each in others}


def _put_in_place(
    foreseen: Sequence[Foreseen],
    application: Application,
    coming: Coming,
    config: Config,
    others: Sequence[Neighbour],
) -> tuple[Made, list[Entry], list[ObservedFileSystem]]:
    """Allocates, and stores the plan; also that there is nothing to place."""
    roots, ranks = coming.roots, coming.rank_count
    file_systems = known_file_systems(config)
    observed = [_up_to_date(each, file_systems) for each in observe(config)]
    pairs = _decide(foreseen, observed, policy_of(config), others) if foreseen else []
    draft, entries = draft_of(pairs, file_systems)
    planned = sum(placement.rung != "nothing" for _, placement in pairs)
    image = None
    if planned:
        image = bind(compile_draft(draft), file_systems, config.refresh_ms)
    stored.store(config, application.key, image, roots, ranks, time.time())
    made = Made(image, len(pairs), planned, len(draft.text_refs), len(draft.rules))
    return made, entries, observed


def _up_to_date(
    observed: ObservedFileSystem, file_systems: Sequence[FileSystem]
) -> ObservedFileSystem:
    """What was observed may be some seconds old: an OST that was switched off since is not used."""
    live = {
        ost.index for each in file_systems if each.prefix == observed.prefix for ost in each.osts
    }
    observations = tuple(
        each if each.ost.index in live else _switched_off(each) for each in observed.observations
    )
    return replace(observed, observations=observations)


def _switched_off(each: Observation) -> Observation:
    return replace(each, ost=replace(each.ost, states=each.ost.states | {"inactive"}))


def _decide(
    foreseen: Sequence[Foreseen],
    observed: Sequence[ObservedFileSystem],
    policy: Policy,
    others: Sequence[Neighbour],
) -> list[Pair]:
    """Each file with what it gets; those that lie on no file system are left out."""
    if not observed:
        raise AllocationError("no Lustre file system is mounted here", "--mock DIR to try it")
    placement_of: dict[int, Placement] = {}
    turns = phases(foreseen)
    # Others go on writing while this one has its turns: each turn meets its part of that.
    now = [promised(each, others, len(turns)) for each in observed]
    for phase in turns:
        wanted = [_wanted(each) for each in phase]
        owner = {id(file): each for file, each in zip(wanted, phase, strict=True)}
        try:
            decision = decide(wanted, now, policy)
        except AllocationError:
            # Files may go while the job runs: what does not fit on top of all others may fit yet.
            decision = decide(wanted, observed, policy)
        for group in decision.groups:
            for file, placement in zip(group.files, group.allocation, strict=True):
                placement_of[id(owner[id(file)])] = placement
        now = after(now, decision)
    return [(each, placement_of[id(each)]) for each in foreseen if id(each) in placement_of]


def _wanted(foreseen: Foreseen) -> Wanted:
    prediction, path = foreseen.prediction, foreseen.expected.path
    # A path is taken as it is: with escapes it might be too long for a template.
    name = parse(foreseen.expected.rule_text) if path is None else Name(path, (encode(path),))
    return Wanted(
        name,
        "the prediction",
        Request(
            write_bytes=prediction.write_bytes,
            stripe_count=prediction.stripe_count,
            writers=prediction.writers,
            access_bytes=prediction.access_bytes,
            high_bytes=prediction.high_bytes,
            name=f"{name.text} {prediction.mpi_rank} {prediction.turn}",
        ),
    )


def _layout(entry: Entry) -> PlannedLayout:
    prediction, placement = entry.foreseen.prediction, entry.placement
    is_left = placement.rung == "nothing"
    osts = tuple(ost for part in placement.parts for ost in part.osts) or placement.osts
    return PlannedLayout(
        path=prediction.path,
        mpi_rank=prediction.mpi_rank,
        turn=prediction.turn,
        write_bytes=prediction.write_bytes,
        stripe_count=0 if is_left else placement.stripe_count,
        stripe_size_bytes=0 if is_left else placement.stripe_size_bytes,
        ost_list=() if is_left else osts,
        extents=format_extents((part.end_bytes, len(part.osts)) for part in placement.parts),
    )


def _state(observed: Sequence[ObservedFileSystem]) -> str:
    """The OSTs as they were, as JSON."""
    return json.dumps(
        [
            {
                "file_system": each.name,
                "prefix": each.prefix,
                "osts": [
                    {
                        "index": ost.index,
                        "size_bytes": ost.size_bytes,
                        "available_bytes": ost.available_bytes,
                        "oss": ost.oss,
                        "states": sorted(ost.states),
                    }
                    for ost in each.osts
                ],
            }
            for each in observed
        ]
    )
