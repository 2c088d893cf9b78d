"""Versions of the schema: the scripts lead to what the code expects; old, newer, half-way."""

import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from database_examples import a_run, an_application, files, store_run

from iez_common.database import open_database, schema
from iez_common.database.address import parse_address
from iez_common.database.engine import make_engine
from iez_common.database.migrate import MIGRATIONS, VERSION_TABLE, known_revisions
from iez_common.errors import DatabaseForeignError

pytest_plugins = ["database_fixtures"]
NEXT = """
import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = {newest!r}


def upgrade():
    op.add_column("runs", sa.Column("mood", sa.String(20), nullable=False, server_default="good"))
    op.create_index("runs_mood", "runs", ["mood"])
    {more}
"""


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """The scripts of a later iez."""
    return later_scripts(tmp_path / "later")


def later_scripts(folder: Path, more: str = "") -> Path:
    shutil.copytree(MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    text = NEXT.format(newest=known_revisions()[-1], more=more)
    (folder / "versions" / "r9999_mood.py").write_text(text)
    return folder


def columns_of(url: str, table: str) -> set[str]:
    engine = make_engine(parse_address(url), 5)
    try:
        return {column["name"] for column in sa.inspect(engine).get_columns(table)}
    finally:
        engine.dispose()


def test_the_scripts_make_the_tables_that_the_code_uses(url: str) -> None:
    open_database(url, upgrade=True).close()
    engine = make_engine(parse_address(url), 5)
    try:
        with engine.connect() as connection:
            options = {"version_table": VERSION_TABLE, "compare_type": False}
            context = MigrationContext.configure(connection, opts=options)
            assert compare_metadata(context, schema.metadata) == []
    finally:
        engine.dispose()


def test_the_names_of_the_scripts_tell_their_order() -> None:
    scripts = ScriptDirectory(str(MIGRATIONS))
    in_order = [script.revision for script in scripts.walk_revisions()]
    assert known_revisions() == in_order[::-1]


def test_an_older_database_is_upgraded_with_all_that_is_in_it(url: str, later: Path) -> None:
    with open_database(url, upgrade=True) as database:
        run_id = store_run(database, an_application(database))
    with open_database(url, upgrade=True, migrations=later) as database:
        assert database.info().revision == "9999"
        assert list(database.files(run_id)) == files(3)
    assert "mood" in columns_of(url, "runs")


def test_a_file_is_upgraded_when_it_is_opened_and_a_server_is_not(url: str, later: Path) -> None:
    open_database(url, upgrade=True).close()
    if url.startswith("sqlite"):
        with open_database(url, migrations=later) as database:
            assert database.info().revision == "9999"
        return
    with pytest.raises(DatabaseForeignError, match="the tables of an older iez") as caught:
        open_database(url, migrations=later)
    assert caught.value.hint == "iez db upgrade"
    assert "mood" not in columns_of(url, "runs")


def test_a_newer_database_is_refused_and_not_touched(url: str, later: Path) -> None:
    open_database(url, upgrade=True, migrations=later).close()
    for upgrade in (False, True):
        with pytest.raises(DatabaseForeignError, match="made by a newer iez: schema 9999"):
            open_database(url, upgrade=upgrade)
    with open_database(url, migrations=later) as database:
        assert database.info().revision == "9999"


def test_an_upgrade_of_a_file_that_fails_changes_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/iez.db"
    with open_database(url) as database:
        store_run(database, an_application(database), a_run())
    broken = later_scripts(tmp_path / "broken", 'raise RuntimeError("half way")')
    with pytest.raises(RuntimeError, match="half way"):
        open_database(url, migrations=broken)
    assert "mood" not in columns_of(url, "runs")
    with open_database(url) as database:
        assert len(database.runs()) == 1
