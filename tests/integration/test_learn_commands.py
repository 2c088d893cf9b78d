"""The commands about applications as a user types them: wrong words, strange names, nothing there
yet."""

import csv
import io
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from learn_job import MIB, Run

pytest_plugins = ["iez_run_fixtures", "learn_fixtures"]

LEFT_BEHIND = 'head -c 2000000 /dev/zero >"$1/$(printf "$NAME")"'


def rows_of(table: str) -> dict[str, list[str]]:
    """The cells of a table behind the first one, by the last part of the path in that."""
    rows = [line.split() for line in table.splitlines()[1:]]
    return {Path(name).name: cells for name, *cells in rows}


# Nothing there yet


@pytest.mark.parametrize(("command", "listed"), [("apps", "applications"), ("runs", "runs")])
def test_lists_are_empty_where_nothing_was_learned_yet(
    iez: Run, tell: Callable, command: str, listed: str
) -> None:
    done = iez(command)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == ("iez: note: no run has been learned from yet (try: iez-run COMMAND)\n")
    assert tell(command)[listed] == []


@pytest.mark.parametrize(
    "words",
    ["runs app", "table app", "templates app", "predict app", "forget app", "plan make app"],
)
def test_application_that_is_named_must_be_there(iez: Run, job: Callable, words: str) -> None:
    done = iez(*words.split())
    assert (done.returncode, done.stdout) == (66, "")
    assert done.stderr.startswith("iez: no run has been learned from yet\n")
    job("a=2")
    done = iez(*words.split())
    assert (done.returncode, done.stdout) == (66, "")
    assert done.stderr.startswith("iez: no application is called 'app'\n")


# Learning


def test_trace_directory_that_is_not_there_is_told(iez: Run, tmp_path: Path) -> None:
    done = iez("learn", tmp_path / "nope")
    assert (done.returncode, done.stdout) == (66, "")
    assert done.stderr.splitlines()[0] == f"iez: {tmp_path}/nope: no such file or directory"


def test_directory_without_traces_is_told(iez: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = iez("learn", tmp_path / "empty")
    assert (done.returncode, done.stdout) == (66, "")
    assert done.stderr.splitlines()[0] == f"iez: {tmp_path}/empty: there are no trace files in it"


def test_traces_of_a_directory_are_learned_from_once(
    job: Callable, iez: Run, tmp_path: Path
) -> None:
    traces = tmp_path / "traces"
    job("a=2", options=("--trace-dir", str(traces)), IEZ_DATABASE="mysql://me@127.0.0.1:9/iez")
    assert iez("learn", traces).stdout == "writer.py: 1 file, 1 of the next run has a place\n"
    assert iez("learn", traces).stdout == "there is no run left to learn from\n"


# Strange names


@pytest.mark.parametrize("app", ["two words; $(false)", "two\nlines", "-x"])
def test_proposed_commands_can_be_typed_whatever_the_name(
    job: Callable, mock: Path, iez: Run, app: str
) -> None:
    job("a=2", options=(f"--app={app}",))
    done = iez("plan", "make", "--mock", mock, "--", app)
    assert done.returncode == 0
    (proposed,) = done.stderr.splitlines()
    assert proposed.startswith("next: iez table ")
    assert iez(*shlex.split(proposed)[2:]).stdout == iez("table", "--", app).stdout != ""


def test_control_characters_do_not_break_tables(
    run: Run, mock: Path, iez: Run, tell: Callable
) -> None:
    words = ("--mock", str(mock), "--app", "two\nlines\x1b[1m", "sh", "-c", LEFT_BEHIND, "sh")
    run(*words, str(mock), NAME=r"a\nb")
    (line,) = iez("apps").stdout.splitlines()[1:]
    assert line.startswith(r"two\nlines\x1b[1m  ")
    (application,) = tell("apps")["applications"]
    assert application["name"] == "two\nlines\x1b[1m"
    for command in ("templates", "predict"):
        (line,) = iez(command, application["key"]).stdout.splitlines()[1:]
        assert rf"{mock}/a\nb  " in f"{line}  "
    (row,) = csv.DictReader(io.StringIO(iez("table", application["key"], "--csv").stdout))
    assert row["file_name"] == f"{mock}/a\nb"
    assert tell("predict", application["key"])["files"][0]["path"] == f"{mock}/a\nb"


# What is told


def test_composite_layouts_have_a_column_of_their_own_in_csv(
    job: Callable, mock: Path, iez: Run, tmp_path: Path, tell: Callable
) -> None:
    (mock / "iez-mock.toml").write_text("osts = 2\n")
    policy = tmp_path / "policy.toml"
    policy.write_text('pfl = "always"\nsplit_min = "1M"\n')
    job("a=20", "b=20", "c=20", IEZ_POLICY=str(policy))
    rows = list(csv.DictReader(io.StringIO(iez("table", "writer.py", "--csv").stdout)))
    told = tell("table", "writer.py")["allocations"]
    assert [row["extents"] for row in rows] == [each["extents"] for each in told]
    assert [list(map(int, row["ost_list"].split())) for row in rows] == [
        each["ost_list"] for each in told
    ]
    composite = next(row["extents"] for row in rows if row["extents"]).split()
    assert len(composite) > 1
    assert composite[-1].startswith("eof:")
    assert "-eof: " in iez("table", "writer.py").stdout


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (("a=0.1", "b=0.2"), "all 2 files are smaller than 1M (pin_min)"),
        (("a=0.1",), "1 file is smaller than 1M (pin_min)"),
    ],
)
def test_plan_of_small_files_says_why_there_is_none(
    job: Callable, mock: Path, iez: Run, files: tuple[str, ...], why: str
) -> None:
    job(*files)
    done = iez("plan", "make", "writer.py", "--mock", mock)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"writer.py: there is nothing to place: {why}\n"


def test_policy_that_leaves_all_to_lustre_is_named(
    job: Callable, mock: Path, iez: Run, tmp_path: Path
) -> None:
    (tmp_path / "policy.toml").write_text('ladder = "nothing"\n')
    job("a=2", "b=0.1")
    words = ("--mock", mock, "--policy", tmp_path / "policy.toml")
    done = iez("plan", "make", "writer.py", *words)
    assert done.stdout == (
        "writer.py: there is nothing to place: all 2 files are left to Lustre by the policy\n"
    )


def test_last_size_is_that_of_the_same_file_in_the_last_run(
    job: Callable, mock: Path, iez: Run, tell: Callable
) -> None:
    for growth in (0, 1):
        for path in mock.iterdir():
            path.unlink()
        job(*(f"ckpt_{step:04}.h5={2 + step + growth}" for step in range(3)))
    files = tell("predict", "writer.py")["files"]
    assert [each["last_bytes"] for each in files] == [3 * MIB, 4 * MIB, 5 * MIB]
    shown = rows_of(iez("predict", "writer.py").stdout)
    assert {name: cells[1] for name, cells in shown.items()} == {
        "ckpt_0000.h5": "3.0M",
        "ckpt_0001.h5": "4.0M",
        "ckpt_0002.h5": "5.0M",
    }
