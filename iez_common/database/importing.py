"""Import: the lines of an export in, rows out; ids become those of this database."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, BinaryIO

import sqlalchemy as sa

from iez_common.database import schema
from iez_common.database.applications import get_or_create
from iez_common.database.bulk import Row, batches, insert_rows
from iez_common.database.columns import hash_of, to_signed
from iez_common.database.lines import FORMAT, SCHEMA, End, Header, TemplateLine, of_line
from iez_common.database.plannings import insert_planning, trim_plannings
from iez_common.database.records import Imported
from iez_common.database.rows import file_row, layout_row, outcome_row, prediction_row
from iez_common.database.runs import insert_run
from iez_common.database.store import Store
from iez_common.database.templates import insert_templates
from iez_common.errors import ExportError
from iez_common.knowledge import (
    Application,
    ObservedFile,
    Outcome,
    PlannedLayout,
    Planning,
    Prediction,
    Run,
    Template,
)

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

Numbered = tuple[int, Any]  # a line's number and its record
_ROWS: dict[type, tuple[type, sa.Table, Callable[[int, int, Any], Row]]] = {
    ObservedFile: (Run, schema.files, file_row),
    Outcome: (Run, schema.outcomes, outcome_row),
    Prediction: (Planning, schema.predictions, prediction_row),
    PlannedLayout: (Planning, schema.allocations, layout_row),
}


class Importing(Store):
    def import_from(self, stream: BinaryIO) -> Imported:
        """Adds what an export holds and this database does not: all of it or, where a line makes
        no sense, nothing. The stream must be seekable. Other writers wait meanwhile."""
        now_s = self._session.clock()

        def work(connection: "Connection") -> _Import:
            stream.seek(0)
            state = _Import(connection, now_s)
            state.take_all(_records(stream))
            return state

        done = self._session.write(work)
        for application_id in done.application_ids:
            trim_plannings(self._session, application_id)
        kinds = (Application, TemplateLine, Run, ObservedFile, Planning)
        return Imported(*(done.added[kind] for kind in kinds))


def _records(stream: BinaryIO) -> Iterator[Numbered]:
    """The records between header and end, with the numbers of their lines."""
    number = 0
    for number, line in enumerate(stream, 1):
        try:
            record = of_line(line)
        except ValueError as error:
            raise ExportError(f"line {number} makes no sense: {error}") from None
        if (number == 1) != isinstance(record, Header):
            raise ExportError(f"line {number} makes no sense: the header is the first line")
        if isinstance(record, Header):
            _check(record)
        elif not isinstance(record, End):
            yield number, record
        elif record.line_count == number - 1 and not stream.read(1):
            return
        else:
            raise ExportError(f"line {number} makes no sense: lines are missing or too many")
    raise ExportError(f"it ends after line {number}: the rest is missing", "iez db export -o FILE")


def _check(header: Header) -> None:
    if header.format != FORMAT:
        raise ExportError("line 1 makes no sense: it is no export of iez", "iez db export -o FILE")
    if header.schema > SCHEMA:
        raise ExportError(f"a newer iez made it: schema {header.schema}, this one knows {SCHEMA}")


class _Import:
    """One import, line by line. What is there already is left as it is, with all below it."""

    def __init__(self, connection: "Connection", now_s: float) -> None:
        self.added: Counter[type] = Counter()
        self.application_ids: list[int] = []
        self._connection = connection
        self._now_s = now_s
        self._application: Application | None = None
        # Ids of the export to ids of here, of the application that is being read.
        self._template_ids: dict[int, int] = {}
        self._run_ids: dict[int, int] = {}
        # The run and the planning to which rows belong; None: it was there already.
        self._owners: dict[type, int | None] = {}
        self._ordinals: Counter[type] = Counter()

    def take_all(self, records: Iterable[Numbered]) -> None:
        for kind, group in groupby(records, key=lambda numbered: type(numbered[1])):
            if kind in _ROWS:
                self._take_rows(kind, group)
            else:
                for number, record in group:
                    self._take(number, record)

    def _take(self, number: int, record: object) -> None:
        if isinstance(record, Application):
            self._take_application(record)
            return
        if self._application is None:
            raise ExportError(f"line {number} makes no sense: it belongs to no application")
        match record:
            case TemplateLine():
                self._take_template(self._application, record)
            case Run():
                self._take_run(self._application, record)
            case Planning():
                self._take_planning(self._application, record)

    def _take_application(self, record: Application) -> None:
        self._application, is_new = get_or_create(self._connection, replace(record, id=0))
        if record.epoch > self._application.epoch:
            table = schema.applications
            change = sa.update(table).where(table.c.id == self._application.id)
            self._connection.execute(change.values(epoch=record.epoch))
        self.added[Application] += is_new
        self.application_ids.append(self._application.id)
        self._template_ids, self._run_ids, self._owners = {0: 0}, {0: 0}, {}

    def _take_template(self, application: Application, line: TemplateLine) -> None:
        table = schema.templates
        query = sa.select(table.c.id).where(
            table.c.application_id == application.id,
            table.c.epoch == line.epoch,
            table.c.text_hash == hash_of(line.text),
        )
        template_id = self._connection.scalar(query)
        if template_id is None:
            new = Template(line.text, line.fields, line.example, line.file_count, line.run_count)
            insert_templates(self._connection, replace(application, epoch=line.epoch), [new])
            template_id = self._connection.scalar(query)
            self.added[TemplateLine] += 1
        self._template_ids[line.id] = template_id or 0

    def _take_run(self, application: Application, run: Run) -> None:
        of_its_time = replace(application, epoch=run.epoch)
        new_id = insert_run(self._connection, of_its_time, run, self._now_s, is_complete=True)
        self._begin(Run, new_id)
        if new_id is None:
            table = schema.runs
            mine = sa.and_(
                table.c.application_id == application.id,
                table.c.identity == to_signed(run.identity),
            )
            new_id = self._connection.scalar(sa.select(table.c.id).where(mine))
        self._run_ids[run.id] = new_id or 0

    def _take_planning(self, application: Application, planning: Planning) -> None:
        table = schema.plannings
        same = sa.and_(table.c.application_id == application.id, table.c.made_s == planning.made_s)
        if self._connection.scalar(sa.select(table.c.id).where(same)) is not None:
            self._begin(Planning, None)
            return
        after = replace(planning, after_run_id=self._run_ids.get(planning.after_run_id, 0))
        new_id = insert_planning(
            self._connection, application, after, self._now_s, is_complete=True
        )
        self._begin(Planning, new_id)

    def _begin(self, kind: type, new_id: int | None) -> None:
        self._owners[kind] = new_id
        self._ordinals = Counter()
        self.added[kind] += new_id is not None

    def _take_rows(self, kind: type, group: Iterable[Numbered]) -> None:
        owner, table, to_row = _ROWS[kind]
        for batch in batches(self._rows_of(kind, owner, to_row, group)):
            insert_rows(self._connection, table, batch)
            self.added[kind] += len(batch)

    def _rows_of(
        self,
        kind: type,
        owner: type,
        to_row: Callable[[int, int, Any], Row],
        group: Iterable[Numbered],
    ) -> Iterator[Row]:
        for number, record in group:
            if owner not in self._owners:
                raise ExportError(f"line {number} makes no sense: it belongs to nothing")
            if isinstance(record, ObservedFile | Prediction):
                if record.template_id not in self._template_ids:
                    raise ExportError(f"line {number} makes no sense: there is no such template")
                record = replace(record, template_id=self._template_ids[record.template_id])
            owner_id = self._owners[owner]
            if owner_id is not None:
                yield to_row(owner_id, self._ordinals[kind], record)
                self._ordinals[kind] += 1
