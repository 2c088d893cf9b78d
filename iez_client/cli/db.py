"""What the commands `iez db …` share."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iez_common.database import Database


@contextmanager
def made_database(upgrade: bool = False) -> "Iterator[Database]":
    """The database; a file is made if it is not there yet."""
    from iez_common import config
    from iez_common.database import open_database

    with open_database(config.database_url(config.load()), upgrade=upgrade) as database:
        note_set_aside(database)
        yield database


def note_set_aside(database: "Database") -> None:
    """One line about a damaged file that was renamed."""
    if database.set_aside:
        note = f"the database was damaged; it is now {database.set_aside}, and a new one begun"
        print(f"iez: note: {note}", file=sys.stderr)
