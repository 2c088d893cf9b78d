"""What the commands share: parsers that fail as the rest of iez does, tables, JSON."""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from iez_common.errors import UsageError
from iez_common.units import parse_size_bytes

SCHEMA = 1
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Parser(argparse.ArgumentParser):
    """Raises UsageError in place of printing and leaving; its help ends with an example."""

    def __init__(self, command: str, description: str, example: str) -> None:
        super().__init__(
            prog=f"iez {command}",
            description=description,
            epilog=f"example:\n{example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, f"{self.prog} --help")


def size_option(text: str) -> int:
    """The type of an option that is a size."""
    try:
        return parse_size_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def count_of(count: int, thing: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def shown(name: str) -> str:
    """A name on one line: control characters as Python writes them, `\\n` for a new line."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), name)


def print_json(values: dict[str, object]) -> None:
    """Machine-readable output: `schema` tells a reader what to expect."""
    print(json.dumps({"schema": SCHEMA, **values}, indent=2))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal; aligned columns in a pipe."""
    rows = [[shown(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _print_rich(columns, rows)
        return
    widths = [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]
    for row in (columns, *rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(line.rstrip())


def _print_rich(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        # Text, not markup: a name may contain [brackets]. Bytes that are no text become �.
        table.add_row(*(Text(cell.encode("utf-8", "replace").decode()) for cell in row))
    Console().print(table)
