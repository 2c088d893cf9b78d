"""`iez db export`: everything in the database, as JSON lines."""

import argparse
import sys
from pathlib import Path

from iez_client.cli.application import memory
from iez_client.cli.commands import Parser, count_of


def parser(command: str) -> Parser:
    export = Parser(
        command,
        "Writes all that is remembered as JSON lines, for a copy that is kept or for\n"
        "`iez db import` into another database, on a server or in a file.",
        "  iez db export -o iez.jsonl\n  iez db export | gzip > iez.jsonl.gz",
    )
    export.add_argument("-o", "--output", metavar="FILE", help="file to write; default: print")
    export.set_defaults(run=run_export)
    return export


def run_export(options: argparse.Namespace) -> int:
    from iez_common.atomic import replacing

    with memory() as database:
        if options.output is None:
            database.export_to(sys.stdout.buffer)
            return 0
        # For this user alone, as the database is.
        with replacing(Path(options.output), 0o600) as file:
            count = database.export_to(file)
    print(f"{options.output}: {count_of(count, 'record')}")
    return 0
