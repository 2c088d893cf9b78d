"""Foresee: what earlier runs wrote in, the files that the next run is expected to write out.

The files of the last run come again, with the ranks and directories of the next one. What each
holds is forecast from all files that had its place: same template, same rank, over steps and runs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from iez_client.names import Coming, Expected, expand, step_shifts
from iez_client.predict import Forecast, forecast_many
from iez_common.database.records import HistoryRow
from iez_common.knowledge import FORESEEN, Prediction, Run, Template

RUNS_MAX = 20  # how far back it looks
_RECENT_RUNS = 5  # a template that was not seen in so many runs is not expected
_PLACED = frozenset({"placed", "shared"})
_UNCERTAIN = 1.1  # a file that may grow by more than this gets room for it
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A file that is expected, and how it is known."""

    prediction: Prediction
    expected: Expected
    forecast: Forecast
    series: tuple[int, ...]  # what it is forecast from
    first_write_s: float  # when its like was written in the last run
    is_only_one: bool  # each run so far had one file of its template


class _Ranks(NamedTuple):
    then: int  # in the runs to go by; 0: without MPI
    next: int


class _Place(NamedTuple):
    """Where a file stands: files with the same place, one after the other, are a series."""

    template_id: int
    mpi_rank: int
    values: tuple[str, ...]


def foresee(
    templates: Sequence[Template],
    runs: Sequence[Run],
    rows: Iterable[HistoryRow],
    coming: Coming,
    method: str = "auto",
    progress: Progress | None = None,
) -> list[Foreseen]:
    """`rows` are those of `runs`, oldest run first."""
    if not runs:
        return []
    rank_count = _like(runs, coming.rank_count)
    alike = [n for n, run in enumerate(runs) if run.rank_count == rank_count and run.file_count]
    chosen = alike[-RUNS_MAX:]
    by_template: dict[int, list[HistoryRow]] = {}
    wanted = set(chosen)
    scale = _Scale(runs)
    for row in rows:
        scale.note(row)
        if row.run_ordinal in wanted:
            by_template.setdefault(row.template_id, []).append(row)
    recent = set(chosen[-_RECENT_RUNS:])
    last: dict[int, list[HistoryRow]] = {}
    series: dict[_Place, list[HistoryRow]] = {}
    for template in templates:
        own = by_template.get(template.id, [])
        newest = max((row.run_ordinal for row in own), default=-1)
        if newest not in recent:
            continue
        last[template.id] = [row for row in own if row.run_ordinal == newest]
        for row in own:
            series.setdefault(_place(template, row), []).append(row)
    forecasts = _forecast(templates, series, last, method, progress)
    found: list[Foreseen] = []
    for template in templates:
        if template.id in last:
            ranks = _Ranks(rank_count, coming.rank_count or rank_count)
            names = _names(template, by_template[template.id], ranks.then, coming)
            factor = scale.factor(template.id, ranks)
            found += _expect(template, last[template.id], names, ranks, forecasts, factor)
    return found


def _names(
    template: Template, rows: Sequence[HistoryRow], ranks_then: int, coming: Coming
) -> list[Expected]:
    """Under the names of the coming run."""
    by_run: dict[int, list[HistoryRow]] = {}
    for row in rows:
        by_run.setdefault(row.run_ordinal, []).append(row)
    runs = [[row.field_values for row in by_run[ordinal]] for ordinal in sorted(by_run)]
    files = [(row.field_values, row.mpi_rank) for row in by_run[max(by_run)]]
    return expand(template, files, ranks_then, coming, step_shifts(template, runs))


def _like(runs: Sequence[Run], rank_count: int) -> int:
    """The rank count of the runs to go by: the coming one if there were such runs."""
    if any(run.rank_count == rank_count for run in runs):
        return rank_count
    return runs[-1].rank_count


def _place(template: Template, row: HistoryRow) -> _Place:
    kept = tuple(
        value
        for field, value in zip(template.fields, row.field_values, strict=True)
        if field.kind in FORESEEN and field.kind not in ("step", "parts")
    )
    return _Place(template.id, row.mpi_rank, kept)


def _order(template: Template) -> Callable[[HistoryRow], tuple[object, ...]]:
    """Runs in turn, steps in turn, then as they were written."""
    steps = [place for place, field in enumerate(template.fields) if field.kind == "step"]

    def key(row: HistoryRow) -> tuple[object, ...]:
        values = tuple(int(row.field_values[place]) for place in steps)
        return row.run_ordinal, values, row.first_write_s

    return key


class _Next(NamedTuple):
    """What comes next at a place, and which of the values each file of the last run stands for."""

    forecast: Forecast
    series: tuple[int, ...]
    stripe_count: int
    turn_of: Mapping[tuple[str, ...], list[int]]


def _forecast(
    templates: Sequence[Template],
    series: Mapping[_Place, list[HistoryRow]],
    last: Mapping[int, list[HistoryRow]],
    method: str,
    progress: Progress | None,
) -> dict[_Place, _Next]:
    """Equal series, as those of all ranks often are, are forecast once."""
    keys = {template.id: _order(template) for template in templates}
    turns: dict[_Place, dict[tuple[str, ...], list[int]]] = {}
    asked: dict[int, dict[tuple[int, ...], list[_Place]]] = {}
    for place, rows in series.items():
        rows.sort(key=keys[place.template_id])
        newest = last[place.template_id][0].run_ordinal
        coming = [row for row in rows if row.run_ordinal == newest]
        own = turns.setdefault(place, {})
        for turn, row in enumerate(coming):
            own.setdefault(row.field_values, []).append(turn)
        values = tuple(row.write_bytes for row in rows)
        if coming:
            asked.setdefault(len(coming), {}).setdefault(values, []).append(place)
    total = sum(len(each) for each in asked.values())
    found: dict[_Place, _Next] = {}
    done = 0
    for horizon, places_of in asked.items():
        before = done

        def report(count: int, _of: int, before: int = before) -> None:
            if progress:
                progress(before + count, total)

        forecasts = forecast_many(list(places_of), horizon, method, report)
        for forecast, (values, places) in zip(forecasts, places_of.items(), strict=True):
            for place in places:
                count = _stripe_count(series[place])
                found[place] = _Next(forecast, values, count, turns[place])
        done += len(places_of)
    return found


def _expect(
    template: Template,
    rows: Sequence[HistoryRow],
    names: Sequence[Expected],
    ranks: _Ranks,
    forecasts: Mapping[_Place, _Next],
    factor: float,
) -> list[Foreseen]:
    is_only_one = 1 < template.run_count == template.file_count
    found = []
    # Files of one place and one name, such as temporary ones, are told apart by their turn.
    taken: dict[tuple[int, tuple[str, ...]], int] = {}
    for expected in names:
        row = rows[expected.source_index]
        place = _place(template, row)
        following = forecasts[place]
        turns = following.turn_of[row.field_values]
        used = taken.get((expected.rank, row.field_values), 0)
        taken[expected.rank, row.field_values] = used + 1
        turn = turns[used % len(turns)]
        forecast = _scaled(following.forecast, factor)
        value, high = (round(each[turn]) for each in (forecast.values, forecast.high))
        prediction = Prediction(
            path=expected.path or expected.rule_text,
            template_id=template.id,
            mpi_rank=expected.rank,
            turn=turn,
            write_bytes=value,
            high_bytes=high if high > value * _UNCERTAIN else value,
            stripe_count=following.stripe_count,
            writers=ranks.next if row.writers >= ranks.then > 1 else row.writers,
            access_bytes=row.access_bytes,
            method=forecast.method,
            error=forecast.error,
        )
        found.append(
            Foreseen(
                prediction, expected, forecast, following.series, row.first_write_s, is_only_one
            )
        )
    return found


def _scaled(forecast: Forecast, factor: float) -> Forecast:
    if factor == 1:
        return forecast
    low, values, high = (
        tuple(value * factor for value in each)
        for each in (forecast.low, forecast.values, forecast.high)
    )
    return replace(forecast, low=low, values=values, high=high)


def _stripe_count(rows: Sequence[HistoryRow]) -> int:
    """The count that the user or the directory gave it; 0 where that was one, Lustre's default, or
    the count was iez's own choice."""
    chosen = [row.stripe_count for row in rows if row.outcome not in _PLACED and row.stripe_count]
    return chosen[-1] if chosen and chosen[-1] > 1 else 0


class _Scale:
    """How the bytes of a file go with the number of ranks: not at all (each rank has its share of
    work) or inversely (all ranks share one work)."""

    _NEAR = 0.1

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = runs
        self._sums: dict[tuple[int, int], list[int]] = {}  # bytes and files by template and ranks

    def note(self, row: HistoryRow) -> None:
        key = row.template_id, self._runs[row.run_ordinal].rank_count
        total = self._sums.setdefault(key, [0, 0])
        total[0] += row.write_bytes
        total[1] += 1

    def factor(self, template_id: int, ranks: _Ranks) -> float:
        if not ranks.then or ranks.next == ranks.then:
            return 1.0
        means = {
            count: total / files
            for (own, count), (total, files) in self._sums.items()
            if own == template_id and count and total
        }
        others = [count for count in means if count != ranks.then]
        if ranks.then not in means or not others:
            return 1.0
        whole = means[ranks.then] * ranks.then
        is_shared = all(abs(means[count] * count / whole - 1) < self._NEAR for count in others)
        return ranks.then / ranks.next if is_shared else 1.0
