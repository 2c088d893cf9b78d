"""The SQLite file: made private, refused when it is not ours, set aside when it is damaged."""

import contextlib
import os
import pwd
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from database_examples import a_run, an_application, files, store_run

from iez_common.database import open_database
from iez_common.database.migrate import APPLICATION_ID
from iez_common.errors import (
    DatabaseDamagedError,
    DatabaseError,
    DatabaseForeignError,
    DatabaseUnavailableError,
    DatabaseWriteError,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "iez.db"


def url_of(path: Path) -> str:
    return f"sqlite:///{path}"


def fill(path: Path, count: int = 5) -> None:
    with open_database(url_of(path)) as database:
        store_run(database, an_application(database), created=files(count))


def run_count(path: Path) -> int:
    with open_database(url_of(path)) as database:
        return len(database.runs())


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_and_its_directory_are_for_the_user_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        fill(path)
    finally:
        os.umask(before)
    assert mode_of(path) == 0o600
    assert mode_of(path.parent) == 0o700
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert sorted(path.parent.iterdir()) == [path], "nothing else is left"


@pytest.mark.parametrize("name", ["a b?c=d#e%41.db", "ü.db", os.fsdecode(b"\xff.db")])
def test_odd_file_names_are_taken_as_they_are(tmp_path: Path, name: str) -> None:
    fill(tmp_path / name)
    assert os.listdir(tmp_path) == [name]  # noqa: PTH208 - names as they are
    assert run_count(tmp_path / name) == 1


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    fill(path)
    assert run_count(path) == 1


def damage_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"not a database at all")


def damage_text(path: Path) -> None:
    path.write_text("hello\n" * 1000)


def damage_cut(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def damage_cut_odd(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(1000)


def damage_schema(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 3000)


@pytest.mark.parametrize(
    "damage", [damage_header, damage_text, damage_cut, damage_cut_odd, damage_schema]
)
def test_a_damaged_file_is_set_aside_and_named(path: Path, damage: object) -> None:
    fill(path, 2000)
    damage(path)  # type: ignore[operator]
    damaged = path.read_bytes()
    Path(f"{path}-journal").write_bytes(b"of the damaged one")
    clock_s = time.mktime((2026, 11, 18, 14, 15, 16, 0, 0, -1))
    with open_database(url_of(path), clock=lambda: clock_s) as database:
        assert database.set_aside == path.with_name("iez.db.damaged-20261118-141516")
        assert database.set_aside.read_bytes() == damaged
        assert database.runs() == []
        store_run(database, an_application(database))
    assert mode_of(path) == 0o600
    assert run_count(path) == 1
    with open_database(url_of(path)) as database:
        assert database.set_aside is None


def test_files_set_aside_in_the_same_second_do_not_replace_each_other(path: Path) -> None:
    for _ in range(3):
        path.parent.mkdir(exist_ok=True)
        path.write_text("damaged")
        open_database(url_of(path), clock=lambda: 1e9).close()
    assert len(list(path.parent.glob("iez.db.damaged-*"))) == 3


def test_damage_that_shows_up_later_is_an_error_and_set_aside(path: Path) -> None:
    fill(path, 30_000)
    with path.open("r+b") as file:
        size_bytes = path.stat().st_size
        file.seek(size_bytes // 4)
        file.write(b"\xff" * (size_bytes // 2))
    with open_database(url_of(path)) as database:
        assert database.set_aside is None, "the beginning is whole"
        (stored,) = database.runs()
        with pytest.raises(DatabaseDamagedError, match=r"renamed to .*iez.db.damaged-") as caught:
            list(database.files(stored.run.id))
        assert caught.value.exit_code == 65
    assert run_count(path) == 0, "the next one begins afresh"


def test_a_transaction_that_was_killed_leaves_nothing(path: Path, tmp_path: Path) -> None:
    """The journal of a killed process is played back."""
    fill(path, 2000)
    program = f"""
import os, sqlite3
connection = sqlite3.connect({str(path)!r}, isolation_level=None)
connection.execute("PRAGMA cache_size = 5")
connection.execute("BEGIN IMMEDIATE")
connection.execute("UPDATE files SET writers = 77")
connection.execute("DELETE FROM runs")
os.kill(os.getpid(), 9)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    assert Path(f"{path}-journal").exists()
    with open_database(url_of(path)) as database:
        assert database.set_aside is None
        (stored,) = database.runs()
        assert list(database.files(stored.run.id)) == files(2000)


@pytest.mark.parametrize("sql", ["CREATE TABLE t (a)", "CREATE VIEW v AS SELECT 1",
                                 "PRAGMA application_id = 7"])  # fmt: skip
def test_a_foreign_file_is_refused_and_not_touched(path: Path, sql: str) -> None:
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(sql)
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(DatabaseForeignError, match="something else") as caught:
        open_database(url_of(path), upgrade=True)
    assert caught.value.exit_code == 65
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_directory_in_the_way_is_named(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(DatabaseWriteError, match="is a directory"):
        open_database(url_of(path))


def test_a_file_in_place_of_the_directory_is_named(path: Path) -> None:
    path.parent.write_text("")
    with pytest.raises(DatabaseWriteError, match="cannot be made: "):
        open_database(url_of(path))


def test_a_lock_that_stays_is_an_error_that_says_so(path: Path) -> None:
    fill(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(DatabaseUnavailableError, match="is locked") as caught:
            open_database(url_of(path), patience_s=0.2)
        assert caught.value.exit_code == 69
        other.execute("ROLLBACK")
    assert run_count(path) == 1


def test_a_reader_does_not_lock_writers_out_between_items(path: Path) -> None:
    fill(path, 45_000)
    with open_database(url_of(path), patience_s=0.2) as reader:
        rows = reader.history(reader.history_runs(reader.applications()[0].application))
        next(rows)
        with open_database(url_of(path), patience_s=0.2) as writer:
            store_run(writer, an_application(writer, "b" * 64), a_run(2))
        assert sum(1 for _ in rows) == 44_999


def test_pruning_gives_the_space_back(path: Path) -> None:
    fill(path, 30_000)
    size_bytes = path.stat().st_size
    with open_database(url_of(path)) as database:
        database.prune(keep_runs=0)
        assert database.info().size_bytes == path.stat().st_size < size_bytes / 10


WRITER = """
import resource, sys
sys.path.insert(0, {folder!r})
from database_examples import an_application, files, store_run
from iez_common.database import open_database
from iez_common.errors import DatabaseError
database = open_database({url!r}, patience_s=5)
{limit}
try:
    store_run(database, an_application(database, "b" * 64), created=files(40_000))
except DatabaseError as error:
    print(type(error).__name__, error.exit_code, error.message)
"""


def write_in_process(path: Path, limit: str) -> str:
    program = WRITER.format(folder=str(Path(__file__).parent), url=url_of(path), limit=limit)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_full_disk_is_an_error_and_what_was_there_stays(path: Path) -> None:
    fill(path)
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))"
    said = write_in_process(path, limit)
    assert said.startswith(f"DatabaseWriteError 73 {path} cannot")
    assert run_count(path) == 1
    with open_database(url_of(path)) as database:
        assert database.set_aside is None
        store_run(database, an_application(database, "c" * 64))


def test_a_full_file_system_is_an_error_and_what_was_there_stays(tmp_path: Path) -> None:
    mount = tmp_path / "small"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(mount)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("a file system cannot be mounted here")
    try:
        fill(mount / "iez.db")
        said = write_in_process(mount / "iez.db", "")
        assert said.startswith("DatabaseWriteError 73 ")
        assert "the disk is full" in said
        assert run_count(mount / "iez.db") == 1
    finally:
        subprocess.run(["umount", mount], check=True)


def test_a_read_only_file_can_be_read() -> None:
    """Root may write to it all the same: such a process becomes another user first."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "iez.db"
        fill(path)
        path.chmod(0o444)
        path.parent.chmod(0o555)
        again = f"""
database.close()
import os
if os.geteuid() == 0:
    os.setuid({pwd.getpwnam("nobody").pw_uid})
database = open_database({url_of(path)!r})
print(len(database.runs()))
"""
        said = write_in_process(path, again)
        path.parent.chmod(0o755)
        assert said.splitlines() == ["1", f"DatabaseWriteError 73 {path} is read-only"]


def test_other_trouble_is_told_in_the_words_of_the_database(path: Path) -> None:
    fill(path)
    with open_database(url_of(path)) as database:
        with contextlib.closing(sqlite3.connect(path)) as other:
            other.execute("DROP TABLE templates")
        with pytest.raises(DatabaseError, match="no such table: templates") as caught:
            database.templates(an_application(database))
    assert caught.value.exit_code == 70
    assert "SELECT" not in str(caught.value)
