"""`iez db …` as a user types it."""

import gzip
import json
import os
import pwd
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from database_examples import a_run, an_application, files, store_run
from mariadb_server import PASSWORD, QUOTED_PASSWORD, MariaDbServer

from iez_common.database import open_database

pytest_plugins = ["database_fixtures"]
ROOT = Path(__file__).parents[2]
DAY_S = 86400.0


class CommandLine:
    """Runs `iez db WORDS…` for a database."""

    def __init__(self, home: Path, address: str) -> None:
        self.home = home
        self.address = address

    def __call__(
        self, *words: str, under: Sequence[str] = (), **options: object
    ) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [*under, sys.executable, "-W", "error", "-m", "iez_client.cli.main", "db", *words],
            env={
                **{name: each for name, each in os.environ.items() if not name.startswith("IEZ_")},
                "HOME": str(self.home),
                "PYTHONPATH": str(ROOT),
                "IEZ_DATABASE": self.address,
            },
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
            **options,
        )
        assert PASSWORD not in done.stdout + done.stderr
        assert QUOTED_PASSWORD not in done.stdout + done.stderr
        return done


@pytest.fixture
def iez_db(url: str, tmp_path: Path) -> CommandLine:
    with open_database(url, upgrade=True) as database:
        owner = pwd.getpwuid(os.getuid()).pw_name
        mine, other = an_application(database, owner=owner), an_application(database, owner="bob")
        for identity in (1, 2, 3):
            store_run(database, mine, a_run(identity, identity * DAY_S), files(100))
        store_run(database, other, a_run(9), files(2))
    return CommandLine(tmp_path, url.removeprefix("sqlite:///"))


def counts(line: CommandLine) -> dict[str, int]:
    rows: dict[str, int] = json.loads(line("info", "--json").stdout)["rows"]
    return rows


def test_info_tells_what_is_there(iez_db: CommandLine) -> None:
    done = iez_db("info")
    assert done.returncode == 0
    first, *table = done.stdout.splitlines()
    assert "schema 0001" in first
    assert "SQLite 3." in first or "MariaDB 10." in first
    assert table[0].split() == ["TABLE", "ROWS"]
    assert ["files", "302"] in [line.split() for line in table]
    told = json.loads(iez_db("info", "--json").stdout)
    assert told["schema"] == 1
    assert told["revision"] == "0001"
    assert told["rows"]["runs"] == 4
    assert told["size_bytes"] > 10_000


def test_what_was_exported_can_be_imported_elsewhere(iez_db: CommandLine, tmp_path: Path) -> None:
    done = iez_db("export", "-o", "iez.jsonl")
    assert done.stdout == "iez.jsonl: 316 records\n"
    assert (tmp_path / "iez.jsonl").stat().st_mode & 0o777 == 0o600
    assert iez_db("export").stdout == (tmp_path / "iez.jsonl").read_text()
    other = CommandLine(tmp_path, "new.db")
    done = other("import", "iez.jsonl")
    place = tmp_path / "new.db"
    assert done.stderr == ""
    said = f"{place}: 2 applications, 4 runs, 302 files, 0 plannings added\n"
    assert done.stdout == said
    assert counts(other) == counts(iez_db)
    again = other("import", "/dev/stdin", input=(tmp_path / "iez.jsonl").read_text())
    assert again.stdout == f"{place}: 0 applications, 0 runs, 0 files, 0 plannings added\n"


@pytest.mark.parametrize("name", ["-", "iez.jsonl.gz"])
def test_a_compressed_export_is_imported_from_a_file_and_a_pipe(
    iez_db: CommandLine, tmp_path: Path, name: str
) -> None:
    packed = gzip.compress(iez_db("export").stdout.encode())
    (tmp_path / "iez.jsonl.gz").write_bytes(packed)
    other = CommandLine(tmp_path, "new.db")
    script = 'cat iez.jsonl.gz | "$@"'
    done = other("import", name, under=("sh", "-c", script, "sh"))
    assert (done.returncode, done.stderr) == (0, "")
    assert counts(other) == counts(iez_db)
    for damaged in (packed[:-9], packed[:20] + b"damaged" + packed[27:]):
        (tmp_path / "iez.jsonl.gz").write_bytes(damaged)
        done = other("import", name, under=("sh", "-c", script, "sh"))
        assert (done.returncode, done.stdout) == (65, "")
        shown = "standard input" if name == "-" else name
        assert done.stderr == f"iez: {shown}: it is compressed, and damaged\n"


def test_a_damaged_export_is_one_line_and_nothing_changes(
    iez_db: CommandLine, tmp_path: Path
) -> None:
    before = counts(iez_db)
    (tmp_path / "bad").write_text('{"kind":"header","format":"iez database","schema":1}\n{\n')
    done = iez_db("import", "bad")
    assert (done.returncode, done.stdout) == (65, "")
    assert done.stderr == "iez: bad: line 2 makes no sense: it is not JSON\n"
    assert iez_db("import", "none").returncode == 66
    assert counts(iez_db) == before


def test_prune_deletes_the_users_own_runs(iez_db: CommandLine) -> None:
    done = iez_db("prune", "--keep", "2")
    assert "1 run and 100 files deleted" in done.stdout
    done = iez_db("prune", "--older", "90d")
    assert "2 runs and 200 files deleted" in done.stdout
    assert counts(iez_db)["runs"] == 1, "bob's"
    assert "1 run and 2 files deleted" in iez_db("prune", "--older", "1y", "--all-users").stdout


@pytest.mark.parametrize("words", [("--older", "90"), ("--older", "x"), ("--keep", "-1")])
def test_prune_refuses_what_makes_no_sense(tmp_path: Path, words: tuple[str, str]) -> None:
    done = CommandLine(tmp_path, "new.db")("prune", *words)
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == []


def test_commands_that_only_tell_make_no_file(tmp_path: Path) -> None:
    line = CommandLine(tmp_path, "new.db")
    for words in (("export",), ("prune",)):
        assert line(*words).returncode == 66
    done = line("info")
    place = tmp_path / "new.db"
    said = f"{place}: not there yet; the first run that is learned from makes it\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")
    told = json.loads(line("info", "--json").stdout)
    assert told["place"] == str(place)
    assert (told["revision"], told["rows"], told["size_bytes"]) == (None, {}, 0)
    assert list(tmp_path.iterdir()) == []
    assert line("upgrade").stdout == f"{place}: schema 0001\n"


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "iez.db").write_text("damaged")
    done = CommandLine(tmp_path, "iez.db")("info")
    assert done.returncode == 0
    aside = next(tmp_path.glob("iez.db.damaged-*"))
    assert done.stderr.count("\n") == 1
    assert str(aside) in done.stderr


@pytest.mark.mariadb
def test_a_server_is_made_ready_by_upgrade(server: MariaDbServer, tmp_path: Path) -> None:
    line = CommandLine(tmp_path, server.url(server.new_database()))
    done = line("info")
    assert done.returncode == 65
    assert done.stderr.endswith("has no tables of iez\n  try: iez db upgrade\n")
    assert line("upgrade").returncode == 0
    assert line("info").returncode == 0
    wrong = CommandLine(tmp_path, line.address.replace(QUOTED_PASSWORD, "wrong-geheim"))
    done = wrong("info")
    assert done.returncode == 69
    assert "wrong-geheim" not in done.stderr
    assert done.stderr.count("\n") == 2
