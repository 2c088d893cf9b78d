"""Export: all that is complete as JSON lines, the same from a file and from a server.

The first line is a header, the last one says how many there are. An application comes before its
templates, runs and plannings; a run before its files and outcomes; a planning before its
predictions and layouts. So who reads it needs to remember one application at a time."""

from collections.abc import Iterator, Set
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO

import sqlalchemy as sa

from iez_common.database import schema
from iez_common.database.applications import application_of
from iez_common.database.lines import FORMAT, SCHEMA, End, Header, TemplateLine, to_line
from iez_common.database.plannings import NEWEST, Plannings, stored_planning_of
from iez_common.database.runs import Runs, stored_run_of
from iez_common.database.templates import template_of
from iez_common.knowledge import ObservedFile, Prediction

if TYPE_CHECKING:
    from sqlalchemy.engine import Row


class Exporting(Runs, Plannings):
    def export_to(self, stream: BinaryIO) -> int:
        """Writes everything that is complete. Says how many records."""
        count = -1
        for record in self._all():
            stream.write(to_line(record))
            count += 1
        stream.write(to_line(End(count + 1)))
        return count

    def _all(self) -> Iterator[object]:
        yield Header(FORMAT, SCHEMA)
        for row in self._rows(sa.select(schema.applications).order_by(schema.applications.c.id)):
            application = application_of(row)
            yield application
            template_ids = {0}
            for template in self._templates_of(application.id):
                template_ids.add(template.id)
                yield template
            for record in chain(self._runs_of(application.id), self._plannings_of(application.id)):
                yield _of_known_template(record, template_ids)

    def _templates_of(self, application_id: int) -> Iterator[TemplateLine]:
        table = schema.templates
        query = sa.select(table).where(table.c.application_id == application_id)
        for row in self._rows(query.order_by(table.c.id)):
            one = template_of(row)
            yield TemplateLine(
                row.epoch, one.text, one.fields, one.example, one.file_count, one.run_count, one.id
            )

    def _runs_of(self, application_id: int) -> Iterator[object]:
        table = schema.runs
        mine = sa.and_(table.c.application_id == application_id, table.c.is_complete == 1)
        for row in self._rows(sa.select(table).where(mine).order_by(table.c.id)):
            run = stored_run_of(row).run
            yield run
            yield from self.files(run.id)
            yield from self.outcomes(run.id)

    def _plannings_of(self, application_id: int) -> Iterator[object]:
        table = schema.plannings
        mine = sa.and_(table.c.application_id == application_id, table.c.is_complete == 1)
        for row in reversed(self._rows(sa.select(table).where(mine).order_by(*NEWEST))):
            stored = stored_planning_of(row)
            yield stored.planning
            yield from self.predictions(stored.id)
            yield from self.layouts(stored.id)

    def _rows(self, query: sa.Select[Any]) -> "list[Row[Any]]":
        return self._session.read(lambda connection: list(connection.execute(query)))


def _of_known_template(record: object, template_ids: Set[int]) -> object:
    """Templates become one another while files are read: what is of none by now stays so."""
    if isinstance(record, ObservedFile | Prediction) and record.template_id not in template_ids:
        return replace(record, template_id=0)
    return record
