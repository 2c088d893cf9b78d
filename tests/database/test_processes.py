"""Ten processes at once: making the database, writing to it, finding it damaged."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from database_examples import an_application, templates

from iez_common.database import open_database

pytest_plugins = ["database_fixtures"]
PROCESSES = 10
START = """
import sys, time
sys.path.insert(0, {folder!r})
from database_examples import *
from iez_common.database import open_database
from iez_common.knowledge import Template
number = int(sys.argv[1])
print("ready", flush=True)
sys.stdin.read()
"""


def run_at_once(program: str) -> list[str]:
    """What each of ten processes printed; they wait for each other before they begin."""
    text = START.format(folder=str(Path(__file__).parent)) + program
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", text, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.stdout.read()
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    said = [process.communicate()[0] for process in processes]
    failed = [words for process, words in zip(processes, said, strict=True) if process.returncode]
    assert not failed, failed[0]
    return said


def test_ten_processes_make_and_fill_a_new_database(url: str) -> None:
    said = run_at_once(
        f"""
with open_database({url!r}, upgrade=True) as database:
    application = an_application(database)
    for round in range(2):
        run_id = store_run(database, application, a_run(10 * number + round), files(500))
        assert list(database.files(run_id)) == files(500)
        database.save_templates(application, templates("a#", "b#", f"own{{number}}#"))
        database.save_planning(application, a_planning(number), PREDICTIONS, LAYOUTS)
    print(application.id, database.set_aside)
"""
    )
    assert len(set(said)) == 1, "one application, and nobody found damage"
    with open_database(url) as database:
        application = an_application(database)
        assert len(database.runs(application)) == 20
        assert dict(database.info().rows)["files"] == 10_000
        assert dict(database.info().rows)["plannings"] == 3
        counts = {each.text: each.run_count for each in database.templates(application)}
        assert counts == {"a#": 20, "b#": 20, **{f"own{number}#": 2 for number in range(10)}}


def test_one_of_ten_loads_a_run_and_one_starts_an_epoch(url: str) -> None:
    with open_database(url, upgrade=True) as database:
        database.save_templates(an_application(database), templates("a#"))
    said = run_at_once(
        f"""
with open_database({url!r}) as database:
    application = an_application(database)
    print(database.add_run(application, a_run()) is not None)
    print(database.start_epoch(application, 0) is not None)
"""
    )
    words = Counter(line for each in said for line in each.split())
    assert words == {"True": 2, "False": 18}


def test_ten_processes_set_a_damaged_file_aside_once(tmp_path: Path) -> None:
    path = tmp_path / "iez.db"
    path.write_bytes(b"damaged" * 1000)
    said = run_at_once(
        f"""
with open_database("sqlite:///{path}") as database:
    store_run(database, an_application(database), a_run(number))
    print(database.set_aside is not None)
"""
    )
    assert Counter(each.strip() for each in said) == {"True": 1, "False": 9}
    assert len(list(tmp_path.glob("*.damaged-*"))) == 1
    with open_database(f"sqlite:///{path}") as database:
        assert len(database.runs()) == 10, "no run went with the damaged file"


@pytest.mark.mariadb
def test_ten_processes_upgrade_a_server_at_once(server: "object") -> None:
    from mariadb_server import MariaDbServer

    assert isinstance(server, MariaDbServer)
    url = server.url(server.new_database())
    run_at_once(f"open_database({url!r}, upgrade=True).close()")
    with open_database(url) as database:
        assert database.runs() == []
