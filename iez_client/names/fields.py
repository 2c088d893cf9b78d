"""Fields: the values of a run's names in, what each field is out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from iez_client.names.dates import date_fields
from iez_client.names.pattern import NUMBER, Pattern
from iez_client.names.roots import Roots
from iez_common.knowledge import Field

_RANDOM = Field("random")
_DIGITS_MAX = 18  # longer ones are no counts, and no column holds them
_RANDOM_DIGITS = 6  # irregular numbers of as many digits are random
_DATES_LOOKED_AT = 64
_JOB_WORDS = ("job", "slurm", "pbs", "lsf", "jobid")
_JOB_ID_MIN = 100


@dataclass(frozen=True, slots=True)
class Seen:
    """A file that a run created, under the name with which it did."""

    path: str
    rank: int = -1  # of its creator; -1: none
    pid: int = 0  # of its creator; 0: not known
    first_write_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a run besides its files."""

    roots: Roots
    rank_count: int = 0  # 0: not known, or without MPI
    started_s: float = 0.0  # 0: not known
    job_ids: frozenset[int] = field(default_factory=frozenset)


def study(
    pattern: Pattern, values: Sequence[tuple[str, ...]], files: Sequence[Seen], facts: RunFacts
) -> tuple[Field, ...]:
    """The fields of a pattern by one run. `values` and `files` are parallel."""
    if not pattern.marks:
        return ()
    columns = list(zip(*values, strict=True))
    ended_s = max([facts.started_s, *(file.first_write_s for file in files)])
    dates = _dates(pattern, values, facts.started_s, ended_s)
    found = [
        Field("timestamp", _width(set(column)))
        if place in dates
        else _study_column(column, files, facts)
        if pattern.marks[place] == NUMBER
        else _RANDOM
        for place, column in enumerate(columns)
    ]
    return _name_constants(pattern, found, columns, facts)


def _dates(
    pattern: Pattern, values: Sequence[tuple[str, ...]], started_s: float, ended_s: float
) -> frozenset[int]:
    """Fields that are a date in all names, as far as looked at."""
    every = max(1, len(values) // _DATES_LOOKED_AT)
    found = date_fields(values[0], pattern.literals, started_s, ended_s)
    for own in values[::every] if found else ():
        found &= date_fields(own, pattern.literals, started_s, ended_s)
    return found


def _study_column(column: Sequence[str], files: Sequence[Seen], facts: RunFacts) -> Field:
    texts = set(column)
    if max(map(len, texts)) > _DIGITS_MAX:
        return _RANDOM
    width = _width(texts)
    if all(file.pid and int(text) == file.pid for text, file in zip(column, files, strict=True)):
        return Field("pid", width)
    if len(texts) == 1:
        return Field("constant", width, int(column[0]))
    by_rank = _rank_field(set(zip(column, (file.rank for file in files), strict=True)), width)
    return by_rank or _step_field(column, texts, width, files)


def _rank_field(pairs: set[tuple[str, int]], width: int) -> Field | None:
    """First + stride · rank, for every file that has a rank."""
    of_rank = {rank: text for text, rank in pairs if rank >= 0}
    if len(of_rank) < 2 or len(of_rank) + sum(rank < 0 for _, rank in pairs) < len(pairs):
        return None  # several values for one rank
    if not _is_padded((text for text, _ in pairs), width):
        return None
    ranked = sorted((rank, int(text)) for rank, text in of_rank.items())
    (low_rank, low), (high_rank, high) = ranked[0], ranked[-1]
    if (high - low) % (high_rank - low_rank):
        return None
    stride = (high - low) // (high_rank - low_rank)
    first = low - stride * low_rank
    if stride < 1 or any(value != first + stride * rank for rank, value in ranked):
        return None
    return Field("rank", width, first, stride)


def _step_field(column: Sequence[str], texts: set[str], width: int, files: Sequence[Seen]) -> Field:
    numbers = sorted({int(text) for text in texts})
    first = numbers[0]
    strides = {after - before for before, after in pairwise(numbers)}
    is_regular = len(strides) == 1 and _is_padded(texts, width)
    is_sure = is_regular and len(numbers) > 2  # any two numbers have but one stride
    if len(str(numbers[-1])) >= _RANDOM_DIGITS and not is_sure and not _rises(column, files):
        return _RANDOM
    return Field("step", width, first, strides.pop()) if is_regular else Field("step", 0, first, 0)


def _rises(column: Sequence[str], files: Sequence[Seen]) -> bool:
    """Whether the numbers grow in the order in which they were first written."""
    first_s: dict[int, float] = {}
    for text, file in zip(column, files, strict=True):
        number = int(text)
        first_s[number] = min(file.first_write_s, first_s.get(number, file.first_write_s))
    times = [first_s[number] for number in sorted(first_s)]
    return times[0] < times[-1] and all(a <= b for a, b in pairwise(times))


def _is_padded(texts: Iterable[str], width: int) -> bool:
    """Whether all are numbers of that width. The digits behind a decimal point are not."""
    return all(
        len(text) == width or (len(text) > width and (text[0] != "0" or text == "0"))
        for text in texts
    )


def _width(texts: set[str]) -> int:
    """To how many digits numbers are padded. The shortest has the width if any begins with 0."""
    padded = [text for text in texts if len(text) > 1 and text[0] == "0"]
    return min(map(len, texts)) if padded else 0


def _name_constants(
    pattern: Pattern, fields: list[Field], columns: Sequence[Sequence[str]], facts: RunFacts
) -> tuple[Field, ...]:
    """Tells apart what is constant in a run: the number of parts, the job's id, or neither."""
    of_ranks = {
        len(set(column)) for own, column in zip(fields, columns, strict=True) if own.kind == "rank"
    }
    parts = {count for count in (facts.rank_count, *of_ranks) if count > 1}
    for place, own in enumerate(fields):
        if own.kind != "constant":
            continue
        before = pattern.literals[place].lower().rstrip("-_. ")
        if own.first in facts.job_ids or (own.first >= _JOB_ID_MIN and before.endswith(_JOB_WORDS)):
            fields[place] = replace(own, kind="random")
        elif own.first in parts or before.endswith(("-of", "_of", ".of")) or before == "of":
            fields[place] = replace(own, kind="parts")
    return tuple(fields)
