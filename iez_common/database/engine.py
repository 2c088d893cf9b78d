"""Engine: connections as iez wants them, to a file or to a server."""

import sqlite3
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy import event

from iez_common.database.address import Address, Server, SqliteFile
from iez_common.database.sqlite_file import connect

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Engine

CONNECT_TIMEOUT_S = 5
_ANSWER_TIMEOUT_S = 120
_PAGE_BYTES = 16384  # of a new SQLite file: a quarter faster to fill than with SQLite's own 4096
_CACHE_KIB = 64 * 1024  # of SQLite, a connection; the index of 10^6 paths fits in
WRITING = "iez_writing"  # execution option of a connection that is going to write


def make_engine(address: Address, patience_s: float) -> "Engine":
    """An engine; nothing is opened yet. `patience_s` is how long to wait for a lock."""
    if isinstance(address, SqliteFile):
        return _sqlite_engine(address, patience_s)
    return _server_engine(address, patience_s)


def _sqlite_engine(address: SqliteFile, patience_s: float) -> "Engine":
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(address.path)),
        creator=lambda: connect(address.path, patience_s),
        hide_parameters=True,
    )

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _: object) -> None:
        # None of these touches the file: trouble with it shows up in the first query.
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")

    @event.listens_for(engine, "begin")
    def begin(connection: "Connection") -> None:
        # The lock for writing is taken at once: a reader that turns writer late can wait for
        # another one who waits for it.
        writing = connection.get_execution_options().get(WRITING)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _server_engine(address: Server, patience_s: float) -> "Engine":
    return sa.create_engine(
        sa.URL.create(
            "mysql+mysqlconnector",
            username=address.user,
            password=address.password,
            host=address.host,
            port=address.port,
            database=address.name,
        ),
        hide_parameters=True,
        # Rows that another one has just written must be seen after a collision with them.
        isolation_level="READ COMMITTED",
        pool_pre_ping=True,
        paramstyle="format",  # bulk.py hands over tuples
        connect_args={
            "use_pure": True,
            "charset": "utf8mb4",
            "collation": "utf8mb4_bin",
            "connection_timeout": CONNECT_TIMEOUT_S,
            "read_timeout": _ANSWER_TIMEOUT_S,
            "write_timeout": _ANSWER_TIMEOUT_S,
            "init_command": f"SET SESSION innodb_lock_wait_timeout = {max(1, round(patience_s))}",
        },
    )
