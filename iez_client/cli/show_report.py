"""Reports of `iez show`: a run on one screen."""

import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from iez_client.cli.commands import print_json, print_table
from iez_client.cli.parse_report import record_json, run_json, trouble_json
from iez_client.parse.record import APIS, FileRecord
from iez_client.parse.traces import SIZE_UNKNOWN
from iez_common.units import format_about

if TYPE_CHECKING:
    from iez_client.parse.table import FileTable

_BAR_CHARS = 40
_PATTERNS = {
    "FPP": "file per process: each file has one writer",
    "SSF": "single shared file: each file has several writers",
    "mixed": "mixed: some files have one writer, some several",
    "": "nothing was written",
}


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over all files but the helper files of MPI libraries."""

    files: int
    helper_files: int
    written_files: int
    shared_files: int
    write_bytes: int
    writes: int
    read_bytes: int
    reads: int
    span_s: float  # from the first write to the last


@dataclass(frozen=True, slots=True)
class Layer:
    """One interface: the files that it was seen on and what was written through it."""

    api: str
    files: int
    write_bytes: int


@dataclass(frozen=True, slots=True)
class Summary:
    totals: Totals
    layers: tuple[Layer, ...]
    write_sizes: dict[str, int]
    biggest: tuple[FileRecord, ...]


def summarise(table: "FileTable", top: int, stat: bool) -> Summary:
    """Adds the table up; records are made of the `top` files only."""
    import numpy as np

    counted = ~table.is_helper
    rows, write_bytes = table.rows[counted], table.write_bytes
    first = rows["first_write_ns"][rows["first_write_ns"] != 0]
    span_ns = int(rows["last_write_ns"].max()) - int(first.min()) if len(first) else 0
    totals = Totals(
        files=len(rows),
        helper_files=len(table) - len(rows),
        written_files=int((table.is_written & counted).sum()),
        shared_files=int((table.is_shared & counted).sum()),
        write_bytes=int(write_bytes[counted].sum()),
        writes=int(rows["writes"].sum()),
        read_bytes=int(rows["read_bytes"].sum()),
        reads=int(rows["reads"].sum()),
        span_s=max(0.0, span_ns / 1e9),
    )
    layers = tuple(
        Layer(api, int((rows["apis"] >> bit & 1).sum()), int(rows["layer_bytes"][:, bit].sum()))
        for bit, api in enumerate(APIS)
    )
    sizes = np.where(table.rows["size_bytes"] == SIZE_UNKNOWN, 0, table.rows["size_bytes"])
    order = np.argsort(np.maximum(write_bytes, sizes) * counted, kind="stable")[::-1]
    chosen = [int(index) for index in order[: top + totals.helper_files] if counted[index]][:top]
    biggest = tuple(table.record(index, stat) for index in chosen)
    return Summary(totals, layers, table.write_sizes(), biggest)


def print_summary(table: "FileTable", summary: Summary) -> None:
    _print_run(table)
    _print_totals(table, summary.totals)
    if summary.biggest:
        print()
        rows = [_file_row(record) for record in summary.biggest]
        print_table(("FILE", "WRITTEN", "SIZE", "STRIPES", "RANKS", "PATTERN", "API"), rows)
        left = summary.totals.files - len(rows)
        if left:
            print(f"… and {left} more files (--top {summary.totals.files} prints all)")
    _print_write_sizes(summary.write_sizes)
    layers = [each for each in summary.layers if each.files or each.write_bytes]
    if layers:
        print()
        cells = [(each.api, str(each.files), format_about(each.write_bytes)) for each in layers]
        print_table(("API", "FILES", "WRITTEN"), cells)
    _print_trouble(table)
    print(f"\nnext: iez parse {table.traces.directory} --csv files.csv")


def _print_run(table: "FileTable") -> None:
    totals, traces = table.totals, table.traces
    which = f", run {traces.run} of {traces.run_count}" if traces.run_count > 1 else ""
    print(f"{traces.directory}{which}")
    programs = totals.programs.most_common()
    named = ", ".join(f"{name or '?'} × {count}" for name, count in programs[:4])
    more = f" and {len(programs) - 4} others" if len(programs) > 4 else ""
    hosts = f"{len(totals.hosts)} host{'' if len(totals.hosts) == 1 else 's'}"
    ranks = f"{totals.ranks} ranks" + (f" of {totals.world_size}" if totals.world_size else "")
    mpi = f", {ranks}" if totals.ranks else ""
    print(f"  ran      {named}{more} on {hosts}: {totals.processes} processes{mpi}")
    if totals.start_ns:
        print(f"  started  {_clock(totals.start_ns)}")


def _clock(time_ns: int) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time_ns / 1e9))
    except (OverflowError, ValueError, OSError):
        return "at a time that makes no sense"


def _print_totals(table: "FileTable", totals: Totals) -> None:
    helpers = f", and {totals.helper_files} helper files of MPI" if totals.helper_files else ""
    print(f"  files    {totals.files}, {totals.written_files} of them written{helpers}")
    span = f" in {totals.span_s:.1f} s" if totals.writes else ""
    print(f"  written  {format_about(totals.write_bytes)} by {totals.writes} writes{span}")
    print(f"  read     {format_about(totals.read_bytes)} by {totals.reads} reads")
    print(f"  pattern  {_PATTERNS[table.pattern]}")


def _file_row(record: FileRecord) -> tuple[str, ...]:
    size = "?" if record.size_bytes is None else format_about(record.size_bytes)
    return (
        record.file_name + (" (removed)" if record.unlinked else ""),
        format_about(record.write_bytes),
        size,
        str(record.stripe_count or "-"),
        record.ranks or "-",
        record.pattern or "-",
        "+".join(record.api) or "-",
    )


def _print_write_sizes(sizes: dict[str, int]) -> None:
    if not sizes:
        return
    most = max(sizes.values())
    print()
    rows = []
    for bound, count in sizes.items():
        bar = "#" * max(1, _BAR_CHARS * count // most)
        rows.append((f"{format_about(int(bound))}…", str(count), bar))
    print_table(("WRITE SIZE", "WRITES", ""), rows)


def _print_trouble(table: "FileTable") -> None:
    totals = table.totals
    if totals.dropped:
        lost = format_about(totals.dropped_bytes)
        print(
            f"\nnot recorded, for lack of room: {totals.dropped_files} opens of files, "
            f"{totals.dropped_writes} writes ({lost}), {totals.dropped_events} events"
        )
    if table.damaged:
        print(f"\nnot whole: {len(table.damaged)} trace files")


def print_summary_json(table: "FileTable", summary: Summary) -> None:
    run = run_json(table)
    print_json(
        {
            "run": run,
            "pattern": run["pattern"],
            "totals": asdict(summary.totals),
            "api": {each.api: asdict(each) for each in summary.layers},
            "write_sizes": summary.write_sizes,
            "files": [record_json(record) for record in summary.biggest],
            **trouble_json(table),
        }
    )
