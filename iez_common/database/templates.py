"""Templates: names of files with fields, counted over runs."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from iez_common.database import schema
from iez_common.database.columns import hash_of
from iez_common.database.store import Store
from iez_common.knowledge import Application, Field, Template

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection, Row

_table = schema.templates


class Templates(Store):
    def templates(self, application: Application) -> list[Template]:
        """Those of the application's epoch."""
        stored = self._session.read(lambda connection: _stored(connection, application))
        return list(stored.values())

    def save_templates(
        self, application: Application, templates: Sequence[Template]
    ) -> list[Template]:
        """Inserts or updates by text, within the application's epoch. Counts are added to those
        that are there, fields and example replace theirs. Gives the templates back as they are
        now, in the order given."""
        given: dict[bytes, Template] = {}
        for each in templates:
            earlier = given.get(hash_of(each.text))
            given[hash_of(each.text)] = each if earlier is None else _added(earlier, each)
        stored = self._session.write(lambda connection: _save(connection, application, given))
        return [stored[hash_of(each.text)] for each in templates]


def _save(
    connection: "Connection", application: Application, given: dict[bytes, Template]
) -> dict[bytes, Template]:
    there = _stored(connection, application)
    # In the order of their ids: two writers cannot wait for rows of each other.
    if old := [key for key in there if key in given]:
        update = _table.update().where(_table.c.id == sa.bindparam("its_id"))
        update = update.values(
            file_count=_table.c.file_count + sa.bindparam("more_files"),
            run_count=_table.c.run_count + sa.bindparam("more_runs"),
            fields=sa.bindparam("new_fields"),
            example=sa.bindparam("new_example"),
        )
        connection.execute(
            update,
            [
                {
                    "its_id": there[key].id,
                    "more_files": given[key].file_count,
                    "more_runs": given[key].run_count,
                    "new_fields": fields_json(given[key].fields),
                    "new_example": given[key].example,
                }
                for key in old
            ],
        )
    if new := [each for key, each in given.items() if key not in there]:
        insert_templates(connection, application, new)
    return _stored(connection, application)


def insert_templates(
    connection: "Connection", application: Application, templates: Sequence[Template]
) -> None:
    """Inserts templates that are not there yet."""
    rows = [
        {
            "application_id": application.id,
            "epoch": application.epoch,
            "text_hash": hash_of(each.text),
            "text": each.text,
            "fields": fields_json(each.fields),
            "example": each.example,
            "file_count": each.file_count,
            "run_count": each.run_count,
        }
        for each in templates
    ]
    connection.execute(_table.insert(), rows)


def _stored(connection: "Connection", application: Application) -> dict[bytes, Template]:
    """All of an epoch by the SHA-256 of their text, oldest first."""
    query = (
        sa.select(_table)
        .where(_table.c.application_id == application.id, _table.c.epoch == application.epoch)
        .order_by(_table.c.id)
    )
    return {bytes(row.text_hash): template_of(row) for row in connection.execute(query)}


def template_of(row: "Row[Any]") -> Template:
    return Template(
        text=row.text,
        fields=tuple(Field(**each) for each in json.loads(row.fields)),
        example=row.example,
        file_count=row.file_count,
        run_count=row.run_count,
        id=row.id,
    )


def fields_json(fields: Sequence[Field]) -> str:
    return json.dumps([asdict(each) for each in fields])


def _added(first: Template, second: Template) -> Template:
    return replace(
        second,
        file_count=first.file_count + second.file_count,
        run_count=first.run_count + second.run_count,
    )
