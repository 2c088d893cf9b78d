"""Table I and Table II, for a person, as JSON and as CSV."""

import csv
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iez_client.cli.commands import count_of, print_json, print_table
from iez_client.learn.balance import Balance, Laid, balances
from iez_common.extents import parse_extents
from iez_common.knowledge import (
    Application,
    ObservedFile,
    PlannedLayout,
    Planning,
    Prediction,
)
from iez_common.units import format_size

if TYPE_CHECKING:
    from iez_common.database import Database

COLUMNS = (
    "file_name", "write_bytes", "stripe_size", "stripe_count", "mpi_rank", "ost_list", "extents",
)  # fmt: skip
_PLACED = frozenset({"placed", "shared"})


@dataclass(frozen=True, slots=True)
class Row:
    """A request, and what it was given."""

    prediction: Prediction
    layout: PlannedLayout

    @property
    def is_left(self) -> bool:
        return self.layout.stripe_count == 0


@dataclass(frozen=True, slots=True)
class BalanceLine:
    what: str  # `the last run, as placed` or `the plan`
    balance: Balance


def rows_of(predictions: Iterable[Prediction], layouts: Iterable[PlannedLayout]) -> list[Row]:
    return [Row(*pair) for pair in zip(predictions, layouts, strict=True)]


def balance_of(
    database: "Database", application: Application, planning: Planning, rows: Sequence[Row]
) -> list[BalanceLine]:
    """Of the plan, and of the newest run if it was placed."""
    planned = [_laid(row.layout) for row in rows]
    lines = [BalanceLine("planned", each) for each in balances(planned, planning.state)]
    for stored in database.runs(application, limit=1):
        files = database.files(stored.run.id)
        placed = [_laid(file) for file in files if file.outcome in _PLACED]
        lines += [
            BalanceLine("placed in the last run", b) for b in balances(placed, planning.state)
        ]
    return lines


def _laid(layout: PlannedLayout | ObservedFile) -> Laid:
    return Laid(
        layout.path,
        layout.write_bytes,
        layout.stripe_count,
        layout.stripe_size_bytes,
        layout.ost_list,
        layout.extents,
    )


def print_tables(rows: Sequence[Row], lines: Sequence[BalanceLine]) -> None:
    print("Table I: what the next run is expected to write")
    print_table(
        ("FILE NAME", "WRITE BYTES", "STRIPE COUNT", "MPI RANK"),
        [
            (
                row.prediction.path,
                str(row.prediction.write_bytes),
                str(row.prediction.stripe_count or row.layout.stripe_count or "-"),
                _rank(row),
            )
            for row in rows
        ],
    )
    print("\nTable II: where it will go")
    print_table(
        ("FILE NAME", "STRIPE SIZE", "STRIPE COUNT", "MPI RANK", "OST LIST"),
        [
            (
                row.layout.path,
                "-" if row.is_left else str(row.layout.stripe_size_bytes),
                "-" if row.is_left else str(row.layout.stripe_count),
                _rank(row),
                "left to Lustre" if row.is_left else _osts(row) or "any",
            )
            for row in rows
        ],
    )
    if lines:
        print()
    for line in lines:
        found = line.balance
        files = count_of(found.file_count, "file")
        print(
            f"OSTCost {found.ost_cost:.4f} {line.what} ({files}), "
            f"{found.round_robin_cost:.4f} by Lustre's round robin"
        )


def _rank(row: Row) -> str:
    return str(row.prediction.mpi_rank) if row.prediction.mpi_rank >= 0 else "-"


def _osts(row: Row) -> str:
    """As in the paper; the parts of a composite layout one after the other."""
    if not row.layout.extents:
        return _list(row.layout.ost_list)
    parts = []
    for each in parse_extents(row.layout.extents, row.layout.ost_list):
        end = "eof" if each.end_bytes is None else format_size(each.end_bytes)
        parts.append(f"{format_size(each.start_bytes)}-{end}: {_list(each.osts)}")
    return "; ".join(parts)


def _list(osts: Iterable[int]) -> str:
    return " ".join(map(str, osts))


def print_csv(rows: Sequence[Row]) -> None:
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)
    for row in rows:
        out.writerow(
            (
                row.prediction.path,
                row.prediction.write_bytes,
                row.layout.stripe_size_bytes or "",
                row.layout.stripe_count or row.prediction.stripe_count or "",
                row.prediction.mpi_rank,
                _list(row.layout.ost_list),
                row.layout.extents,
            )
        )


def print_tables_json(
    application: Application,
    planning: Planning,
    rows: Sequence[Row],
    lines: Sequence[BalanceLine],
) -> None:
    print_json(
        {
            "application": application.name,
            "made_s": planning.made_s,
            "requests": [
                {
                    "file_name": row.prediction.path,
                    "write_bytes": row.prediction.write_bytes,
                    "high_bytes": row.prediction.high_bytes,
                    "stripe_count": row.prediction.stripe_count or row.layout.stripe_count or None,
                    "mpi_rank": row.prediction.mpi_rank,
                    "method": row.prediction.method,
                    "error": row.prediction.error,
                }
                for row in rows
            ],
            "allocations": [
                {
                    "file_name": row.layout.path,
                    "stripe_size": row.layout.stripe_size_bytes or None,
                    "stripe_count": row.layout.stripe_count or None,
                    "mpi_rank": row.prediction.mpi_rank,
                    "ost_list": list(row.layout.ost_list),
                    "extents": row.layout.extents,
                }
                for row in rows
            ],
            "balance": [
                {
                    "what": line.what,
                    "file_system": line.balance.file_system,
                    "files": line.balance.file_count,
                    "ost_cost": line.balance.ost_cost,
                    "round_robin_ost_cost": line.balance.round_robin_cost,
                }
                for line in lines
            ],
        }
    )
