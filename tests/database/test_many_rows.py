"""As many files as a large job creates: stored, read, found, deleted."""

import itertools
from collections.abc import Iterator

import pytest
from database_examples import LAYOUTS, a_planning, a_run, an_application, files

from iez_common.database import Database
from iez_common.knowledge import ObservedFile, PlannedLayout, Prediction

pytest_plugins = ["database_fixtures"]
COUNTS = [40_000, pytest.param(1_000_000, marks=pytest.mark.full)]


def many(count: int) -> Iterator[ObservedFile]:
    """Files in folders of a thousand."""
    for number in range(count // 1000):
        yield from files(1000, template_id=number % 7, folder=f"/lustre/job/{number:04}")


@pytest.mark.parametrize("count", COUNTS)
def test_a_large_run(database: Database, count: int) -> None:
    application = an_application(database)
    run_id = database.add_run(application, a_run())
    assert run_id is not None
    assert database.add_files(run_id, many(count)) == count
    database.complete_run(run_id, file_count=count, write_bytes=0, unknown_count=0)
    pairs = itertools.zip_longest(database.files(run_id), many(count))
    assert all(stored == given for stored, given in pairs)
    rows = database.history(database.history_runs(application))
    pairs = zip(rows, many(count), strict=True)
    assert all(row[3:6] == (f.field_values, f.mpi_rank, f.write_bytes) for row, f in pairs)
    paths = [file.path for file in itertools.islice(many(count), 0, None, 97)]
    assert database.known_paths(application, [*paths, "/lustre/job/none"]) == set(paths)
    pruned = database.prune(keep_runs=0)
    assert (pruned.run_count, pruned.file_count) == (1, count)
    assert dict(database.info().rows)["files"] == 0


@pytest.mark.parametrize("count", COUNTS)
def test_a_large_planning(database: Database, count: int) -> None:
    application = an_application(database)

    def predictions() -> Iterator[Prediction]:
        for file in many(count):
            yield Prediction(file.path, 1, file.mpi_rank, 0, 1, 2, 1, 1, 1, "constant", 0.0)

    def layouts() -> Iterator[PlannedLayout]:
        for file in many(count):
            yield PlannedLayout(file.path, file.mpi_rank, 0, 1, 1, 65536, file.ost_list)

    planning_id = database.save_planning(application, a_planning(), predictions(), layouts())
    assert all(map(Prediction.__eq__, database.predictions(planning_id), predictions()))
    assert sum(1 for _ in database.layouts(planning_id)) == count
    last = next(file for file in many(count) if file.path.endswith("0038/part-00000999"))
    found = database.newest_layout(last.path)
    assert found is not None
    assert found[1].ost_list == last.ost_list
    for _ in range(3):
        database.save_planning(application, a_planning(300.0), [], LAYOUTS)
    assert dict(database.info().rows)["predictions"] == 0
