"""`iez parse` and `iez show` as a user types them: output, errors, exit codes."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from command_line import IEZ, ROOT, Run, runner
from trace_builder import Trace, counts, written

from iez_client.parse.record import COLUMNS
from iez_common._core import lib


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def iez(home: Path) -> Run:
    return runner(IEZ, home)


@pytest.fixture
def traces(home: Path) -> Path:
    """A job of four ranks: a shared file, one each, and Open MPI's helpers."""
    folder = home / "traces"
    for rank in range(4):
        trace = Trace(rank=rank, world_size=4, pid=100 + rank, host=f"node{rank // 2}")
        created = lib.IEZ_FILE_CREATED if rank == 0 else 0
        size = 8 << 20 if rank == 0 else lib.IEZ_SIZE_UNKNOWN
        number = trace.file(
            "/l/shared.h5", written(2 << 20, 1 << 20, at_s=rank + 1), comm_size=4, apis=0b1101,
            flags=created | lib.IEZ_FILE_WRITE, size_bytes=size, stripe_count=8,
        )  # fmt: skip
        trace.more(number, counts(layer_bytes={lib.IEZ_HDF5: 2 << 20}))
        trace.file(f"/l/shared.h5.locktest.{rank}", flags=lib.IEZ_FILE_UNLINKED, ended_s=1)
        trace.events([(i, i, 1, 10, number, 0, 0) for i in range(3)])
        trace.write(folder)
    return folder


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_parse_prints_csv(iez: Run, traces: Path) -> None:
    done = iez("parse", "traces")
    assert (done.returncode, done.stderr) == (0, "")
    first = "file_name,write_bytes,stripe_count,mpi_rank,communicator,writes,size_bytes,api,pattern"
    assert done.stdout.startswith(f"{first},ranks,created,")
    rows = rows_of(done.stdout)
    assert len(rows) == 5
    row = rows[0]
    assert row["file_name"] == "/l/shared.h5"
    assert (row["write_bytes"], row["writes"], row["size_bytes"]) == (str(8 << 20), "8", "8388608")
    assert (row["stripe_count"], row["mpi_rank"], row["communicator"]) == ("8", "0", "world")
    assert (row["api"], row["pattern"], row["ranks"]) == ("POSIX+MPI-IO+HDF5", "SSF", "0-3")
    assert (row["created"], row["helper"], rows[1]["helper"]) == ("true", "false", "true")
    assert json.loads(row["write_sizes"]) == {"1048576": 8}


def test_parse_writes_a_csv_file_at_once(iez: Run, traces: Path, home: Path) -> None:
    done = iez("parse", "traces", "--csv", "files.csv")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (home / "files.csv").read_text() == iez("parse", "traces").stdout
    assert sorted(each.name for each in home.iterdir()) == ["files.csv", "traces"]


def test_a_csv_that_cannot_be_written(iez: Run, traces: Path, home: Path) -> None:
    for target in ("missing/files.csv", "traces"):
        done = iez("parse", "traces", "--csv", target)
        assert done.returncode == 73
        assert done.stderr.startswith("iez: ")


def test_parse_prints_json(iez: Run, traces: Path) -> None:
    values = json.loads(iez("parse", "traces", "--json").stdout)
    assert (values["schema"], values["dropped"], values["damaged"]) == (1, 0, [])
    assert values["run"]["ranks"] == 4
    assert values["run"]["hosts"] == ["node0", "node1"]
    assert values["run"]["pattern"] == "SSF"
    file = values["files"][0]
    assert tuple(file) == COLUMNS
    assert file["api"] == ["POSIX", "MPI-IO", "HDF5"]
    assert file["write_sizes"] == {"1048576": 8}
    assert file["renamed_from"] == []


def test_parse_writes_events(iez: Run, traces: Path, home: Path) -> None:
    done = iez("parse", "traces", "--events", "events.csv")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    rows = rows_of((home / "events.csv").read_text())
    assert len(rows) == 12
    assert {row["file_name"] for row in rows} == {"/l/shared.h5"}
    assert [row["mpi_rank"] for row in rows[::3]] == ["0", "1", "2", "3"]


def test_no_stat_leaves_the_file_system_alone(iez: Run, home: Path) -> None:
    (home / "file").write_bytes(b"12345")
    trace = Trace()
    trace.file(str(home / "file"), size_bytes=3)
    trace.write(home / "traces")
    sizes = [rows_of(iez("parse", "traces", *extra).stdout)[0]["size_bytes"]
             for extra in ([], ["--no-stat"])]  # fmt: skip
    assert sizes == ["5", "3"]


def test_what_is_not_whole_is_one_line_each(iez: Run, traces: Path) -> None:
    cut = next(traces.iterdir())
    cut.write_bytes(cut.read_bytes()[:-40])
    (traces / "x.trace").write_bytes(b"something else")
    for command in ("parse", "show"):
        done = iez(command, "traces")
        assert done.returncode == 0
        lines = done.stderr.splitlines()
        assert lines == [
            f"iez: {cut.name}: truncated: 2 of its files are used",
            "iez: x.trace: foreign: it is not a trace file",
        ]
    assert "not whole: 2 trace files" in done.stdout
    assert len(json.loads(iez("parse", "traces", "--json").stdout)["damaged"]) == 2


def test_nothing_usable_is_exit_code_65(iez: Run, home: Path) -> None:
    (home / "bad").mkdir()
    (home / "bad" / "x.trace").write_bytes(b"something else")
    done = iez("parse", "bad")
    assert (done.returncode, done.stdout) == (65, "")
    assert done.stderr.splitlines()[0].endswith("x.trace: foreign: it is not a trace file")


@pytest.mark.parametrize("words", [["parse", "nowhere"], ["show", "nowhere"], ["show"]])
def test_a_run_that_is_not_there_is_exit_code_66(iez: Run, words: list[str]) -> None:
    done = iez(*words)
    assert (done.returncode, done.stdout) == (66, "")
    first, second = done.stderr.splitlines()
    assert first.startswith("iez: ")
    assert second.startswith("  try: ")


def test_one_line_says_that_there_are_several_runs(iez: Run, home: Path) -> None:
    for run in (1, 2):
        trace = Trace(run=run, start_s=run, pid=run)
        trace.file(f"/l/{run}", written(10, 10))
        trace.write(home / "traces")
    done = iez("parse", "traces")
    assert re.fullmatch(r"iez: traces: it holds 2 runs; this is the newest .*\n", done.stderr)
    assert rows_of(done.stdout)[0]["file_name"] == "/l/2"
    done = iez("parse", "traces", "--run", "1")
    assert (rows_of(done.stdout)[0]["file_name"], done.stderr) == ("/l/1", "")
    assert "run 1 of 2" in iez("show", "traces", "--run", "1").stdout
    for wrong in ("3", "0", "x", "-1"):
        assert iez("parse", "traces", "--run", wrong).returncode == 2


def test_show_is_for_a_person(iez: Run, traces: Path) -> None:
    done = iez("show", "traces")
    assert (done.returncode, done.stderr) == (0, "")
    text = done.stdout
    assert "app × 4 on 2 hosts: 4 processes, 4 ranks of 4" in text
    assert "files    1, 1 of them written, and 4 helper files of MPI" in text
    assert "written  8.0M by 8 writes in 3.0 s" in text
    assert "single shared file" in text
    assert re.search(r"/l/shared.h5 +8.0M +8.0M +8 +0-3 +SSF +POSIX\+MPI-IO\+HDF5\n", text)
    assert re.search(r"1.0M… +8 +#{40}\n", text)
    assert re.search(r"HDF5 +1 +8.0M\n", text)
    assert text.endswith("next: iez parse traces --csv files.csv\n")
    assert "locktest" not in text


def test_show_finds_runs_in_the_state_directory(iez: Run, traces: Path, home: Path) -> None:
    kept = home / "state" / "iez" / "traces"
    kept.mkdir(parents=True)
    traces.rename(kept / "first")
    state = str(home / "state")
    for words in (["show"], ["show", "first"]):
        assert "/l/shared.h5" in iez(*words, XDG_STATE_HOME=state).stdout


def test_show_prints_json_and_the_top(iez: Run, home: Path) -> None:
    trace = Trace()
    trace.header = {"dropped_writes": 4, "dropped_bytes": 4096}
    for number in range(30):
        trace.file(f"/l/{number:02}", written(1000 + number, 1000))
    trace.file("/l/mapped", size_bytes=1 << 30, flags=lib.IEZ_FILE_CREATED)
    trace.write(home / "traces")
    values = json.loads(iez("show", "traces", "--json", "--top", "3").stdout)
    assert [file["file_name"] for file in values["files"]] == ["/l/mapped", "/l/29", "/l/28"]
    assert values["files"][0]["unseen_bytes"] == 1 << 30
    assert values["totals"]["files"] == 31
    assert values["pattern"] == "FPP"
    assert values["dropped"] == 4
    text = iez("show", "traces", "--top", "3").stdout
    assert "… and 28 more files" in text
    assert "4 writes (4.0K)" in text


def test_odd_names_pass_through(iez: Run, home: Path) -> None:
    trace = Trace()
    trace.file(b'/l/\xff\n"x",y', written(10, 10))
    trace.write(home / "traces")
    assert rows_of(iez("parse", "traces").stdout)[0]["file_name"] == '/l/\udcff\n"x",y'
    assert iez("show", "traces").returncode == 0


def test_every_column_is_documented() -> None:
    page = (ROOT / "docs" / "tracing.md").read_text()
    section = page.partition("## iez parse")[2].partition("\n## ")[0]
    documented = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert tuple(documented) == COLUMNS
