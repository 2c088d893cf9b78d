"""Session: short transactions on one database, tried again when another process is in the way."""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa

from iez_common.database import trouble
from iez_common.database.address import Address, SqliteFile
from iez_common.database.engine import WRITING, make_engine
from iez_common.database.sqlite_file import set_aside_if_damaged
from iez_common.errors import DatabaseDamagedError, DatabaseWriteError

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

Result = TypeVar("Result")
_PAUSE_S = 0.05
_COLLISIONS_MAX = 20  # of unique keys, with other writers; more is no coincidence


class Session:
    """The way to a database for all that reads or writes in it."""

    def __init__(self, address: Address, patience_s: float, clock: Callable[[], float]) -> None:
        self.address = address
        self.clock = clock
        self.set_aside: Path | None = None
        self._patience_s = patience_s
        self._engine = make_engine(address, patience_s)

    def close(self) -> None:
        self._engine.dispose()

    def read(self, work: Callable[["Connection"], Result]) -> Result:
        """Runs `work` in a transaction that writes nothing."""
        return self._run(work, writing=False)

    def write(self, work: Callable[["Connection"], Result]) -> Result:
        """Runs `work` in a transaction. It may be run again from its start: it must not change
        anything but the database."""
        return self._run(work, writing=True)

    def vacuum(self) -> None:
        """Gives the space of deleted rows back. What hinders it costs space, nothing else."""
        if isinstance(self.address, SqliteFile):
            # Not by a connection of SQLAlchemy, which would begin a transaction first.
            connection = self._engine.raw_connection()
            with contextlib.closing(connection), contextlib.suppress(sqlite3.OperationalError):
                connection.cursor().execute("VACUUM")

    def _run(self, work: Callable[["Connection"], Result], writing: bool) -> Result:
        deadline_s = time.monotonic() + self._patience_s
        collisions = 0
        while True:
            try:
                with self._transaction(writing) as connection:
                    return work(connection)
            except sa.exc.IntegrityError as error:
                collisions += 1
                if not writing or collisions > _COLLISIONS_MAX:
                    raise trouble.translate(error, self.address) from None
            except sa.exc.DBAPIError as error:
                if not trouble.is_locked(error) or time.monotonic() > deadline_s:
                    raise self._explained(error) from None
            time.sleep(_PAUSE_S)

    @contextlib.contextmanager
    def _transaction(self, writing: bool) -> Iterator["Connection"]:
        with (
            self._engine.connect().execution_options(**{WRITING: writing}) as connection,
            connection.begin(),
        ):
            yield connection

    def _explained(self, error: sa.exc.DBAPIError) -> Exception:
        """Damage that shows up in the middle is set aside, so that it is not there next time."""
        if isinstance(self.address, SqliteFile) and trouble.is_damage(error):
            path = self.address.path
            self._engine.dispose()
            with contextlib.suppress(DatabaseWriteError):
                if aside := set_aside_if_damaged(path, self.clock()):
                    self.set_aside = aside
                    return DatabaseDamagedError(
                        f"{path} is damaged; it was renamed to {aside}",
                        "the same again: it begins with an empty one",
                    )
        return trouble.translate(error, self.address)
