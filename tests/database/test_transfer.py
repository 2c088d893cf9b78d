"""Export and import: everything arrives, once, or nothing does."""

import io
import json
from pathlib import Path

import pytest
from database_examples import (
    BIG,
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

from iez_common.database import Database, Imported, open_database
from iez_common.errors import ExportError
from iez_common.knowledge import Application

pytest_plugins = ["database_fixtures"]


def fill(database: Database) -> None:
    """Two applications; ids differ from those of an empty database."""
    database.forget(an_application(database, "f" * 64))
    for owner in ("ann", f"b{ODD}"):
        application = an_application(database, owner=owner)
        database.save_templates(application, templates("old#"))
        store_run(database, application, a_run(5, 50.0), files(2, template_id=0))
        newer = database.start_epoch(application, 0)
        assert newer is not None
        first, second = database.save_templates(newer, templates(f"/l/{ODD}#", "b*"))
        created = [*files(3, first.id), *files(2, second.id, "/other")]
        run_id = store_run(database, newer, a_run(2**64 - 1), created)
        predictions = [*PREDICTIONS[1:]]
        database.save_planning(newer, a_planning(200.0, run_id), predictions, LAYOUTS)
    store_run(database, newer, a_run(6, 70.0, status=9), files(20_500, second.id))
    database.add_run(application, a_run(99))  # being loaded: is not exported


def export(database: Database) -> bytes:
    stream = io.BytesIO()
    database.export_to(stream)
    return stream.getvalue()


def without_ids(exported: bytes) -> list[dict[str, object]]:
    """The lines with ids replaced by what they stand for."""
    lines = [json.loads(line) for line in exported.splitlines()]
    texts = {line["id"]: line["text"] for line in lines if line["kind"] == "template"}
    identities = {line["id"]: line["identity"] for line in lines if line["kind"] == "run"}
    for line in lines:
        line.pop("id", None)
        if "template_id" in line:
            line["template_id"] = texts.get(line["template_id"], "")
        if "after_run_id" in line:
            line["after_run_id"] = identities[line["after_run_id"]]
    return lines


def test_everything_arrives_and_a_second_time_adds_nothing(
    database: Database, second_url: str
) -> None:
    fill(database)
    exported = export(database)
    with open_database(second_url) as other:
        assert other.import_from(io.BytesIO(exported)) == Imported(2, 6, 5, 20_514, 2)
        assert without_ids(export(other)) == without_ids(exported)
        assert other.import_from(io.BytesIO(exported)) == Imported(0, 0, 0, 0, 0)
        assert without_ids(export(other)) == without_ids(exported)
        arrived = other.applications("ann")[0].application
        assert arrived.epoch == 1
        # And back again, where all of it is still there.
        assert database.import_from(io.BytesIO(export(other))) == Imported(0, 0, 0, 0, 0)


def test_what_is_new_is_added_to_what_is_there(database: Database, second_url: str) -> None:
    application = an_application(database)
    store_run(database, application, a_run(1))
    with open_database(second_url) as other:
        mine = an_application(other)
        newer = other.start_epoch(mine, 0)
        assert newer is not None
        (template,) = other.save_templates(newer, templates("a#"))
        store_run(other, newer, a_run(2), files(2, template.id))
        exported = export(other)
    assert database.import_from(io.BytesIO(exported)) == Imported(0, 1, 1, 2, 0)
    assert [each.run.identity for each in database.runs()] == [2, 1]
    assert database.application(application.id) == Application(
        application.owner, application.key, application.name, application.program,
        application.shape, epoch=1, id=application.id,
    )  # fmt: skip


def test_odd_names_and_numbers_survive(database: Database, second_url: str) -> None:
    application = an_application(database)
    created = [each for each in ODD_FILES if each.template_id == 0]
    created.append(files(1, template_id=0)[0])
    store_run(database, application, created=created)
    with open_database(second_url) as other:
        other.import_from(io.BytesIO(export(database)))
        (stored,) = other.runs()
        assert list(other.files(stored.run.id)) == created
        assert created[0].write_bytes == BIG


def damaged(exported: bytes) -> dict[str, tuple[bytes, str]]:
    """Exports with something wrong, and what is said about it."""
    lines = exported.splitlines(keepends=True)
    run = next(number for number, line in enumerate(lines) if b'"kind":"run"' in line)
    file = next(number for number, line in enumerate(lines) if b'"kind":"file"' in line)

    def with_line(number: int, line: bytes) -> bytes:
        return b"".join([*lines[:number], line, *lines[number + 1 :]])

    return {
        "empty": (b"", "ends after line 0"),
        "other": (b'{"a": 1}\n', "line 1 makes no sense"),
        "format": (with_line(0, b'{"kind":"header","format":"x","schema":1}\n'), "no export"),
        "newer": (
            with_line(0, b'{"kind":"header","format":"iez database","schema":2}\n'),
            "a newer iez",
        ),
        "headless": (b"".join(lines[1:]), "line 1 makes no sense: the header"),
        "cut": (b"".join(lines[:-1]), f"ends after line {len(lines) - 1}"),
        "cut in a line": (exported[:-10], f"line {len(lines)} makes no sense: it is not JSON"),
        "line lost": (with_line(file, b""), f"line {len(lines) - 1} makes no sense"),
        "more": (exported + lines[1], f"line {len(lines)} makes no sense"),
        "deep": (with_line(file, b"[" * 100_000 + b"\n"), f"line {file + 1} makes no sense"),
        "list": (with_line(file, b"[]\n"), f"line {file + 1} makes no sense: it is not an object"),
        "binary": (with_line(file, b"\xff\xfe\n"), f"line {file + 1} makes no sense"),
        "kind": (with_line(file, b'{"kind":"fish"}\n'), f"line {file + 1} .*'fish'"),
        "field": (
            with_line(file, lines[file].replace(b'"writers":1', b'"writers":"1"')),
            f"line {file + 1} .*'writers'",
        ),
        "huge": (
            with_line(file, lines[file].replace(b'"writers":1', b'"writers":9999999999999999999')),
            f"line {file + 1} .*'writers'",
        ),
        "lacks": (
            with_line(file, lines[file].replace(b'"writers"', b'"authors"')),
            f"line {file + 1} .*'authors'",
        ),
        "template": (
            with_line(file, lines[file].replace(b'"template_id":', b'"template_id":77')),
            f"line {file + 1} .*no such template",
        ),
        "orphan": (with_line(run, lines[file]), f"line {run + 1} .*belongs to nothing"),
        "stray": (with_line(1, lines[run]), "line 2 .*no application"),
        "half a surrogate": (
            with_line(file, lines[file].replace(b'"/lustre', b'"\\ud800/lustre')),
            f"line {file + 1} .*'path'",
        ),
    }


def test_a_damaged_export_is_named_by_its_line_and_nothing_is_imported(
    database: Database, second_url: str
) -> None:
    with open_database(second_url) as other:
        application = an_application(other)
        (template,) = other.save_templates(application, templates("a#"))
        store_run(other, application, created=files(3, template.id))
        exported = export(other)
    before = export(database)
    for name, (wrong, words) in damaged(exported).items():
        with pytest.raises(ExportError, match=words):
            database.import_from(io.BytesIO(wrong))
        assert export(database) == before, name
    assert database.import_from(io.BytesIO(exported)).run_count == 1


def test_an_export_is_ascii_lines(database: Database, tmp_path: Path) -> None:
    fill(database)
    exported = export(database)
    exported.decode("ascii")
    kinds = [json.loads(line)["kind"] for line in exported.splitlines()]
    assert kinds[0] == "header"
    assert kinds[-1] == "end"
    assert kinds.count("application") == 2
