"""Reports of `iez parse`: CSV, JSON, and the notes about trace files that are not whole."""

import csv
import dataclasses
import io
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from iez_client.cli.commands import print_json
from iez_client.parse.record import COLUMNS, FileRecord
from iez_client.parse.traces import Damage
from iez_common.atomic import replacing

if TYPE_CHECKING:
    from iez_client.parse.table import FileTable

# How a list becomes one cell; what may contain any character is JSON.
_JOINED = {"api": "+", "access": "+", "ost_list": " "}


def print_notes(table: "FileTable", asked_run: int | None) -> None:
    """One line about each trace file that is not whole, and about a choice among runs."""
    print_damage(table.damaged)
    traces = table.traces
    if traces.run_count > 1 and asked_run is None:
        note = f"it holds {traces.run_count} runs; this is the newest (--run N chooses another)"
        print(f"iez: {traces.directory}: {note}", file=sys.stderr)


def print_damage(damaged: Sequence[Damage]) -> None:
    for each in damaged:
        print(f"iez: {each.file}: {each.reason}", file=sys.stderr)


def print_csv(table: "FileTable", stat: bool) -> None:
    csv.writer(sys.stdout, lineterminator="\n").writerows(_csv_rows(table, stat))


def write_csv(table: "FileTable", path: Path, stat: bool) -> None:
    with replacing(path) as file:
        _write_rows(file, _csv_rows(table, stat))


def write_events(table: "FileTable", path: Path) -> None:
    from iez_client.parse.event_rows import event_rows

    damaged: list[Damage] = []
    with replacing(path) as file:
        _write_rows(file, event_rows(table, damaged))
    print_damage(damaged)


def _write_rows(file: BinaryIO, rows: Iterator[tuple[object, ...]]) -> None:
    text = io.TextIOWrapper(file, "utf-8", "surrogateescape", newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    text.flush()
    text.detach()


def _csv_rows(table: "FileTable", stat: bool) -> Iterator[tuple[object, ...]]:
    yield COLUMNS
    for record in table.records(stat):
        yield tuple(_cell(name, getattr(record, name)) for name in COLUMNS)


def _cell(name: str, value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6f}"
    if isinstance(value, tuple) and name in _JOINED:
        return _JOINED[name].join(map(str, value))
    if isinstance(value, tuple | dict):
        return json.dumps(value) if value else ""
    return value


def record_json(record: FileRecord) -> dict[str, object]:
    return dataclasses.asdict(record)


def print_records_json(table: "FileTable", stat: bool) -> None:
    files = [record_json(record) for record in table.records(stat)]
    print_json({"run": run_json(table), "files": files, **trouble_json(table)})


def run_json(table: "FileTable") -> dict[str, object]:
    """What ran."""
    from iez_client.parse.record import seconds

    totals, traces = table.totals, table.traces
    return {
        "directory": str(traces.directory),
        "run": traces.run,
        "runs": traces.run_count,
        "id": f"{traces.processes[0].run:016x}",
        "programs": dict(totals.programs.most_common()),
        "hosts": sorted(totals.hosts),
        "processes": totals.processes,
        "ranks": totals.ranks,
        "world_size": totals.world_size,
        "start_s": seconds(totals.start_ns),
        "pattern": table.pattern,
        "events": totals.events,
    }


def trouble_json(table: "FileTable") -> dict[str, object]:
    """What is missing from the records."""
    totals = table.totals
    return {
        "dropped": totals.dropped,
        "dropped_detail": {
            "files": totals.dropped_files,
            "writes": totals.dropped_writes,
            "write_bytes": totals.dropped_bytes,
            "events": totals.dropped_events,
        },
        "damaged": [dataclasses.asdict(each) for each in table.damaged],
    }
