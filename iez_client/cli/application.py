"""What the commands about applications share."""

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from iez_client.cli.commands import Parser

if TYPE_CHECKING:
    from iez_common.database import Database
    from iez_common.knowledge import Application

_KEY_SHOWN = 12  # characters that tell an application from all others


def add_application(command: Parser, many: bool = False) -> None:
    command.add_argument(
        "application", metavar="APP", nargs="?" if many else None,
        help="its name as iez apps prints it, its program, or the beginning of its key",
    )  # fmt: skip


@contextmanager
def memory() -> "Iterator[Database]":
    """The database, which must be there."""
    from iez_client.cli.db import note_set_aside
    from iez_client.learn.memory import open_existing
    from iez_common import config

    with open_existing(config.load()) as database:
        note_set_aside(database)
        yield database


@contextmanager
def memory_if_any() -> "Iterator[Database | None]":
    """The database; None, with a note, where nothing can have been learned yet."""
    from iez_client.learn.memory import has_memory
    from iez_common import config

    if has_memory(config.load()):
        with memory() as database:
            yield database
        return
    note = "no run has been learned from yet (try: iez-run COMMAND)"
    print(f"iez: note: {note}", file=sys.stderr)
    yield None


@contextmanager
def memory_of(word: str) -> "Iterator[tuple[Database, Application]]":
    """The database and the application that is meant."""
    from iez_client.learn.memory import find_application

    with memory() as database:
        yield database, find_application(database, word)


def word_for(application: "Application") -> str:
    """What names it in a command that is proposed: its key where its name cannot be typed, or
    would be taken for an option."""
    name = application.name
    can_be_typed = name.isprintable() and not name.startswith("-")
    return shlex.quote(name) if can_be_typed else application.key[:_KEY_SHOWN]


def format_time(time_s: float | None) -> str:
    return "-" if not time_s else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time_s))
