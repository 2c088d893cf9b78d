"""Plannings: predictions and the layouts that were planned for them; the last few are kept."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from iez_common.database import schema
from iez_common.database.bulk import (
    delete_in_batches,
    insert_in_batches,
    insert_one,
    plain,
    read_in_batches,
)
from iez_common.database.columns import key_of, to_bytes
from iez_common.database.records import StoredPlanning
from iez_common.database.rows import (
    LAYOUT_COLUMNS,
    PREDICTION_COLUMNS,
    layout_of,
    layout_row,
    prediction_of,
    prediction_row,
)
from iez_common.database.runs import DEAD_AFTER_S
from iez_common.database.session import Session
from iez_common.database.store import Store
from iez_common.knowledge import Application, PlannedLayout, Planning, Prediction, Run

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Row

KEPT = 3  # plannings of an application
_table = schema.plannings
_layouts = schema.allocations
_runs = schema.runs


class Plannings(Store):
    def save_planning(
        self,
        application: Application,
        planning: Planning,
        predictions: Iterable[Prediction],
        layouts: Iterable[PlannedLayout],
    ) -> int:
        """Stores a planning in batches; it is seen when all of it is there. Older ones go."""
        session = self._session
        planning_id = session.write(
            lambda connection: insert_planning(
                connection, application, planning, session.clock(), is_complete=False
            )
        )
        first = (prediction_row(planning_id, n, each) for n, each in enumerate(predictions))
        insert_in_batches(session, schema.predictions, first)
        second = (layout_row(planning_id, n, each) for n, each in enumerate(layouts))
        insert_in_batches(session, _layouts, second)
        show = sa.update(_table).where(_table.c.id == planning_id).values(is_complete=1)
        session.write(lambda connection: connection.execute(show))
        trim_plannings(session, application.id)
        return planning_id

    def newest_planning(self, application: Application) -> StoredPlanning | None:
        return self._newest_of(application.id)

    def _newest_of(self, application_id: int) -> StoredPlanning | None:
        query = (
            sa.select(_table)
            .where(_table.c.application_id == application_id, _table.c.is_complete == 1)
            .order_by(*NEWEST)
            .limit(1)
        )
        row = self._session.read(lambda connection: connection.execute(query).first())
        return None if row is None else stored_planning_of(row)

    def plannings_beside(
        self, application: Application, run: Run
    ) -> list[tuple[int, int, StoredPlanning]]:
        """The newest planning of each other application of this owner that was running at the time
        of this run, for half of the shorter run at least; with the application's and that run's
        id."""
        others = (
            sa.select(_runs.c.application_id, _runs.c.started_s, _runs.c.ended_s, _runs.c.id)
            .join(schema.applications)
            .where(
                schema.applications.c.owner == application.owner,
                _runs.c.application_id != application.id,
                _runs.c.is_complete == 1,
                _runs.c.started_s < run.ended_s,
                _runs.c.ended_s > run.started_s,
            )
        )
        rows = self._session.read(lambda connection: list(connection.execute(others)))
        beside: dict[int, int] = {}
        for application_id, started_s, ended_s, run_id in rows:
            if _ran_together(started_s, ended_s, run):
                beside[application_id] = max(run_id, beside.get(application_id, 0))
        found = ((each, beside[each], self._newest_of(each)) for each in sorted(beside))
        return [(each, run_id, made) for each, run_id, made in found if made is not None]

    def predictions(self, planning_id: int) -> Iterator[Prediction]:
        """The predictions of a planning in their order."""
        table = schema.predictions
        rows = read_in_batches(self._session, table, planning_id, PREDICTION_COLUMNS)
        return map(prediction_of, rows)

    def layouts(self, planning_id: int) -> Iterator[PlannedLayout]:
        """What the allocator gave to them, in its order."""
        return map(layout_of, read_in_batches(self._session, _layouts, planning_id, LAYOUT_COLUMNS))

    def newest_layout(
        self, path: str, owner: str | None = None, application: Application | None = None
    ) -> tuple[StoredPlanning, PlannedLayout] | None:
        """What the newest planning with this path gave to it."""
        # Without the plannings: a planner that begins with them would go through all layouts.
        mine = sa.and_(_layouts.c.path_key == key_of(to_bytes(path)), _layouts.c.path == path)
        found = sa.select(*plain(_layouts, LAYOUT_COLUMNS), _layouts.c.planning_id).where(mine)
        rows = self._session.read(lambda connection: list(connection.execute(found)))
        layouts = {row.planning_id: layout_of(row) for row in rows}
        query = sa.select(_table).where(_table.c.id.in_(layouts), _table.c.is_complete == 1)
        query = query.order_by(*NEWEST).limit(1)
        if application is not None:
            query = query.where(_table.c.application_id == application.id)
        if owner is not None:
            query = query.join(schema.applications).where(schema.applications.c.owner == owner)
        row = self._session.read(lambda connection: connection.execute(query).first())
        return None if row is None else (stored_planning_of(row), layouts[row.id])


def _ran_together(started_s: float, ended_s: float, run: Run) -> bool:
    both_s = min(ended_s, run.ended_s) - max(started_s, run.started_s)
    return both_s >= 0.5 * min(ended_s - started_s, run.ended_s - run.started_s)


NEWEST = (_table.c.made_s.desc(), _table.c.id.desc())


def insert_planning(
    connection: "Connection",
    application: Application,
    planning: Planning,
    now_s: float,
    is_complete: bool,
) -> int:
    statement = _table.insert().values(
        application_id=application.id,
        is_complete=int(is_complete),
        loaded_s=now_s,
        made_s=planning.made_s,
        after_run_id=planning.after_run_id or None,
        state=planning.state,
    )
    return insert_one(connection, statement)


def stored_planning_of(row: "Row[Any]") -> StoredPlanning:
    """From a row with all columns of the table."""
    return StoredPlanning(row.id, Planning(row.made_s, row.after_run_id or 0, row.state))


def trim_plannings(session: Session, application_id: int) -> None:
    """Deletes all but the newest plannings of an application, and what dead processes left."""
    mine = _table.c.application_id == application_id
    complete = sa.select(_table.c.id).where(mine, _table.c.is_complete == 1).order_by(*NEWEST)
    dead_s = session.clock() - DEAD_AFTER_S
    dead = sa.select(_table.c.id).where(mine, _table.c.is_complete == 0, _table.c.loaded_s < dead_s)

    def surplus(connection: "Connection") -> list[int]:
        return [*connection.scalars(complete).all()[KEPT:], *connection.scalars(dead)]

    for planning_id in session.read(surplus):
        delete_planning(session, planning_id)


def delete_planning(session: Session, planning_id: int) -> None:
    mine = _table.c.id == planning_id
    hide = sa.update(_table).where(mine).values(is_complete=0, loaded_s=0.0)
    session.write(lambda connection: connection.execute(hide))
    for table in (schema.predictions, _layouts):
        delete_in_batches(session, table, planning_id)
    session.write(lambda connection: connection.execute(sa.delete(_table).where(mine)))
