"""Migrate: which version a database has, and the way to the newest one."""

from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from iez_common.database import schema

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

MIGRATIONS = Path(__file__).parent / "migrations"
# Not alembic_version, as many others have it: this one says that the database is ours.
VERSION_TABLE = "iez_schema"
APPLICATION_ID = 0x69657A31  # "iez1" in the header of an SQLite file


def known_revisions(migrations: Path = MIGRATIONS) -> list[str]:
    """All versions, oldest first: `0001` of `versions/r0001_first.py`."""
    return sorted(path.name[1:5] for path in (migrations / "versions").glob("r[0-9]*_*.py"))


def revision_of(connection: "Connection") -> str | None:
    """The version of a database of ours; empty where making its tables was cut off; None: it has
    no tables at all or is not ours."""
    if not sa.inspect(connection).has_table(VERSION_TABLE):
        return None
    version: sa.ColumnClause[str] = sa.column("version_num")
    return connection.scalar(sa.select(version).select_from(sa.table(VERSION_TABLE))) or ""


def is_empty(connection: "Connection") -> bool:
    """Nothing of anybody is in it."""
    inspector = sa.inspect(connection)
    if connection.dialect.name == "sqlite":
        owner = connection.exec_driver_sql("PRAGMA application_id").scalar()
        if owner not in (0, APPLICATION_ID):
            return False
    return not inspector.get_table_names() and not inspector.get_view_names()


def upgrade(
    connection: "Connection", migrations: Path = MIGRATIONS, revision: str = "head"
) -> None:
    """Brings the tables to a version; the caller's transaction holds it all on SQLite."""
    from alembic import command
    from alembic.config import Config

    if revision_of(connection) == "":
        # A server cannot take back half of the tables. Nobody can have written to them.
        schema.metadata.drop_all(connection)
    config = Config()
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    config.attributes |= {"connection": connection, "version_table": VERSION_TABLE}
    command.upgrade(config, revision)
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
