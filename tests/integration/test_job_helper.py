"""What iez-run runs around a job: `iez_client.cli.job`."""

import json
from pathlib import Path

import pytest
from command_line import IEZ, JOB, Run, runner, write_csv


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "mock").mkdir()
    return tmp_path


@pytest.fixture
def iez(home: Path) -> Run:
    return runner(IEZ, home)


@pytest.fixture
def job(home: Path) -> Run:
    return runner(JOB, home)


def shown(iez: Run, plan: str = "run/plan") -> dict[str, object]:
    values: dict[str, object] = json.loads(iez("plan", "show", plan, "--json", "--check").stdout)
    return values


def test_a_job_is_prepared_from_whatever_the_user_has(iez: Run, job: Run, home: Path) -> None:
    (home / "run").mkdir()
    write_csv(home, "mock/a,,,1,\n")
    (home / "f.json").write_text('{"files": [{"path": "mock/a", "osts": [1]}]}')
    iez("plan", "build", "--from", "f.csv", "-o", "unbound")
    iez("plan", "build", "--from", "f.csv", "-o", "bound", "--mock", "mock")
    for file in ("f.csv", "f.json", "unbound", "bound"):
        done = job("prepare", "run", "--plan", file, "--mock", "mock")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        values = shown(iez)
        assert values["bound"]
        assert len(values["files"]) == 1  # type: ignore[arg-type]
    assert len(list((home / "run").glob("plan.g*"))) == 3


def test_a_bound_plan_is_taken_as_it_is_unless_a_mock_is_asked_for(
    iez: Run, job: Run, home: Path
) -> None:
    (home / "run").mkdir()
    write_csv(home, "mock/a,,,1,\n")
    iez("plan", "build", "--from", "f.csv", "-o", "bound", "--prefix", "mock", "--osts", "0-1")
    assert job("prepare", "run", "--plan", "bound").returncode == 0
    names = ("files", "file_systems", "generation")
    bound = shown(iez, "bound")
    assert {name: shown(iez)[name] for name in names} == {name: bound[name] for name in names}
    assert job("prepare", "run", "--plan=bound", IEZ_MOCK="mock").returncode == 0
    assert shown(iez)["file_systems"][0]["kind"] == "mock"  # type: ignore[index]


def test_a_job_without_a_plan_gets_one_without_entries(iez: Run, job: Run, home: Path) -> None:
    (home / "run").mkdir()
    assert job("prepare", "run", "--mock", "mock").returncode == 0
    values = shown(iez)
    assert (values["bound"], values["files"]) == (True, [])
    assert job("prepare", "run").returncode == 0
    assert shown(iez)["bound"] is False
    assert job("empty", "e.plan").returncode == 0
    assert shown(iez, "e.plan")["files"] == []


@pytest.mark.parametrize(
    "words",
    [
        ["prepare", "run", "--plan", "none.csv"],
        ["prepare", "run", "--plan", "bad.csv", "--mock", "mock"],
        ["prepare", "run", "--plan", "ost.csv", "--mock", "mock"],
        ["prepare", "run", "--plan", "ost.csv"],
        ["prepare", "run", "--plan", "outside.csv", "--mock", "mock"],
        ["prepare", "run", "--plan", "outside.plan", "--mock", "mock"],
        ["prepare", "run", "--plan", "text", "--mock", "mock"],
        ["prepare", "run", "--plan", "cut", "--mock", "mock"],
        ["prepare", "run", "--mock", "none"],
        ["prepare", "run", "--mock", "mock", "--mock-state", "none.toml"],
        ["prepare", "none/run", "--mock", "mock"],
        ["prepare", "run", "--bogus"],
        ["prepare", "run", "--plan"],
        ["prepare"],
        ["empty", "none/f"],
        ["bogus", "run"],
        [],
    ],
)
def test_trouble_around_a_job_is_one_line(iez: Run, job: Run, home: Path, words: list[str]) -> None:
    (home / "run").mkdir()
    write_csv(home, "mock/a,bad,,,\n", "bad.csv")
    write_csv(home, "mock/a,,,99,\n", "ost.csv")
    write_csv(home, "/outside/a,,,1,\n", "outside.csv")
    iez("plan", "build", "--from", "outside.csv", "-o", "outside.plan")
    (home / "text").write_text("no plan")
    (home / "cut").write_bytes((home / "outside.plan").read_bytes()[:-1])
    done = job(*words)
    assert done.returncode not in (0, 1)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("iez: ")
    assert not (home / "run" / "plan").exists()


def test_the_end_of_a_job_without_outcomes_is_silent(job: Run, home: Path) -> None:
    (home / "run").mkdir()
    write_csv(home, "mock/a,,,1,\n")
    assert job("prepare", "run", "--plan", "f.csv", "--mock", "mock").returncode == 0
    done = job("finish", "run")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (home / "run" / "h.1.0.trace").write_bytes(b"cut")
    assert job("finish", "run").stderr == "iez: 1 trace not readable (h.1.0.trace)\n"
    assert job("finish", "run", "--quiet").stderr == ""
