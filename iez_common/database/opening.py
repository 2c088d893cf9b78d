"""Opening: finds out what a database is, and makes or upgrades its tables where that is safe."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from iez_common.database import migrate
from iez_common.database.address import SqliteFile, parse_address
from iez_common.database.database import Database
from iez_common.database.session import Session
from iez_common.database.sqlite_file import make_private
from iez_common.errors import (
    DatabaseDamagedError,
    DatabaseForeignError,
    DatabaseUnavailableError,
    DatabaseWriteError,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

PATIENCE_S = 30.0
_ATTEMPTS = 4
_PAUSE_S = 0.05
_LOCK = sa.func.get_lock("iez_upgrade", PATIENCE_S)
_UNLOCK = sa.func.release_lock("iez_upgrade")


def open_database(
    url: str,
    *,
    upgrade: bool = False,
    patience_s: float = PATIENCE_S,
    clock: Callable[[], float] = time.time,
    migrations: Path = migrate.MIGRATIONS,
) -> Database:
    """Opens the database of an address. An SQLite file is made, upgraded, and set aside if it is
    damaged; the tables of a server are made or upgraded only with `upgrade`. `patience_s` is how
    long to wait for others."""
    address = parse_address(url)
    session = Session(address, patience_s, clock)
    try:
        if isinstance(address, SqliteFile):
            _prepare_file(session, address.path, migrations)
        else:
            _prepare_server(session, upgrade, migrations)
    except BaseException:
        session.close()
        raise
    return Database(session)


def _prepare_file(session: Session, path: Path, migrations: Path) -> None:
    for attempt in range(_ATTEMPTS):
        make_private(path)
        try:
            if session.read(lambda connection: _needs_upgrade(connection, session, migrations)):
                session.write(lambda connection: _upgrade_file(connection, session, migrations))
        except (DatabaseDamagedError, DatabaseWriteError):
            # A damaged file is set aside by now; another process may just have done that to the
            # file which this one had opened, or was about to.
            if attempt == _ATTEMPTS - 1:
                raise
            session.close()
            time.sleep(_PAUSE_S)
        else:
            return


def _upgrade_file(connection: "Connection", session: Session, migrations: Path) -> None:
    # Another process may have done it while this one waited for the lock.
    if _needs_upgrade(connection, session, migrations):
        migrate.upgrade(connection, migrations)


def _prepare_server(session: Session, upgrade: bool, migrations: Path) -> None:
    if not session.read(lambda connection: _needs_upgrade(connection, session, migrations)):
        return
    if upgrade:
        session.write(lambda connection: _upgrade_server(connection, session, migrations))
        return
    revision = session.read(migrate.revision_of)
    lacks = f"has the tables of an older iez ({revision})" if revision else "has no tables of iez"
    raise DatabaseForeignError(f"{session.address.place} {lacks}", "iez db upgrade")


def _upgrade_server(connection: "Connection", session: Session, migrations: Path) -> None:
    if connection.scalar(sa.select(_LOCK)) != 1:
        raise DatabaseUnavailableError(
            f"{session.address.place} is being upgraded by another process", "again in a moment"
        )
    try:
        _upgrade_file(connection, session, migrations)
    finally:
        connection.execute(sa.select(_UNLOCK))


def _needs_upgrade(connection: "Connection", session: Session, migrations: Path) -> bool:
    """Whether tables are missing or old; what is not ours or of a newer iez is refused."""
    place = session.address.place
    known = migrate.known_revisions(migrations)
    revision = migrate.revision_of(connection)
    if revision is None:
        if migrate.is_empty(connection):
            return True
        raise DatabaseForeignError(
            f"{place} holds the tables of something else; nothing was changed",
            "IEZ_DATABASE with the name of a new file or database",
        )
    if revision and revision not in known:
        raise DatabaseForeignError(
            f"{place} was made by a newer iez: schema {revision}, this one knows {known[-1]}",
            "a newer iez, or IEZ_DATABASE=FILE for another database",
        )
    return revision != known[-1]
