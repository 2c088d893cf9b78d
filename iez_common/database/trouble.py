"""Trouble: what a database driver says, as one of our errors; which of it passes by waiting."""

import sqlite3

import sqlalchemy as sa

from iez_common.database.address import Address, Server
from iez_common.errors import (
    DatabaseDamagedError,
    DatabaseError,
    DatabaseForeignError,
    DatabaseUnavailableError,
    DatabaseWriteError,
)

_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_LOCKING_FAILED = frozenset(
    {
        sqlite3.SQLITE_IOERR_LOCK,
        sqlite3.SQLITE_IOERR_RDLOCK,
        sqlite3.SQLITE_IOERR_UNLOCK,
        sqlite3.SQLITE_IOERR_CHECKRESERVEDLOCK,
    }
)
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_REFUSED = frozenset({1044, 1045, 1129, 1130, 1142, 1698})  # accounts and what they may do
_SERVER_LOCKED = frozenset({1205, 1213})  # waited too long, deadlock
_SERVER_FULL = frozenset({1021, 1030, 1114})
_SERVER_READ_ONLY = frozenset({1290, 1792, 1836})
_AWAY = "check the address and that the server runs"
_NO_DATABASE = 1049
_NO_TABLE = 1146
_NO_OWNER = 1452  # of a foreign key


def is_locked(error: sa.exc.DBAPIError) -> bool:
    """Another one was in the way; the same transaction can be tried again."""
    return _code(error) in _SERVER_LOCKED or _primary(error) in _LOCKED or _is_lock_trouble(error)


def is_damage(error: sa.exc.DBAPIError) -> bool:
    """The contents of an SQLite file are broken."""
    return _primary(error) in _DAMAGED


def translate(error: sa.exc.SQLAlchemyError, address: Address) -> DatabaseError:
    """The error for a person. Never with SQL, values or a password."""
    if not isinstance(error, sa.exc.DBAPIError):
        return DatabaseError(f"{address.place}: {type(error).__name__}")
    if _code(error) == _NO_OWNER or _details(error) == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
        return DatabaseError(f"{address.place}: what this belongs to was deleted meanwhile")
    if isinstance(address, Server):
        return _of_server(error, address)
    return _of_sqlite(error, address.place)


def _of_sqlite(error: sa.exc.DBAPIError, place: str) -> DatabaseError:
    words = str(error.orig)
    match _primary(error):
        case _ if _is_lock_trouble(error):
            return DatabaseUnavailableError(
                f"{place} cannot be locked: {words}", "IEZ_DATABASE=FILE on another file system"
            )
        case code if code in _LOCKED:
            return DatabaseUnavailableError(
                f"{place} is locked by another process", "again in a moment"
            )
        case code if code in _DAMAGED:
            return DatabaseDamagedError(
                f"{place} is damaged: {words}", f"mv {place} {place}.damaged"
            )
        case sqlite3.SQLITE_FULL:
            return DatabaseWriteError(f"{place} cannot grow: the disk is full", "iez db prune")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return DatabaseWriteError(f"{place} is read-only", "IEZ_DATABASE=FILE for another")
        case sqlite3.SQLITE_CANTOPEN:
            return DatabaseWriteError(f"{place} cannot be opened", f"ls -ld {place}")
        case sqlite3.SQLITE_IOERR:
            return DatabaseWriteError(
                f"{place} cannot be written: {words}", "look for a quota or a limit of file sizes"
            )
    return DatabaseError(f"{place}: {words}")


def _of_server(error: sa.exc.DBAPIError, address: Server) -> DatabaseError:
    place = address.place
    code = _code(error)
    words = " ".join(str(getattr(error.orig, "msg", None) or error.orig).split())
    if "Timeout" in type(error.orig).__name__:
        return DatabaseUnavailableError(f"{place} does not answer in time", _AWAY)
    if address.password:
        words = words.replace(address.password, "***")
    if code in _REFUSED:
        return DatabaseUnavailableError(
            f"{place} refuses: {words}", "check the user, the password file and the grants"
        )
    if code == _NO_DATABASE:
        return DatabaseUnavailableError(f"{place} does not exist", "ask the site to create it")
    if code in _SERVER_LOCKED:
        return DatabaseUnavailableError(f"{place} is busy: {words}", "again in a moment")
    if code in _SERVER_FULL:
        return DatabaseWriteError(f"{place} is full: {words}", "iez db prune")
    if code in _SERVER_READ_ONLY:
        return DatabaseWriteError(f"{place} is read-only: {words}")
    if code == _NO_TABLE:
        return DatabaseForeignError(f"{place} lacks a table: {words}", "iez db upgrade")
    if isinstance(error, sa.exc.InterfaceError | sa.exc.OperationalError) or code is None:
        return DatabaseUnavailableError(f"{place} does not answer: {words}", _AWAY)
    return DatabaseError(f"{place}: {words}")


def _code(error: sa.exc.DBAPIError) -> int | None:
    """The server's number of an error."""
    code: int | None = getattr(error.orig, "errno", None)
    return code


def _primary(error: sa.exc.DBAPIError) -> int | None:
    """SQLite's number of an error, without its details."""
    code = _details(error)
    return None if code is None else code & 0xFF


def _details(error: sa.exc.DBAPIError) -> int | None:
    code: int | None = getattr(error.orig, "sqlite_errorcode", None)
    return code


def _is_lock_trouble(error: sa.exc.DBAPIError) -> bool:
    return _details(error) in _LOCKING_FAILED
