"""Whatever goes wrong while iez learns is one line; the job, its exit code and its files are as
they would be without it."""

import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from iez_run_command import IEZ_RUN, iez_lines
from learn_job import MIB, Run

pytest_plugins = ["iez_run_fixtures", "learn_fixtures"]


def state(env: dict[str, str]) -> Path:
    return Path(env["HOME"]) / ".local/state/iez"


def is_well(done: subprocess.CompletedProcess[str], mock: Path) -> None:
    """The job did what it does, and iez said one line."""
    assert (done.returncode, done.stdout) == (0, "")
    assert len(iez_lines(done.stderr)) == len(done.stderr.splitlines()) == 1, done.stderr
    assert (mock / "a").stat().st_size == 2 * MIB


# When


def test_learning_off_leaves_no_database(job: Callable, mock: Path, env: dict[str, str]) -> None:
    done = job("a=2", options=("--learn", "off"))
    assert iez_lines(done.stderr) == ["iez: 1 file seen, 2.0M written (try: iez show)"]
    assert not (state(env) / "iez.db").exists()
    assert list(state(env).glob("traces/*/*.job")) == []


def test_learning_later_does_not_keep_the_user_waiting(
    job: Callable, mock: Path, tell: Callable, iez: Run
) -> None:
    done = job("a=2", options=("--learn=later",))
    assert iez_lines(done.stderr) == [
        "iez: 1 file seen, 2.0M written; learning from it in the background (try: iez runs)"
    ]
    deadline_s = time.monotonic() + 60
    while iez("table", "writer.py").returncode and time.monotonic() < deadline_s:
        time.sleep(0.2)
    assert [each["files"] for each in tell("runs")["runs"]] == [1]
    (mock / "a").unlink()
    assert "1 file placed" in job("a=2").stderr


@pytest.mark.parametrize("how", ["flag", "variable", "settings"])
def test_when_to_learn_is_a_setting_and_a_wrong_one_is_told(
    job: Callable, mock: Path, env: dict[str, str], how: str
) -> None:
    settings = Path(env["HOME"]) / ".config/iez/config.toml"
    if how == "flag":
        done = job("a=2", options=("--learn=never",))
        assert done.returncode == 125
        assert "--learn is one of now, later, off, not 'never'" in done.stderr
        return
    if how == "settings":
        settings.parent.mkdir(parents=True)
        settings.write_text('learn = "off"\n')
    job("a=2", **({"IEZ_LEARN": "off"} if how == "variable" else {}))
    assert not (state(env) / "iez.db").exists()
    settings.unlink(missing_ok=True)
    done = job("a=2", IEZ_LEARN="never")
    is_well(done, mock)
    assert "learn (IEZ_LEARN): there is no 'never'" in done.stderr


def test_quiet_run_learns_all_the_same(job: Callable, tell: Callable) -> None:
    assert job("a=2", options=("-q",)).stderr == ""
    assert len(tell("runs")["runs"]) == 1


# Trouble with the database


def test_damaged_database_is_set_aside_and_named(
    job: Callable, mock: Path, env: dict[str, str], tell: Callable
) -> None:
    database = state(env) / "iez.db"
    database.write_bytes(b"this is no database, but it was somebody's\n" * 100)
    done = job("a=2")
    is_well(done, mock)
    (aside,) = state(env).glob("iez.db.damaged-*")
    assert f"the database was damaged and is now {aside}" in done.stderr
    assert "the next run is planned" in done.stderr
    assert aside.read_bytes().startswith(b"this is no database")
    assert len(tell("runs")["runs"]) == 1


def test_foreign_database_is_left_alone(job: Callable, mock: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "photos.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    before = foreign.read_bytes()
    done = job("a=2", IEZ_DATABASE=str(foreign))
    is_well(done, mock)
    assert "not learned" in done.stderr
    assert foreign.read_bytes() == before


def test_directory_in_place_of_the_database(job: Callable, mock: Path, tmp_path: Path) -> None:
    done = job("a=2", IEZ_DATABASE=str(tmp_path))
    is_well(done, mock)
    assert "not learned" in done.stderr


def test_server_that_is_away_is_told_without_the_password(job: Callable, mock: Path) -> None:
    done = job("a=2", IEZ_DATABASE="mysql://me:geheim@127.0.0.1:9/iez")
    is_well(done, mock)
    assert "not learned" in done.stderr
    assert "geheim" not in done.stderr


def test_run_that_could_not_be_learned_from_is_not_lost(
    job: Callable, mock: Path, iez: Run, tell: Callable
) -> None:
    job("a=2", IEZ_DATABASE="mysql://me@127.0.0.1:9/iez")
    assert "1 run is not learned from yet (try: iez learn)" in iez("runs").stderr
    done = iez("learn")
    assert (done.returncode, done.stdout) == (
        0,
        "writer.py: 1 file, 1 of the next run has a place\n",
    )
    assert [each["files"] for each in tell("runs")["runs"]] == [1]
    assert iez("learn").stdout == "there is no run left to learn from\n"
    (mock / "a").unlink()
    assert "1 file placed" in job("a=2").stderr


def test_all_that_is_kept_can_be_learned_again_into_a_new_database(
    job: Callable, mock: Path, iez: Run, tell: Callable, env: dict[str, str]
) -> None:
    for _ in range(2):
        job("a=2")
        (mock / "a").unlink()
    (state(env) / "iez.db").unlink()
    assert iez("learn", "--again").stdout.count("writer.py: 1 file") == 2
    assert len(tell("runs")["runs"]) == 2
    assert iez("learn", "--again").stdout == "there is no run left to learn from\n"


def test_database_on_a_full_disk(run: Run, mock: Path, writer: Path, env: dict[str, str]) -> None:
    """A limit on the size of files stands for the disk: the job stays below it."""
    (state(env) / "traces").mkdir(parents=True, exist_ok=True)
    words = [sys.executable, str(writer), "--out", str(mock)]
    script = f'ulimit -f 64; exec "{IEZ_RUN}" "$@"'  # 32 KiB, of which the job needs 20
    done = subprocess.run(
        ["bash", "-c", script, "bash", "--mock", str(mock), *words],
        env=env | {"FILES": "a=0.02"}, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    assert (mock / "a").stat().st_size == int(0.02 * MIB)
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_locked_database_is_waited_for(
    job: Callable, mock: Path, env: dict[str, str], tell: Callable
) -> None:
    job("a=2")
    (mock / "a").unlink()
    database = state(env) / "iez.db"
    hold = (
        "import sqlite3, sys, time; c = sqlite3.connect(sys.argv[1]); "
        "c.execute('BEGIN EXCLUSIVE'); print('held', flush=True); time.sleep(3)"
    )
    command = [sys.executable, "-c", hold, str(database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        done = job("a=2")
    is_well(done, mock)
    assert len(tell("runs")["runs"]) == 2


# Trouble with what was traced or planned


def test_damaged_note_of_an_earlier_run_is_one_line(
    job: Callable, iez: Run, env: dict[str, str]
) -> None:
    job("a=2")
    (traces,) = (state(env) / "traces").iterdir()
    (traces / "0000000000000001.job").write_text("{}")
    done = iez("learn")
    assert done.returncode == 65
    assert len(done.stderr.splitlines()) == 1
    assert "0000000000000001.job" in done.stderr


def test_files_that_fit_nowhere_leave_the_next_run_without_a_plan(
    job: Callable, mock: Path
) -> None:
    (mock / "iez-mock.toml").write_text('osts = 2\nost_size = "512K"\n')
    done = job("a=2")
    is_well(done, mock)
    assert "no plan for the next run" in done.stderr
    (mock / "a").unlink()
    (mock / "iez-mock.toml").unlink()
    assert "1 file placed" in job("a=2").stderr


# Secrets


def test_credentials_reach_neither_the_job_nor_a_plan(
    run: Run, mock: Path, env: dict[str, str], tmp_path: Path
) -> None:
    script = f"env >{tmp_path}/environ; head -c 2000000 /dev/zero >{mock}/a; cat $IEZ_PLAN"
    secret = "mysql://me:geheim@127.0.0.1:9/iez"
    done = subprocess.run(
        [IEZ_RUN, "--mock", mock, "sh", "-c", script],
        env=env | {"IEZ_DATABASE": secret}, capture_output=True,
    )  # fmt: skip
    assert b"geheim" not in done.stdout + done.stderr
    assert "geheim" not in (tmp_path / "environ").read_text()
    kept = [path for path in state(env).rglob("*") if path.is_file()]
    assert kept
    assert not any(b"geheim" in path.read_bytes() for path in kept)


def test_what_is_remembered_is_closed_to_others(job: Callable, env: dict[str, str]) -> None:
    job("a=2")
    for path in state(env).rglob("*"):
        if "runs" not in path.parts and not path.name.startswith("empty-"):
            assert path.stat().st_mode & 0o077 == 0, path
    assert state(env).stat().st_mode & 0o077 == 0
