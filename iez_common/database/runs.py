"""Runs: loaded step by step, and seen by others once they are complete."""

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from iez_common.database import schema
from iez_common.database.bulk import (
    delete_in_batches,
    insert_in_batches,
    insert_one,
    insert_rows,
    read_in_batches,
)
from iez_common.database.columns import to_signed, to_unsigned
from iez_common.database.records import StoredRun
from iez_common.database.rows import FILE_COLUMNS, file_of, file_row, outcome_row
from iez_common.database.session import Session
from iez_common.database.store import Store
from iez_common.errors import DatabaseError
from iez_common.knowledge import Application, ObservedFile, Outcome, Run

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Row

DEAD_AFTER_S = 86400.0  # a load that takes longer is taken for one whose process is gone
_table = schema.runs
_files = schema.files
_outcomes = schema.outcomes


class Runs(Store):
    def add_run(self, application: Application, run: Run) -> int | None:
        """Begins to load a run; its epoch is the application's. None: it is there already."""
        remove_leftovers(self._session, application.id)
        now_s = self._session.clock()
        return self._session.write(
            lambda connection: insert_run(connection, application, run, now_s, is_complete=False)
        )

    def add_files(self, run_id: int, files: Iterable[ObservedFile]) -> int:
        """Adds files to a run that is being loaded, in batches. Says how many."""
        highest = sa.select(sa.func.max(_files.c.ordinal)).where(_files.c.run_id == run_id)
        last = self._session.read(lambda connection: connection.scalar(highest))
        start = 0 if last is None else last + 1
        rows = (file_row(run_id, ordinal, each) for ordinal, each in enumerate(files, start))
        return insert_in_batches(self._session, _files, rows)

    def complete_run(
        self,
        run_id: int,
        outcomes: Iterable[Outcome] = (),
        *,
        file_count: int,
        write_bytes: int,
        unknown_count: int,
    ) -> None:
        """Ends the loading: from now on the run is seen."""
        rows = [outcome_row(run_id, ordinal, each) for ordinal, each in enumerate(outcomes)]
        change = (
            sa.update(_table)
            .where(_table.c.id == run_id, _table.c.is_complete == 0)
            .values(
                is_complete=1,
                file_count=file_count,
                write_bytes=write_bytes,
                unknown_count=unknown_count,
            )
        )

        def complete(connection: "Connection") -> int:
            count = connection.execute(change).rowcount
            if count and rows:
                insert_rows(connection, _outcomes, rows)
            return count

        if not self._session.write(complete):
            raise DatabaseError(
                f"{self._session.address.place}: run {run_id} is complete or was deleted",
                "learn from its traces again",
            )

    def abandon_run(self, run_id: int) -> None:
        """Takes back a load that failed."""
        delete_run(self._session, run_id)

    def runs(
        self,
        application: Application | None = None,
        owner: str | None = None,
        limit: int | None = None,
    ) -> list[StoredRun]:
        """Complete runs, newest first."""
        query = _complete().order_by(_table.c.started_s.desc(), _table.c.id.desc()).limit(limit)
        if application is not None:
            query = query.where(_table.c.application_id == application.id)
        if owner is not None:
            query = query.join(schema.applications).where(schema.applications.c.owner == owner)
        rows = self._session.read(lambda connection: connection.execute(query).fetchall())
        return [stored_run_of(row) for row in rows]

    def run(self, run_id: int) -> StoredRun | None:
        query = _complete().where(_table.c.id == run_id)
        row = self._session.read(lambda connection: connection.execute(query).first())
        return None if row is None else stored_run_of(row)

    def outcomes(self, run_id: int) -> list[Outcome]:
        query = (
            sa.select(_outcomes.c.outcome, _outcomes.c.why, _outcomes.c.file_count)
            .where(_outcomes.c.run_id == run_id)
            .order_by(_outcomes.c.ordinal)
        )
        rows = self._session.read(lambda connection: connection.execute(query).fetchall())
        return [Outcome(*row) for row in rows]

    def files(self, run_id: int) -> Iterator[ObservedFile]:
        """The files of a run in the order in which they were added."""
        return map(file_of, read_in_batches(self._session, _files, run_id, FILE_COLUMNS))


def _complete() -> sa.Select[Any]:
    return sa.select(_table).where(_table.c.is_complete == 1)


def insert_run(
    connection: "Connection", application: Application, run: Run, now_s: float, is_complete: bool
) -> int | None:
    """The id of the new run; None if the application has one with this identity."""
    identity = to_signed(run.identity)
    mine = sa.and_(_table.c.application_id == application.id, _table.c.identity == identity)
    if connection.execute(sa.select(_table.c.id).where(mine)).first() is not None:
        return None
    statement = _table.insert().values(
        application_id=application.id,
        epoch=application.epoch,
        identity=identity,
        is_complete=int(is_complete),
        loaded_s=now_s,
        started_s=run.started_s,
        ended_s=run.ended_s,
        command=json.dumps(run.command),
        directory=run.directory,
        rank_count=run.rank_count,
        host_count=run.host_count,
        status=run.status,
        trace_dir=run.trace_dir,
        file_count=run.file_count,
        write_bytes=run.write_bytes,
        unknown_count=run.unknown_count,
    )
    return insert_one(connection, statement)


def stored_run_of(row: "Row[Any]") -> StoredRun:
    """From a row with all columns of the table."""
    run = Run(
        identity=to_unsigned(row.identity),
        started_s=row.started_s,
        ended_s=row.ended_s,
        command=tuple(json.loads(row.command)),
        directory=row.directory,
        rank_count=row.rank_count,
        host_count=row.host_count,
        status=row.status,
        trace_dir=row.trace_dir,
        file_count=row.file_count,
        write_bytes=row.write_bytes,
        unknown_count=row.unknown_count,
        epoch=row.epoch,
        id=row.id,
    )
    return StoredRun(run, row.application_id)


def delete_run(session: Session, run_id: int) -> int:
    """Deletes a run; from the first moment on nobody sees it, and who comes later ends what a
    crash leaves. Says how many files it had."""
    mine = _table.c.id == run_id
    hide = sa.update(_table).where(mine).values(is_complete=0, loaded_s=0.0)
    session.write(lambda connection: connection.execute(hide))
    count = delete_in_batches(session, _files, run_id)
    session.write(lambda connection: connection.execute(sa.delete(_table).where(mine)))
    return count


def remove_leftovers(session: Session, application_id: int | None = None) -> None:
    """Deletes what loads have left that died."""
    dead = sa.and_(_table.c.is_complete == 0, _table.c.loaded_s < session.clock() - DEAD_AFTER_S)
    query = sa.select(_table.c.id).where(dead)
    if application_id is not None:
        query = query.where(_table.c.application_id == application_id)
    for run_id in session.read(lambda connection: connection.scalars(query).all()):
        delete_run(session, run_id)
