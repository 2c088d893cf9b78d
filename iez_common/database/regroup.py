"""Regroup: files of templates that turned out to be one become files of that one."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import sqlalchemy as sa

from iez_common.database import schema
from iez_common.database.bulk import BATCH_ROWS
from iez_common.database.columns import pack_values, to_text
from iez_common.database.store import Store

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

_files = schema.files
_templates = schema.templates
_CHANGE = (
    sa.update(_files)
    .where(_files.c.run_id == sa.bindparam("of_run"), _files.c.ordinal == sa.bindparam("at"))
    .values(template_id=sa.bindparam("to"), field_values=sa.bindparam("packed"))
)
FieldValues = Callable[[int, str], tuple[str, ...] | None]


class Regrouping(Store):
    def replace_templates(
        self, template_ids: Sequence[int], template_id: int, values_of: FieldValues
    ) -> None:
        """`values_of(run_id, path)` tells what stands for the fields of the new template; a file
        for which there is nothing (None) stays without a template. Those replaced go, and the new
        one counts what they had matched."""
        for old_id in template_ids:
            while self._session.write(
                partial(_move, old_id=old_id, new_id=template_id, values_of=values_of)
            ):
                pass
            self._session.write(partial(_remove, old_id=old_id, new_id=template_id))


def _move(connection: "Connection", old_id: int, new_id: int, values_of: FieldValues) -> int:
    """One batch; says how many were left to be moved."""
    query = (
        sa.select(_files.c.run_id, _files.c.ordinal, _files.c.path)
        .where(_files.c.template_id == old_id)
        .limit(BATCH_ROWS)
    )
    rows = connection.execute(query).fetchall()
    changes = []
    for run_id, ordinal, path in rows:
        values = values_of(run_id, path)
        changes.append(
            {
                "of_run": run_id,
                "at": ordinal,
                "to": 0 if values is None else new_id,
                "packed": to_text(pack_values(values or ())),
            }
        )
    if changes:
        connection.execute(_CHANGE, changes)
    return len(rows)


def _remove(connection: "Connection", old_id: int, new_id: int) -> None:
    old = connection.execute(
        sa.select(_templates.c.file_count, _templates.c.run_count).where(_templates.c.id == old_id)
    ).first()
    if old is None:
        return
    connection.execute(
        sa.update(_templates)
        .where(_templates.c.id == new_id)
        .values(
            file_count=_templates.c.file_count + old.file_count,
            run_count=_templates.c.run_count + old.run_count,
        )
    )
    connection.execute(sa.delete(_templates).where(_templates.c.id == old_id))
