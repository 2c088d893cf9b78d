"""Knowledge: what is remembered about applications, as records. The database keeps them
(iez_common/database), iez_client/learn makes them."""

from dataclasses import dataclass
from typing import Literal

FieldKind = Literal["constant", "rank", "step", "parts", "timestamp", "pid", "random"]
# Kinds whose value in a later run is known before it.
FORESEEN: frozenset[FieldKind] = frozenset({"constant", "rank", "step", "parts"})


@dataclass(frozen=True, slots=True)
class Field:
    """What stands for one `#` or `*` of a template, and how its values come about."""

    kind: FieldKind
    width: int = 0  # digits to which a number is padded with zeros; 0: it is not
    first: int = 0  # constant: the value; rank: that of rank 0; step: the first one
    stride: int = 1  # rank, step: from one value to the next


@dataclass(frozen=True, slots=True)
class Template:
    """Names of files with fields, in the language of plans, behind a root: `{--out}` and `{1}` are
    words of the command line, `{cwd}` is the working directory; without one it is absolute."""

    text: str
    fields: tuple[Field, ...]
    example: str  # a path that it was made of
    file_count: int = 0  # files that matched, of all runs
    run_count: int = 0
    id: int = 0  # in the database; 0: not in it yet


@dataclass(frozen=True, slots=True)
class Application:
    """A program as it is used: what is learned of one run holds for the next."""

    owner: str
    key: str  # SHA-256 of what it is known by
    name: str
    program: str
    shape: str  # of its arguments
    epoch: int = 0  # rises when it is learned afresh: older runs and templates do not count
    id: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an application."""

    identity: int  # the number in its traces
    started_s: float
    ended_s: float
    command: tuple[str, ...]
    directory: str
    rank_count: int  # 0: without MPI
    host_count: int
    status: int  # the job's exit code, 128 + n for a signal n
    trace_dir: str
    file_count: int = 0  # created by it, helper files not counted
    write_bytes: int = 0
    unknown_count: int = 0  # files of no template that was known before
    epoch: int = 0
    id: int = 0


@dataclass(frozen=True, slots=True)
class ObservedFile:
    """A file that a run created, under the name with which it did."""

    path: str
    template_id: int
    field_values: tuple[str, ...]
    mpi_rank: int  # -1: none
    write_bytes: int
    first_write_s: float
    writers: int
    access_bytes: int
    stripe_count: int  # 0: not known
    stripe_size_bytes: int
    ost_list: tuple[int, ...]
    outcome: str  # what came of its plan: placed, missed, refused_enospc, …; empty: none
    extents: str = ""  # of a composite layout (iez_common/extents.py); empty: a plain one


@dataclass(frozen=True, slots=True)
class Prediction:
    """A file that the next run is expected to write. `path` is a template where the name cannot be
    told: then `mpi_rank` and `turn` tell which of its files."""

    path: str
    template_id: int
    mpi_rank: int
    turn: int
    write_bytes: int
    high_bytes: int
    stripe_count: int  # 0: to be chosen
    writers: int
    access_bytes: int
    method: str
    error: float  # rolling error of the method; 0: exact so far


@dataclass(frozen=True, slots=True)
class PlannedLayout:
    """What the allocator gave to a prediction."""

    path: str
    mpi_rank: int
    turn: int
    write_bytes: int
    stripe_count: int  # 0: left to Lustre
    stripe_size_bytes: int
    ost_list: tuple[int, ...]
    extents: str = ""  # as in ObservedFile


@dataclass(frozen=True, slots=True)
class Planning:
    """One making of a plan: when, and from which state of the OSTs."""

    made_s: float
    after_run_id: int  # newest run that it takes into account
    state: str  # the OSTs as they were, as JSON


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many files of a run came to the same end."""

    outcome: str  # placed, missed, refused_enospc, …
    why: str  # in words
    file_count: int
