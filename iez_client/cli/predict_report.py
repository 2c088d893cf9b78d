"""Forecasts, for a person and as JSON."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from iez_client.cli.commands import print_json, print_table, shown
from iez_client.learn.foresee import Foreseen
from iez_common.knowledge import Application
from iez_common.units import format_about

_SERIES_SHOWN = 12


@contextmanager
def progress() -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("forecasting", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def print_foreseen(found: Sequence[Foreseen]) -> None:
    print_table(
        ("FILE", "RANK", "LAST", "NEXT", "EXPECTED IN", "METHOD", "ERROR"),
        [
            (
                each.prediction.path,
                str(each.prediction.mpi_rank) if each.prediction.mpi_rank >= 0 else "-",
                format_about(_last_bytes(each)),
                format_about(each.prediction.write_bytes),
                _interval(each),
                each.prediction.method,
                f"{100 * each.prediction.error:.1f} %",
            )
            for each in found
        ],
    )


def _last_bytes(each: Foreseen) -> int:
    """Of the file that stood in its place in the last run: its files are the end of the series, as
    many as are forecast."""
    return each.series[each.prediction.turn - len(each.forecast.values)]


def _interval(each: Foreseen) -> str:
    low, high = (values[each.prediction.turn] for values in (each.forecast.low, each.forecast.high))
    if low == high:
        return "-"
    return f"{format_about(round(low))} … {format_about(round(high))}"


def print_reasons(found: Sequence[Foreseen]) -> None:
    """Each series once: those of many ranks are often the same."""
    users: dict[tuple[int, ...], list[Foreseen]] = {}
    for each in found:
        users.setdefault(each.series, []).append(each)
    for series, files in users.items():
        first = files[0]
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        print(f"\n{shown(first.prediction.path)}{more}")
        values = " ".join(format_about(value) for value in series[-_SERIES_SHOWN:])
        print(f"  so far  {'… ' if len(series) > _SERIES_SHOWN else ''}{values}")
        print(f"  chosen  {first.forecast.method}: {first.forecast.why}")
        for score in first.forecast.scores:
            print(f"  {100 * score.error:6.2f} %  {score.method}: {score.reason}")


def print_foreseen_json(application: Application, found: Sequence[Foreseen]) -> None:
    print_json(
        {
            "application": application.name,
            "files": [
                {
                    "path": each.prediction.path,
                    "mpi_rank": each.prediction.mpi_rank,
                    "last_bytes": _last_bytes(each),
                    "write_bytes": each.prediction.write_bytes,
                    "low_bytes": round(each.forecast.low[each.prediction.turn]),
                    "high_bytes": round(each.forecast.high[each.prediction.turn]),
                    "method": each.forecast.method,
                    "error": each.forecast.error,
                    "why": each.forecast.why,
                    "scores": [
                        {"method": score.method, "error": score.error, "reason": score.reason}
                        for score in each.forecast.scores
                    ],
                    "series": list(each.series),
                }
                for each in found
            ],
        }
    )
