"""`iez db import`: what another database has exported."""

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from iez_client.cli.commands import Parser, count_of
from iez_client.cli.db import made_database
from iez_common.errors import ExportError, InputError, reason


def parser(command: str) -> Parser:
    importer = Parser(
        command,
        "Adds what `iez db export` wrote to the database. What is there already stays as it\n"
        "is, so the same file can be imported twice. If a line makes no sense, nothing is\n"
        "imported.",
        "  iez db import iez.jsonl",
    )
    importer.add_argument("file", metavar="FILE", help="what iez db export wrote")
    importer.set_defaults(run=run_import)
    return importer


def run_import(options: argparse.Namespace) -> int:
    with _seekable(options.file) as stream, made_database() as database:
        try:
            added = database.import_from(stream)
        except ExportError as error:
            raise ExportError(f"{options.file}: {error.message}", error.hint) from None
        place = database.place
    counts = (
        count_of(added.application_count, "application"),
        count_of(added.run_count, "run"),
        count_of(added.file_count, "file"),
        count_of(added.planning_count, "planning"),
    )
    print(f"{place}: {', '.join(counts)} added")
    return 0


@contextmanager
def _seekable(name: str) -> Iterator[BinaryIO]:
    """The file; a copy of it where it is a pipe: the import may have to begin again."""
    try:
        file = Path(name).open("rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise InputError(f"{name} cannot be read: {reason(error)}") from None
    with file:
        if file.seekable():
            yield file
            return
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(file, copy)
            yield copy
