"""Source: a CSV or JSON file in, a Draft out. docs/plan-file.md describes both forms."""

import csv
import re
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from iez_client.filesystems import FileSystem
from iez_client.plan import json_source
from iez_client.plan.draft import Draft
from iez_client.plan.template import PATH_BYTES_MAX, PLAIN, encode, parse
from iez_common.errors import IezError, InputError, LayoutError, SourceError, reason
from iez_common.layout import ALL_STRIPES, Layout, plain
from iez_common.units import parse_size_bytes

if TYPE_CHECKING:
    import _csv

COLUMNS = ("path", "stripe_count", "stripe_size", "ost_list", "pool")


def read_source(path: Path, file_systems: Sequence[FileSystem] = ()) -> Draft:
    """Reads a file of planned layouts; its name decides between CSV and JSON."""
    draft = Draft(str(path), file_systems=tuple(file_systems))
    try:
        # Names need not be UTF-8: other bytes travel as surrogates and come out as they were.
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            if path.suffix.lower() == ".json":
                json_source.read_json(file, draft)
            else:
                read_csv(file, draft)
    except OSError as error:
        raise InputError(f"{path}: {reason(error)}") from None
    except (ValueError, OverflowError) as error:
        # A number or a name that nothing can hold; the checks of single values come before.
        raise SourceError(f"{path}: {error}") from None
    return draft


def read_csv(file: TextIO, draft: Draft) -> None:
    """Reads rows under the header `path,stripe_count,stripe_size,ost_list,pool`."""
    rows = csv.reader(file, strict=True)
    try:
        _read_rows(rows, draft)
    except csv.Error as error:
        raise SourceError(f"{draft.where(rows.line_num)}: {error}") from None


def _read_rows(rows: "_csv.Reader", draft: Draft) -> None:
    header = [cell.strip() for cell in next(rows, [])]
    _check_header(header, draft)
    path_of = itemgetter(header.index("path"))
    cells_of = itemgetter(*(header.index(name) for name in COLUMNS[1:]))
    known: dict[tuple[str, ...], int] = {}
    width = len(header)
    is_plain = PLAIN.fullmatch
    for row in rows:
        if len(row) != width:
            if not row:
                continue
            raise SourceError(
                f"{draft.where(rows.line_num)}: {len(row)} cells under {width} columns",
                "quote a path that contains a comma",
            )
        cells = cells_of(row)
        reference = known.get(cells)
        line = rows.line_num
        try:
            if reference is None:
                reference = known[cells] = draft.add_layout(parse_cells(*cells))
            path = path_of(row)
            if is_plain(path) and len(path) <= PATH_BYTES_MAX // 4:
                draft.add_path(encode(path), reference, line)
            else:
                draft.add_name(parse(path), reference, line)
        except IezError as error:
            raise SourceError(f"{draft.where(line)}: {error.message}", error.hint) from None


def _check_header(header: list[str], draft: Draft) -> None:
    expected = ",".join(COLUMNS)
    for name in header:
        if name not in COLUMNS:
            raise SourceError(
                f"{draft.where(1)}: unknown column {name!r}", f"the header is {expected}"
            )
    for name in COLUMNS:
        if header.count(name) != 1:
            what = "is missing" if name not in header else "is there twice"
            raise SourceError(
                f"{draft.where(1)}: the column {name} {what}", f"the header is {expected}"
            )


def parse_cells(stripe_count: str, stripe_size: str, ost_list: str, pool: str) -> Layout:
    """The layout that four cells describe; an empty one means the default."""
    try:
        size_bytes = parse_size_bytes(stripe_size) if stripe_size.strip() else 0
    except ValueError as error:
        raise LayoutError(f"stripe_size: {error}") from None
    count = 0
    if stripe_count.strip():
        count = _integer("stripe_count", stripe_count.strip())
        count = ALL_STRIPES if count == -1 else count
    osts = tuple(_integer("ost_list", word) for word in ost_list.split())
    return plain(count, size_bytes, osts, pool.strip())


def _integer(column: str, text: str) -> int:
    if not re.fullmatch(r"-?\d+", text, re.ASCII):
        hint = "OSTs are numbers with blanks between" if column == "ost_list" else ""
        raise LayoutError(f"{column}: {text!r} is not a number", hint)
    return int(text)
