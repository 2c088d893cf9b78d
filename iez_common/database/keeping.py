"""Keeping: what a database holds, and making it smaller."""

from typing import TYPE_CHECKING

import sqlalchemy as sa

from iez_common.database import migrate, schema
from iez_common.database.address import SqliteFile
from iez_common.database.bulk import delete_in_batches
from iez_common.database.columns import Number
from iez_common.database.history import History
from iez_common.database.plannings import trim_plannings
from iez_common.database.records import DatabaseInfo, Pruned
from iez_common.database.runs import delete_run, remove_leftovers
from iez_common.knowledge import Application

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

_runs = schema.runs
_AT_ONCE = 5  # runs; those behind them were emptied by earlier calls


class Keeping(History):
    def prune(
        self,
        keep_runs: int | None = None,
        older_than_s: float | None = None,
        owner: str | None = None,
    ) -> Pruned:
        """Deletes the runs of each application behind its newest `keep_runs`, and those that
        ended more than `older_than_s` ago; also all that dead processes left. Of an owner, or of
        all. Where the database is a file, it shrinks."""
        session = self._session
        remove_leftovers(session)
        query = sa.select(schema.applications.c.id)
        if owner is not None:
            query = query.where(schema.applications.c.owner == owner)
        run_count = file_count = 0
        for application_id in session.read(lambda connection: connection.scalars(query).all()):
            trim_plannings(session, application_id)
            for run_id in self._superfluous(application_id, keep_runs, older_than_s):
                file_count += delete_run(session, run_id)
                run_count += 1
        session.vacuum()
        return Pruned(run_count, file_count)

    def drop_old_files(self, application: Application, keep_runs: int) -> int:
        """Deletes the files of the runs behind the newest `keep_runs`, and behind as many that
        predictions are made from; the runs themselves stay. Done after each run, there is one such
        run at a time; its space is used again."""
        used = {run.id for run in self.history_runs(application, keep_runs)}
        old = [n for n in self._superfluous(application.id, keep_runs, None) if n not in used]
        return sum(
            delete_in_batches(self._session, schema.files, run_id) for run_id in old[:_AT_ONCE]
        )

    def _superfluous(
        self, application_id: int, keep_runs: int | None, older_than_s: float | None
    ) -> list[int]:
        query = (
            sa.select(_runs.c.id, _runs.c.ended_s)
            .where(_runs.c.application_id == application_id, _runs.c.is_complete == 1)
            .order_by(_runs.c.started_s.desc(), _runs.c.id.desc())
        )
        runs = self._session.read(lambda connection: connection.execute(query).fetchall())
        oldest_s = None if older_than_s is None else self._session.clock() - older_than_s
        return [
            run_id
            for place, (run_id, ended_s) in enumerate(runs)
            if (keep_runs is not None and place >= keep_runs)
            or (oldest_s is not None and ended_s < oldest_s)
        ]

    def info(self) -> DatabaseInfo:
        """What the database is and holds."""
        return self._session.read(self._info)

    def _info(self, connection: "Connection") -> DatabaseInfo:
        address = self._session.address
        if isinstance(address, SqliteFile):
            kind = f"SQLite {_version(connection.dialect.server_version_info)}"
            size_bytes = address.path.stat().st_size
        else:
            version = str(connection.scalar(sa.select(sa.func.version())))
            kind = f"{'MariaDB' if 'mariadb' in version.lower() else 'MySQL'} {version}"
            size_bytes = _server_size_bytes(connection)
        return DatabaseInfo(
            place=address.place,
            kind=kind,
            revision=migrate.revision_of(connection) or "",
            rows=tuple(
                (table.name, connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0)
                for table in schema.metadata.tables.values()
            ),
            size_bytes=size_bytes,
        )


def _version(numbers: tuple[int | str, ...] | None) -> str:
    return ".".join(map(str, numbers or ()))


def _server_size_bytes(connection: "Connection") -> int:
    """As the server estimates it."""
    length: sa.ColumnElement[int] = sa.column("data_length", Number) + sa.column(
        "index_length", Number
    )
    tables = sa.table("tables", schema="information_schema")
    query = sa.select(sa.func.sum(length)).select_from(tables)
    query = query.where(sa.column("table_schema") == sa.func.database())
    return int(connection.scalar(query) or 0)
