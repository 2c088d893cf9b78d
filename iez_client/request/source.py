"""Source: a CSV or JSON file of what will be written in, the files out. docs/allocate.md describes
both forms; the tables of `iez parse` are taken as well."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from iez_client.plan.template import parse
from iez_client.request import traced
from iez_client.request.row import WRITERS_MAX, Row, Wanted
from iez_common.allocate.columns import STRIPE_COUNT_MAX
from iez_common.errors import InputError, SourceError, reason
from iez_common.records import Request

REQUIRED = ("path", "write_bytes")
COLUMNS = (
    *REQUIRED, "stripe_count", "writers", "access_bytes", "high_bytes", "pool", "overstripe",
)  # fmt: skip
_JSON_FORM = '{"files": [{"path": "…", "write_bytes": "4G"}, …]}'


@dataclass(frozen=True, slots=True)
class Asked:
    """What the file asks for."""

    files: tuple[Wanted, ...]
    helper_count: int = 0  # of MPI libraries, left out
    existing_count: int = 0  # that the traced run did not create, left out


def read_requests(path: Path) -> Asked:
    """Reads the file; its name decides between CSV and JSON."""
    try:
        # Names need not be UTF-8: other bytes travel as surrogates and come out as they were.
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            is_json = path.suffix.lower() == ".json"
            asked = _asked(_json_rows(file, path) if is_json else _csv_rows(file, path))
    except OSError as error:
        raise InputError(f"{path}: {reason(error)}", "name a CSV or JSON file") from None
    if not asked.files:
        raise SourceError(
            f"{path}: it names no file to be written", f"a header {','.join(COLUMNS)}"
        )
    return asked


def _asked(rows: Iterator[Row]) -> Asked:
    files: list[Wanted] = []
    places: dict[bytes, int] = {}  # of exact paths, in `files`
    helpers = existing = 0
    for row in rows:
        is_traced = traced.MARK in row.cells
        if is_traced and traced.is_helper(row):
            helpers += 1
            continue
        if is_traced and not traced.is_created(row):
            existing += 1
            continue
        file = traced.wanted_of(row) if is_traced else _wanted(row)
        path = file.name.path
        place = None if path is None else places.setdefault(path, len(files))
        if place is None or place == len(files):
            files.append(file)
        elif not is_traced:
            raise row.trouble(f"{file.path} is also in {files[place].where}", "keep one of them")
        elif file.request.write_bytes > files[place].request.write_bytes:
            files[place] = file  # one temporary name served for several files
    return Asked(tuple(files), helpers, existing)


def _wanted(row: Row) -> Wanted:
    path = row.text("path")
    try:
        name = parse(path)
    except SourceError as error:
        raise row.trouble(error.message, error.hint or "name a file on Lustre") from None
    return Wanted(
        name,
        row.where,
        Request(
            write_bytes=row.size_bytes("write_bytes"),
            stripe_count=_stripe_count(row),
            writers=row.integer("writers", 1, 1, WRITERS_MAX),
            access_bytes=row.size_bytes("access_bytes", 0),
            high_bytes=row.size_bytes("high_bytes", 0),
            overstripe=row.flag("overstripe"),
            pool=row.text("pool").strip(),
            name=name.text,
        ),
    )


def _stripe_count(row: Row) -> int:
    value = row.cells.get("stripe_count")
    if isinstance(value, str) and value.strip().lower() == "auto":
        return 0
    return row.integer("stripe_count", 0, 0, STRIPE_COUNT_MAX)


def _csv_rows(file: TextIO, path: Path) -> Iterator[Row]:
    lines = csv.reader(file, strict=True)
    try:
        header = [cell.strip() for cell in next(lines, [])]
        _check_header(header, f"{path}, line 1")
        for cells in lines:
            if not cells:
                continue
            where = f"{path}, line {lines.line_num}"
            if len(cells) != len(header):
                raise SourceError(
                    f"{where}: {len(cells)} cells under {len(header)} columns",
                    "quote a path that contains a comma",
                )
            yield Row(where, dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise SourceError(
            f"{path}, line {lines.line_num}: {error}", "the file is CSV; in JSON, FILE.json"
        ) from None


def _check_header(header: list[str], where: str) -> None:
    is_traced = traced.MARK in header
    hint = "the whole CSV of iez parse" if is_traced else f"columns are {', '.join(COLUMNS)}"
    for name in header:
        if name not in COLUMNS and not is_traced:
            raise SourceError(f"{where}: unknown column {name!r}", hint)
        if header.count(name) > 1:
            raise SourceError(f"{where}: the column {name} is there twice", hint)
    for name in traced.NEEDED if is_traced else REQUIRED:
        if name not in header:
            raise SourceError(f"{where}: the column {name} is missing", hint)


def _json_rows(file: TextIO, path: Path) -> Iterator[Row]:
    try:
        whole = json.load(file)
    except json.JSONDecodeError as error:
        raise SourceError(f"{path}, line {error.lineno}: {error.msg}", _JSON_FORM) from None
    except (RecursionError, ValueError):
        what = f"{path}: it is nested too deeply, or a number is too long"
        raise SourceError(what, _JSON_FORM) from None
    files = whole.get("files") if isinstance(whole, dict) else None
    if not isinstance(files, list):
        raise SourceError(f"{path}: no list of files", _JSON_FORM)
    for number, cells in enumerate(files, 1):
        where = f"{path}, file {number}"
        if not isinstance(cells, dict):
            raise SourceError(f"{where}: something stands where {{…}} is expected", _JSON_FORM)
        for key in cells:
            if key not in COLUMNS and traced.MARK not in cells:
                raise SourceError(f"{where}: unknown key {key!r}", f"one of: {', '.join(COLUMNS)}")
        yield Row(where, cells)
