"""History: what earlier runs of an application wrote, for predictions; look-ups by path."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from iez_common.database import schema
from iez_common.database.bulk import plain, read_in_batches
from iez_common.database.columns import key_of, to_bytes, unpack_values
from iez_common.database.records import HistoryRow, StoredRun
from iez_common.database.rows import FILE_COLUMNS, file_of
from iez_common.database.runs import stored_run_of
from iez_common.database.store import Store
from iez_common.knowledge import Application, ObservedFile, Run

if TYPE_CHECKING:
    from sqlalchemy.engine import Connection

_runs = schema.runs
_files = schema.files
_COLUMNS = (
    "template_id", "field_values", "mpi_rank", "write_bytes", "first_write_s", "writers",
    "access_bytes", "stripe_count", "outcome",
)  # fmt: skip
_PATHS_A_QUERY = 500


class History(Store):
    def history_runs(
        self,
        application: Application,
        run_limit: int | None = None,
        *,
        only_successful: bool = True,
    ) -> list[Run]:
        """The newest complete runs of the application's epoch, oldest first. Those that failed
        are left out where there are others, unless they are asked for."""
        return self._session.read(
            lambda connection: _read_runs(connection, application, run_limit, only_successful)
        )

    def history(self, runs: Sequence[Run]) -> Iterator[HistoryRow]:
        """The files of these runs, run by run."""
        for ordinal, run in enumerate(runs):
            for row in read_in_batches(self._session, _files, run.id, _COLUMNS):
                template_id, values, *rest, _ = row
                yield HistoryRow(template_id, ordinal, run.id, unpack_values(values), *rest)  # type: ignore[arg-type]

    def known_paths(self, application: Application, paths: Iterable[str]) -> set[str]:
        """Of these paths, those that a complete run of the application's epoch created."""
        wanted = {to_bytes(path): path for path in paths}
        runs = {run.id for run in self.history_runs(application, only_successful=False)}
        keys = [key_of(path) for path in wanted]
        known: set[str] = set()
        for start in range(0, len(keys), _PATHS_A_QUERY):
            for run_id, path, _ in self._with_keys(keys[start : start + _PATHS_A_QUERY]):
                if run_id in runs and path in wanted:
                    known.add(wanted[path])
        return known

    def newest_file(
        self, path: str, owner: str | None = None, application: Application | None = None
    ) -> tuple[StoredRun, ObservedFile] | None:
        """The file of this path in the newest run that created it."""
        name = to_bytes(path)
        places = {
            run_id: ordinal
            for run_id, found, ordinal in self._with_keys([key_of(name)])
            if found == name
        }
        runs = sa.select(_runs).where(_runs.c.id.in_(places), _runs.c.is_complete == 1)
        runs = runs.order_by(_runs.c.started_s.desc(), _runs.c.id.desc()).limit(1)
        if application is not None:
            runs = runs.where(_runs.c.application_id == application.id)
        if owner is not None:
            runs = runs.join(schema.applications).where(schema.applications.c.owner == owner)
        row = self._session.read(lambda connection: connection.execute(runs).first())
        if row is None:
            return None
        files = sa.select(*plain(_files, FILE_COLUMNS)).where(
            _files.c.run_id == row.id, _files.c.ordinal == places[row.id]
        )
        file = self._session.read(lambda connection: connection.execute(files).first())
        return None if file is None else (stored_run_of(row), file_of(file))

    def _with_keys(self, keys: list[int]) -> list[Any]:
        """Run, path and place of the files with these keys. Of nothing else in the same query: a
        planner that begins with the runs would go through all files."""
        query = sa.select(*plain(_files, ("run_id", "path", "ordinal")))
        query = query.where(_files.c.path_key.in_(keys))
        return self._session.read(lambda connection: list(connection.execute(query)))


def _read_runs(
    connection: "Connection", application: Application, run_limit: int | None, only_successful: bool
) -> list[Run]:
    query = (
        sa.select(_runs)
        .where(
            _runs.c.application_id == application.id,
            _runs.c.epoch == application.epoch,
            _runs.c.is_complete == 1,
        )
        .order_by(_runs.c.started_s.desc(), _runs.c.id.desc())
        .limit(run_limit)
    )
    rows: list[Any] = []
    if only_successful:
        rows = list(connection.execute(query.where(_runs.c.status == 0)))
    rows = rows or list(connection.execute(query))
    return [stored_run_of(row).run for row in reversed(rows)]
