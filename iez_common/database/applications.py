"""Applications: get or create, find, list, start afresh, forget."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from iez_common.database import schema
from iez_common.database.bulk import insert_one
from iez_common.database.plannings import delete_planning
from iez_common.database.records import ApplicationSummary
from iez_common.database.runs import delete_run
from iez_common.database.store import Store
from iez_common.knowledge import Application

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Row

_table = schema.applications
_runs = schema.runs
_plannings = schema.plannings


class Applications(Store):
    def get_application(
        self, owner: str, key: str, *, name: str, program: str, shape: str
    ) -> Application:
        """The application of an owner with this key; made if it is not there yet."""
        wanted = Application(owner, key, name, program, shape)
        return self._session.write(lambda connection: get_or_create(connection, wanted)[0])

    def application(self, application_id: int) -> Application | None:
        query = sa.select(_table).where(_table.c.id == application_id)
        row = self._session.read(lambda connection: connection.execute(query).first())
        return None if row is None else application_of(row)

    def applications(self, owner: str | None = None) -> list[ApplicationSummary]:
        """Those of an owner, or all, with what their runs come to; newest run first."""
        is_complete = sa.and_(_runs.c.application_id == _table.c.id, _runs.c.is_complete == 1)
        last_run_s = sa.func.max(_runs.c.started_s)
        query = (
            sa.select(
                _table,
                sa.func.count(_runs.c.id),
                sa.func.coalesce(sa.func.sum(_runs.c.file_count), 0),
                sa.func.coalesce(sa.func.sum(_runs.c.write_bytes), 0),
                last_run_s,
            )
            .select_from(_table.outerjoin(_runs, is_complete))
            .group_by(*_table.c)
            .order_by(last_run_s.desc(), _table.c.id.desc())
        )
        if owner is not None:
            query = query.where(_table.c.owner == owner)
        rows = self._session.read(lambda connection: connection.execute(query).fetchall())
        return [
            # Servers sum up to a decimal number.
            ApplicationSummary(application_of(row), row[-4], int(row[-3]), int(row[-2]), row[-1])
            for row in rows
        ]

    def find_applications(self, owner: str, word: str) -> list[Application]:
        """Those of an owner that a user's word names: exactly, else by their program, else by the
        beginning of their key. More than one: the word is not clear."""
        query = sa.select(_table).where(_table.c.owner == owner).order_by(_table.c.id)
        rows = self._session.read(lambda connection: connection.execute(query).fetchall())
        found = [application_of(row) for row in rows]
        return (
            [each for each in found if each.name == word]
            or [each for each in found if each.program == word]
            or [each for each in found if word and each.key.startswith(word)]
        )

    def start_epoch(self, application: Application, expected_epoch: int) -> Application | None:
        """Lets all that was learned so far count no more. None: the epoch is another one by now,
        or the application was forgotten."""
        mine = sa.and_(_table.c.id == application.id, _table.c.epoch == expected_epoch)
        change = sa.update(_table).where(mine).values(epoch=expected_epoch + 1)
        count = self._session.write(lambda connection: connection.execute(change).rowcount)
        return replace(application, epoch=expected_epoch + 1) if count else None

    def forget(self, application: Application) -> None:
        """Deletes an application and all that belongs to it."""
        hide = [
            sa.update(table).where(table.c.application_id == application.id).values(is_complete=0)
            for table in (_runs, _plannings)
        ]
        self._session.write(lambda connection: [connection.execute(each) for each in hide])
        for run_id in self._ids_of(application, _runs):
            delete_run(self._session, run_id)
        for planning_id in self._ids_of(application, _plannings):
            delete_planning(self._session, planning_id)
        rest = sa.delete(_table).where(_table.c.id == application.id)
        self._session.write(lambda connection: connection.execute(rest))

    def _ids_of(self, application: Application, table: sa.Table) -> Sequence[int]:
        query = sa.select(table.c.id).where(table.c.application_id == application.id)
        return self._session.read(lambda connection: connection.scalars(query).all())


def get_or_create(connection: "Connection", wanted: Application) -> tuple[Application, bool]:
    """The application with the owner and key of `wanted`, and whether it is new."""
    key = sa.and_(_table.c.owner == wanted.owner, _table.c.app_key == wanted.key)
    row = connection.execute(sa.select(_table).where(key)).first()
    if row is not None:
        return application_of(row), False
    statement = _table.insert().values(
        owner=wanted.owner,
        app_key=wanted.key,
        name=wanted.name,
        program=wanted.program,
        shape=wanted.shape,
        epoch=wanted.epoch,
    )
    return replace(wanted, id=insert_one(connection, statement)), True


def application_of(row: "Row[Any]") -> Application:
    """From a row with all columns of the table; more may follow them."""
    return Application(
        owner=row.owner,
        key=row.app_key,
        name=row.name,
        program=row.program,
        shape=row.shape,
        epoch=row.epoch,
        id=row.id,
    )
