"""Bulk: many rows in and out, in short transactions, without the cost of an object a value."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from iez_common.database.session import Session

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

Value = int | float | str | bytes | None
Row = tuple[Value, ...]
BATCH_ROWS = 20_000
_STATEMENT_CHARACTERS = 4 << 20  # a server takes 16 MiB at once


def batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Rows in groups for one transaction each."""
    iterator = iter(rows)
    while batch := list(islice(iterator, BATCH_ROWS)):
        yield batch


def insert_one(connection: "Connection", statement: sa.Insert) -> int:
    """Inserts a row and gives the id that the database gave to it."""
    key = connection.execute(statement).inserted_primary_key
    return int(key[0]) if key else 0


def insert_rows(connection: "Connection", table: sa.Table, rows: list[Row]) -> None:
    """Inserts rows that have a value for every column, as the driver takes it."""
    if connection.dialect.name == "sqlite":
        statement = str(table.insert().compile(dialect=connection.dialect))
        connection.exec_driver_sql(statement, rows)
        return
    # The driver would take ten times as long to put the values into the statement.
    start = f"INSERT INTO {table.name} ({', '.join(table.c.keys())}) VALUES "
    parts: list[str] = []
    size = 0
    for row in rows:
        parts.append(f"({','.join([_LITERALS[type(value)](value) for value in row])})")
        size += len(parts[-1])
        if size >= _STATEMENT_CHARACTERS:
            connection.exec_driver_sql(start + ",".join(parts))
            parts, size = [], 0
    if parts:
        connection.exec_driver_sql(start + ",".join(parts))


# Text in hexadecimal digits: there is nothing in it to be quoted or mistaken for SQL.
_LITERALS: dict[type, Callable[[Any], str]] = {
    int: str,
    float: repr,
    bytes: lambda value: f"X'{value.hex()}'",
    str: lambda value: f"_utf8mb4 X'{value.encode().hex()}'",
    type(None): lambda _: "NULL",
}


def insert_in_batches(session: Session, table: sa.Table, rows: Iterable[Row]) -> int:
    """Inserts any number of rows, each batch in a transaction of its own."""
    count = 0
    for batch in batches(rows):
        session.write(partial(insert_rows, table=table, rows=batch))
        count += len(batch)
    return count


def read_in_batches(
    session: Session, table: sa.Table, owner_id: int, columns: Iterable[str]
) -> Iterator[Row]:
    """The rows of a run or planning in their order, as the driver gives them. No transaction is
    open while the caller works: such rows do not change once they are complete."""
    owner, ordinal = table.primary_key.columns
    query = sa.select(*plain(table, columns), ordinal).order_by(ordinal).limit(BATCH_ROWS)
    query = query.where(owner == owner_id)
    last = -1
    while True:
        rows = session.read(partial(_fetch, query=query.where(ordinal > last)))
        yield from rows
        if len(rows) < BATCH_ROWS:
            return
        last = rows[-1][-1]


def plain(table: sa.Table, columns: Iterable[str]) -> list[sa.ColumnElement[Any]]:
    """Columns whose values come as the driver gives them: rows.py converts them faster. Their
    labels begin with the table's name."""
    return [
        sa.type_coerce(table.c[name], sa.types.NullType()).label(f"{table.name}_{name}")
        for name in columns
    ]


def _fetch(connection: "Connection", query: sa.Select[Any]) -> list[Any]:
    return list(connection.execute(query))


def delete_in_batches(session: Session, table: sa.Table, owner_id: int) -> int:
    """Deletes the rows of a run or planning, not all in one transaction. Says how many."""
    owner, ordinal = table.primary_key.columns
    highest = sa.select(sa.func.max(ordinal)).where(owner == owner_id)
    end = session.read(lambda connection: connection.scalar(highest))
    count = 0
    for start in range(0, 0 if end is None else end + 1, BATCH_ROWS):
        part = sa.and_(owner == owner_id, ordinal >= start, ordinal < start + BATCH_ROWS)
        count += session.write(partial(_delete, statement=sa.delete(table).where(part)))
    return count


def _delete(connection: "Connection", statement: sa.Delete) -> int:
    return connection.execute(statement).rowcount
