"""What is stored comes back, the same from a file and from a server."""

import pytest
from database_examples import (
    LAYOUTS,
    ODD,
    ODD_FILES,
    PREDICTIONS,
    a_planning,
    a_run,
    an_application,
    files,
    store_run,
    templates,
)

from iez_common.database import Database
from iez_common.errors import DatabaseError
from iez_common.knowledge import Outcome

pytest_plugins = ["database_fixtures"]
DAY_S = 86400.0


def test_an_application_is_made_once(database: Database) -> None:
    first = an_application(database)
    again = database.get_application("ann", "a" * 64, name="other", program="x", shape="y")
    assert again == first
    assert database.application(first.id) == first
    assert an_application(database, owner="Ann") != first, "owners differ by case"
    assert an_application(database, owner="ann ") != first, "and by a blank"
    assert database.application(999) is None


def test_applications_come_with_their_sums(database: Database) -> None:
    quiet = an_application(database, "b" * 64)
    busy = an_application(database)
    an_application(database, owner="bob")
    store_run(database, busy, a_run(1, 100.0), files(3))
    store_run(database, busy, a_run(2, 200.0), files(2))
    database.add_run(busy, a_run(3, 300.0))  # not complete: does not count
    newest, other = database.applications("ann")
    assert (newest.application, other.application) == (busy, quiet)
    assert (newest.run_count, newest.file_count, newest.last_run_s) == (2, 5, 200.0)
    assert newest.write_bytes == (1 + 2 + 1) << 20
    assert (other.run_count, other.file_count, other.write_bytes) == (0, 0, 0)
    assert other.last_run_s is None
    assert len(database.applications()) == 3


def test_a_word_finds_by_name_then_program_then_key(database: Database) -> None:
    make = database.get_application
    named = make("ann", "abc1", name="one", program="two", shape="")
    other = make("ann", "abc2", name="two", program="three", shape="")
    make("bob", "abc3", name="one", program="two", shape="")
    assert database.find_applications("ann", "one") == [named]
    assert database.find_applications("ann", "two") == [other], "the name comes first"
    assert database.find_applications("ann", "three") == [other]
    assert database.find_applications("ann", "abc") == [named, other]
    assert database.find_applications("ann", "ab_") == []
    assert database.find_applications("ann", "") == []


def test_an_epoch_starts_once(database: Database) -> None:
    application = an_application(database)
    newer = database.start_epoch(application, 0)
    assert newer is not None
    assert newer.epoch == 1
    assert database.start_epoch(application, 0) is None
    assert database.application(application.id) == newer


def test_what_an_older_epoch_learned_does_not_count(database: Database) -> None:
    application = an_application(database)
    database.save_templates(application, templates("a#"))
    store_run(database, application)
    newer = database.start_epoch(application, 0)
    assert newer is not None
    assert database.templates(newer) == []
    assert list(database.history(database.history_runs(newer))) == []
    assert database.known_paths(newer, [files(1)[0].path]) == set()
    assert len(database.runs(newer)) == 1, "its runs are still listed"


def test_templates_are_known_by_their_text_and_counts_add_up(database: Database) -> None:
    application = an_application(database)
    texts = ["{cwd}/b#", f"/l/{ODD}*", "A#", "a#", "x" * 5000]
    saved = database.save_templates(application, templates(*texts))
    assert [each.text for each in saved] == texts
    assert len({each.id for each in saved}) == len(texts)
    assert saved[0].fields == templates("t")[0].fields
    again = database.save_templates(application, templates("a#", "new#", "a#"))
    assert [each.file_count for each in again] == [15, 5, 15]
    assert [each.run_count for each in again] == [3, 1, 3]
    assert again[0].id == saved[3].id
    assert database.templates(application) == [*saved[:3], again[0], saved[4], again[1]]
    assert database.save_templates(application, []) == []


def test_templates_that_turn_out_to_be_one_become_it(database: Database) -> None:
    application = an_application(database)
    first, second, new = database.save_templates(application, templates("a1", "a2", "a*"))
    created = [*files(25_000, first.id), *files(2, second.id, ODD), *files(1, 0, "/other")]
    run_id = store_run(database, application, created=created)

    def values_of(its_run: int, path: str) -> tuple[str, ...] | None:
        assert its_run == run_id
        return (ODD, path[-2:]) if path.startswith("/") else None

    database.replace_templates([first.id, second.id], new.id, values_of)
    assert [(each.id, each.file_count) for each in database.templates(application)] == [
        (new.id, 15)
    ]
    now = list(database.files(run_id))
    assert [file.path for file in now] == [file.path for file in created]
    assert {file.template_id for file in now[:25_000]} == {new.id}
    assert now[77].field_values == (ODD, "77")
    assert [(file.template_id, file.field_values) for file in now[25_000:25_002]] == [(0, ())] * 2
    assert now[-1] == created[-1]


def test_files_come_back_as_they_went_in(database: Database) -> None:
    run_id = store_run(database, an_application(database), created=[*ODD_FILES, *files(5)])
    assert list(database.files(run_id)) == [*ODD_FILES, *files(5)]


def test_many_files_come_back_in_their_order(database: Database) -> None:
    """More than one batch, and more than one call."""
    application = an_application(database)
    run_id = database.add_run(application, a_run())
    assert run_id is not None
    created = files(45_000)
    assert database.add_files(run_id, created[:20_001]) == 20_001
    assert database.add_files(run_id, iter(created[20_001:])) == 24_999
    assert database.add_files(run_id, []) == 0
    database.complete_run(run_id, file_count=45_000, write_bytes=0, unknown_count=0)
    assert list(database.files(run_id)) == created
    rows = list(database.history(database.history_runs(application)))
    assert [row.write_bytes for row in rows] == [file.write_bytes for file in created]


def test_long_names_do_not_make_a_statement_too_long(database: Database) -> None:
    long = files(600, folder="/l/" + "'\\" * 20_000)  # 24 MB, twice that when quoted
    run_id = store_run(database, an_application(database), created=long)
    assert list(database.files(run_id)) == long


@pytest.mark.parametrize("identity", [1, 2**63 - 1, 2**63, 2**64 - 1])
def test_a_run_is_stored_once(database: Database, identity: int) -> None:
    application = an_application(database)
    run_id = store_run(database, application, a_run(identity))
    assert database.add_run(application, a_run(identity)) is None
    (stored,) = database.runs(application)
    assert stored.application_id == application.id
    assert stored.run.id == run_id
    assert stored.run.identity == identity
    assert stored.run.command == a_run().command
    assert stored.run.directory == a_run().directory
    assert (stored.run.file_count, stored.run.unknown_count) == (3, 1)
    assert database.run(run_id) == stored
    assert database.outcomes(run_id) == [
        Outcome("placed", "as planned", 3),
        Outcome("missed", ODD, 0),
    ]


def test_a_run_is_seen_when_it_is_complete(database: Database) -> None:
    application = an_application(database)
    run_id = database.add_run(application, a_run())
    assert run_id is not None
    database.add_files(run_id, files(3))
    assert database.runs() == []
    assert database.run(run_id) is None
    assert list(database.history(database.history_runs(application))) == []
    assert database.known_paths(application, [files(1)[0].path]) == set()
    assert database.newest_file(files(1)[0].path) is None
    database.complete_run(run_id, file_count=3, write_bytes=0, unknown_count=0)
    assert len(database.runs()) == 1
    with pytest.raises(DatabaseError, match="is complete or was deleted"):
        database.complete_run(run_id, file_count=3, write_bytes=0, unknown_count=0)


def test_runs_are_listed_newest_first(database: Database) -> None:
    mine, other = an_application(database), an_application(database, owner="bob")
    for identity, started_s in ((1, 300.0), (2, 100.0), (3, 200.0)):
        store_run(database, mine, a_run(identity, started_s))
    store_run(database, other, a_run(4, 400.0))
    assert [each.run.identity for each in database.runs()] == [4, 1, 3, 2]
    assert [each.run.identity for each in database.runs(owner="ann")] == [1, 3, 2]
    assert [each.run.identity for each in database.runs(mine, limit=2)] == [1, 3]


def test_a_load_that_died_is_removed_after_a_day(database: Database, now: list[float]) -> None:
    application = an_application(database)
    run_id = database.add_run(application, a_run())
    assert run_id is not None
    database.add_files(run_id, files(3))
    now[0] += DAY_S - 1
    assert database.add_run(application, a_run()) is None, "it may still be loading"
    now[0] += 2
    assert database.add_run(application, a_run()) is not None
    assert dict(database.info().rows)["files"] == 0


def test_a_load_can_be_taken_back(database: Database) -> None:
    application = an_application(database)
    run_id = database.add_run(application, a_run())
    assert run_id is not None
    database.add_files(run_id, files(3))
    database.abandon_run(run_id)
    assert dict(database.info().rows)["files"] == 0
    with pytest.raises(DatabaseError, match="was deleted meanwhile"):
        database.add_files(run_id, files(3))
    assert database.add_run(application, a_run()) is not None


def test_history_is_oldest_first_and_of_the_newest_runs(database: Database) -> None:
    application = an_application(database)
    for identity, started_s in ((1, 300.0), (2, 100.0), (3, 200.0)):
        store_run(database, application, a_run(identity, started_s), files(2))
    runs = database.history_runs(application, 2)
    assert [run.identity for run in runs] == [3, 1]
    rows = list(database.history(database.history_runs(application, 2)))
    assert [row.run_ordinal for row in rows] == [0, 0, 1, 1]
    assert [row.run_id for row in rows] == [runs[0].id, runs[0].id, runs[1].id, runs[1].id]
    file = files(2)[1]
    assert rows[1] == (
        file.template_id, 0, runs[0].id, file.field_values, file.mpi_rank, file.write_bytes,
        file.first_write_s, file.writers, file.access_bytes, file.stripe_count, file.outcome,
    )  # fmt: skip


def test_history_leaves_failed_runs_out_where_there_are_others(database: Database) -> None:
    application = an_application(database)
    store_run(database, application, a_run(1, 100.0, status=1))
    assert [run.identity for run in database.history_runs(application)] == [1]
    store_run(database, application, a_run(2, 200.0))
    store_run(database, application, a_run(3, 300.0, status=137))
    assert [run.identity for run in database.history_runs(application)] == [2]
    all_runs = database.history_runs(application, only_successful=False)
    assert [run.identity for run in all_runs] == [1, 2, 3]


def test_paths_are_found(database: Database) -> None:
    application, other = an_application(database), an_application(database, "b" * 64)
    created = [*files(1200), ODD_FILES[0]]
    store_run(database, application, a_run(1, 100.0), created)
    store_run(database, application, a_run(2, 50.0), created[:1])
    paths = [file.path for file in created]
    assert database.known_paths(application, [*paths, "/no", ODD]) == set(paths)
    assert database.known_paths(other, paths) == set()
    found = database.newest_file(ODD_FILES[0].path)
    assert found is not None
    assert (found[0].run.identity, found[1]) == (1, ODD_FILES[0])
    first = database.newest_file(paths[0], owner="ann", application=application)
    assert first is not None
    assert first[0].run.identity == 1
    assert database.newest_file(paths[0], owner="bob") is None
    assert database.newest_file(paths[0], application=other) is None


def test_plannings_come_back_and_the_last_three_are_kept(database: Database) -> None:
    application = an_application(database)
    run_id = store_run(database, application)
    assert database.newest_planning(application) is None
    for made_s in (100.0, 200.0, 300.0, 400.0, 350.0):
        database.save_planning(application, a_planning(made_s, run_id), PREDICTIONS, LAYOUTS)
    newest = database.newest_planning(application)
    assert newest is not None
    assert newest.planning == a_planning(400.0, run_id)
    assert list(database.predictions(newest.id)) == PREDICTIONS
    assert list(database.layouts(newest.id)) == LAYOUTS
    assert dict(database.info().rows)["plannings"] == 3
    assert dict(database.info().rows)["allocations"] == 3 * len(LAYOUTS)
    found = database.newest_layout(LAYOUTS[0].path, owner="ann")
    assert found == (newest, LAYOUTS[0])
    assert database.newest_layout(LAYOUTS[0].path, owner="bob") is None
    assert database.newest_layout(LAYOUTS[0].path, application=application) == found
    database.prune(keep_runs=0)
    after = database.newest_planning(application)
    assert after is not None
    assert after.planning.after_run_id == 0, "the run is gone"


def test_plannings_of_what_ran_at_the_same_time_are_found(database: Database) -> None:
    own = an_application(database)
    keys = {name: name * 64 for name in "bcde"}
    others = {name: an_application(database, key) for name, key in keys.items()}
    foreign = an_application(database, "f" * 64, owner="bob")
    last = a_run(started_s=100.0)  # to 110.25
    store_run(database, own, last)
    for name, started_s in (("b", 104.0), ("c", 106.0), ("d", 500.0), ("e", 95.0)):
        store_run(database, others[name], a_run(started_s=started_s))
    store_run(database, foreign, last)
    assert database.plannings_beside(own, last) == [], "nothing is planned yet"
    for application in (own, foreign, *others.values()):
        database.save_planning(application, a_planning(100.0), [], LAYOUTS)
    newer = database.save_planning(others["b"], a_planning(200.0), [], LAYOUTS)
    found = [(each, planning.id) for each, _, planning in database.plannings_beside(own, last)]
    at_half = database.newest_planning(others["e"])
    assert at_half is not None
    assert found == [(others["b"].id, newer), (others["e"].id, at_half.id)]


def test_a_planning_that_fails_half_way_is_not_seen(database: Database) -> None:
    application = an_application(database)

    def broken() -> "list[object]":
        yield from PREDICTIONS
        raise KeyError("half way")

    with pytest.raises(KeyError):
        database.save_planning(application, a_planning(), broken(), LAYOUTS)
    assert database.newest_planning(application) is None


def test_forgetting_takes_all_of_one_application_and_nothing_else(database: Database) -> None:
    kept, gone = an_application(database), an_application(database, "b" * 64)
    for application in (kept, gone):
        database.save_templates(application, templates("a#"))
        run_id = store_run(database, application)
        database.save_planning(application, a_planning(200.0, run_id), PREDICTIONS, LAYOUTS)
    database.forget(gone)
    assert [each.application for each in database.applications()] == [kept]
    assert dict(database.info().rows) == {
        "applications": 1, "templates": 1, "runs": 1, "files": 3, "outcomes": 2,
        "plannings": 1, "predictions": 2, "allocations": 3,
    }  # fmt: skip
    database.forget(gone)


def test_files_of_old_runs_go_and_the_runs_stay(database: Database) -> None:
    application = an_application(database)
    for number in range(1, 5):
        store_run(database, application, a_run(identity=number, started_s=float(number)))
    assert database.drop_old_files(application, 2) == 6
    assert database.drop_old_files(application, 2) == 0
    counts = [len(list(database.files(each.run.id))) for each in database.runs(application)]
    assert counts == [3, 3, 0, 0]


def test_prune_keeps_the_newest_and_drops_the_old(database: Database, now: list[float]) -> None:
    application, other = an_application(database), an_application(database, "b" * 64)
    for identity in range(1, 6):
        store_run(database, application, a_run(identity, now[0] - identity * DAY_S))
    store_run(database, other, a_run(9, now[0] - 9 * DAY_S))
    pruned = database.prune()
    assert (pruned.run_count, pruned.file_count) == (0, 0)
    pruned = database.prune(keep_runs=4)
    assert (pruned.run_count, pruned.file_count) == (1, 3)
    pruned = database.prune(older_than_s=2.5 * DAY_S, owner="ann")
    assert (pruned.run_count, pruned.file_count) == (3, 9)
    assert [each.run.identity for each in database.runs()] == [1, 2]
    now[0] += 10 * DAY_S
    assert database.prune(older_than_s=DAY_S, owner="bob").run_count == 0
