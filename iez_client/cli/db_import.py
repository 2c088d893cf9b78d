"""`iez db import`: what another database has exported."""

import argparse
import gzip
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, BinaryIO

from iez_client.cli.commands import Parser, count_of
from iez_client.cli.db import made_database
from iez_common.errors import ExportError, InputError, reason

_STDIN = "-"
_GZIP_MAGIC = b"\x1f\x8b"


def parser(command: str) -> Parser:
    importer = Parser(
        command,
        "Adds what `iez db export` wrote to the database. What is there already stays as it\n"
        "is, so the same file can be imported twice. If a line makes no sense, nothing is\n"
        "imported.",
        "  iez db import iez.jsonl.gz\n  IEZ_DATABASE=old.db iez db export | iez db import -",
    )
    importer.add_argument(
        "file", metavar="FILE",
        help="what iez db export wrote, perhaps compressed by gzip; -: standard input",
    )  # fmt: skip
    importer.set_defaults(run=run_import)
    return importer


def run_import(options: argparse.Namespace) -> int:
    name = "standard input" if options.file == _STDIN else options.file
    try:
        with _export(options.file) as stream, made_database() as database:
            added = database.import_from(stream)
            place = database.place
    except ExportError as error:
        raise ExportError(f"{name}: {error.message}", error.hint) from None
    counts = (
        count_of(added.application_count, "application"),
        count_of(added.run_count, "run"),
        count_of(added.file_count, "file"),
        count_of(added.planning_count, "planning"),
    )
    print(f"{place}: {', '.join(counts)} added")
    return 0


@contextmanager
def _export(name: str) -> Iterator[BinaryIO]:
    """The lines, as a file in which the import can begin again: if need be, as a copy."""
    try:
        file = _open(name)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {reason(error)}") from None
    with file:
        is_packed = file.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
        if file.seekable() and not is_packed:
            yield file
            return
        with tempfile.TemporaryFile() as copy:
            (_unpack if is_packed else shutil.copyfileobj)(file, copy)
            yield copy


def _open(name: str) -> BufferedReader:
    return open(0, "rb", closefd=False) if name == _STDIN else Path(name).open("rb")


def _unpack(file: BinaryIO, copy: IO[bytes]) -> None:
    try:
        with gzip.open(file) as unpacked:
            shutil.copyfileobj(unpacked, copy)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise ExportError("it is compressed, and damaged") from None
