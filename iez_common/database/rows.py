"""Rows: records of knowledge.py to rows and back, for the tables with many rows. A row has the
order of its table's columns, and values as the driver takes and gives them."""

import math
from typing import TYPE_CHECKING, Any

from iez_common.database.columns import (
    key_of,
    pack_osts,
    pack_values,
    to_bytes,
    to_text,
    unpack_osts,
    unpack_values,
)
from iez_common.knowledge import ObservedFile, Outcome, PlannedLayout, Prediction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iez_common.database.bulk import Row

FILE_COLUMNS = (
    "path", "template_id", "field_values", "mpi_rank", "write_bytes", "first_write_s", "writers",
    "access_bytes", "stripe_count", "stripe_size_bytes", "ost_list", "outcome",
    "extents",
)  # fmt: skip
PREDICTION_COLUMNS = (
    "path", "template_id", "mpi_rank", "turn", "write_bytes", "high_bytes", "stripe_count",
    "writers", "access_bytes", "method", "error",
)  # fmt: skip
LAYOUT_COLUMNS = (
    "path", "mpi_rank", "turn", "write_bytes", "stripe_count", "stripe_size_bytes", "ost_list",
    "extents",
)  # fmt: skip


def file_row(run_id: int, ordinal: int, file: ObservedFile) -> "Row":
    path = to_bytes(file.path)
    return (
        run_id,
        ordinal,
        key_of(path),
        path,
        file.template_id,
        pack_values(file.field_values),
        file.mpi_rank,
        file.write_bytes,
        file.first_write_s,
        file.writers,
        file.access_bytes,
        file.stripe_count,
        file.stripe_size_bytes,
        pack_osts(file.ost_list),
        file.outcome,
        file.extents,
    )


def file_of(row: "Sequence[Any]") -> ObservedFile:
    """From the values of FILE_COLUMNS; more may follow them."""
    values = list(row[: len(FILE_COLUMNS)])
    values[0] = to_text(values[0])
    values[2] = unpack_values(values[2])
    values[-3] = unpack_osts(values[-3])
    return ObservedFile(*values)


def outcome_row(run_id: int, ordinal: int, outcome: Outcome) -> "Row":
    return (run_id, ordinal, outcome.outcome, to_bytes(outcome.why), outcome.file_count)


def prediction_row(planning_id: int, ordinal: int, each: Prediction) -> "Row":
    return (
        planning_id,
        ordinal,
        to_bytes(each.path),
        each.template_id,
        each.mpi_rank,
        each.turn,
        each.write_bytes,
        each.high_bytes,
        each.stripe_count,
        each.writers,
        each.access_bytes,
        each.method,
        each.error if math.isfinite(each.error) else None,
    )


def prediction_of(row: "Sequence[Any]") -> Prediction:
    """From the values of PREDICTION_COLUMNS; more may follow them."""
    values = list(row[: len(PREDICTION_COLUMNS)])
    values[0] = to_text(values[0])
    if values[-1] is None:
        values[-1] = math.inf
    return Prediction(*values)


def layout_row(planning_id: int, ordinal: int, layout: PlannedLayout) -> "Row":
    path = to_bytes(layout.path)
    return (
        planning_id,
        ordinal,
        key_of(path),
        path,
        layout.mpi_rank,
        layout.turn,
        layout.write_bytes,
        layout.stripe_count,
        layout.stripe_size_bytes,
        pack_osts(layout.ost_list),
        layout.extents,
    )


def layout_of(row: "Sequence[Any]") -> PlannedLayout:
    """From the values of LAYOUT_COLUMNS; more may follow them."""
    values = list(row[: len(LAYOUT_COLUMNS)])
    values[0] = to_text(values[0])
    values[-2] = unpack_osts(values[-2])
    return PlannedLayout(*values)
