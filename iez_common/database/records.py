"""Records: what the database gives back that knowledge.py does not name."""

from dataclasses import dataclass
from typing import NamedTuple

from iez_common.knowledge import Application, Planning, Run


@dataclass(frozen=True, slots=True)
class ApplicationSummary:
    """An application with what its runs come to."""

    application: Application
    run_count: int
    file_count: int
    write_bytes: int
    last_run_s: float | None  # when the newest one started; None: there is none


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run and the application that it is of."""

    run: Run
    application_id: int


@dataclass(frozen=True, slots=True)
class StoredPlanning:
    """A planning and its place in the database."""

    id: int
    planning: Planning


class HistoryRow(NamedTuple):
    """A file of an earlier run, as far as predictions need it."""

    template_id: int
    run_ordinal: int  # 0: the oldest run
    run_id: int
    field_values: tuple[str, ...]
    mpi_rank: int
    write_bytes: int
    first_write_s: float
    writers: int
    access_bytes: int
    stripe_count: int
    outcome: str


@dataclass(frozen=True, slots=True)
class Pruned:
    """What pruning took away."""

    run_count: int
    file_count: int


@dataclass(frozen=True, slots=True)
class Imported:
    """What importing added."""

    application_count: int
    template_count: int
    run_count: int
    file_count: int
    planning_count: int


@dataclass(frozen=True, slots=True)
class DatabaseInfo:
    """What a database is and holds."""

    place: str  # without a password
    kind: str  # with the version of the software
    revision: str
    rows: tuple[tuple[str, int], ...]  # a table and its rows
    size_bytes: int
