"""Where the traces of a run go, what is said about them, and that the job does not mind trouble."""

import csv
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from iez_run_command import IEZ_RUN, iez_lines, runs
from mpi_libraries import wheel

from iez_client.parse.events import blocks_of, read_trace
from iez_common._core import lib

pytest_plugins = ["iez_run_fixtures"]

IEZ = str(Path(IEZ_RUN).with_name("iez"))
DAY_S = 86400


@pytest.fixture
def iez(env: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    def call(*words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [IEZ, *map(str, words)]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)

    return call


@pytest.fixture
def files(iez: Callable) -> Callable[..., dict[str, int]]:
    """What `iez parse` says was written to each file, by its last name."""

    def call(*words: str | Path) -> dict[str, int]:
        done = iez("parse", *words, "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)["files"]
        return {Path(each["file_name"]).name: each["write_bytes"] for each in found}

    return call


def kept(env: dict[str, str]) -> Path:
    return Path(env["HOME"]) / ".local/state/iez/traces"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write(path: Path, text: str = "x", code: int = 0) -> tuple[str, str, str]:
    """A job that writes `text` to a file."""
    return "sh", "-c", f"printf %s {text} >{path}; exit {code}"


# Where they go


@pytest.mark.parametrize("how", ["flag", "flag with =", "variable", "settings"])
def test_traces_go_where_they_are_asked_to(
    run: Callable,
    files: Callable,
    env: dict[str, str],
    mock: Path,
    tmp_path: Path,
    how: str,
) -> None:
    traces = tmp_path / "new" / "traces-here"
    words, more = [], {}
    if how == "flag":
        words = ["--trace-dir", str(traces)]
    elif how == "flag with =":
        words = [f"--trace-dir={traces}"]
    elif how == "variable":
        more = {"IEZ_TRACE_DIR": str(traces)}
    else:
        settings = Path(env["HOME"]) / ".config/iez/config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'trace_dir = "{traces}"\n')
    done = run(*words, "--mock", str(mock), *write(mock / "a", "four", 3), **more)
    assert done.returncode == 3
    assert iez_lines(done.stderr) == [f"iez: 1 file seen, 4 written (try: iez show {traces})"]
    assert mode_of(traces) == 0o700
    assert {path.suffix for path in traces.iterdir()} == {".trace", ".learned"}
    assert {mode_of(path) for path in traces.iterdir()} == {0o600}
    assert files(traces) == {"a": 4}
    assert list(kept(env).glob("*")) == []
    assert runs(env) == []


def test_flag_beats_the_variable(run: Callable, mock: Path, tmp_path: Path) -> None:
    words = ["--trace-dir", str(tmp_path / "flag"), "--mock", str(mock)]
    assert run(*words, *write(mock / "a"), IEZ_TRACE_DIR=str(tmp_path / "other")).returncode == 0
    assert list((tmp_path / "flag").glob("*.trace"))
    assert not (tmp_path / "other").exists()


def test_each_run_has_a_directory_of_its_own_in_the_state_directory(
    run: Callable, files: Callable, env: dict[str, str], mock: Path
) -> None:
    for name in ("a", "b"):
        done = run("--mock", str(mock), *write(mock / name))
        assert iez_lines(done.stderr) == ["iez: 1 file seen, 1 written (try: iez show)"]
    found = sorted(kept(env).iterdir())
    assert [files(each) for each in found] == [{"a": 1}, {"b": 1}]
    assert {mode_of(each) for each in (kept(env), *found)} == {0o700}
    assert runs(env) == []


def test_run_that_meets_no_watched_file_leaves_nothing(
    run: Callable, env: dict[str, str], mock: Path, tmp_path: Path
) -> None:
    for words in ([], ["--trace-dir", str(tmp_path / "traces")]):
        done = run("--mock", str(mock), *words, *write(tmp_path / "elsewhere", "x", 2))
        assert (done.returncode, done.stderr) == (2, "")
    assert list(kept(env).iterdir()) == list((tmp_path / "traces").iterdir()) == []
    assert runs(env) == []


def test_directory_that_the_user_named_is_named_again_and_stays(
    run: Callable, mock: Path, tmp_path: Path
) -> None:
    traces = tmp_path / "traces" / "mine"
    words = ["--trace-dir", str(traces), "--mock", str(mock)]
    assert run(*words, "true").stderr == ""
    assert traces.is_dir()
    assert run(*words, *write(mock / "a")).stderr.endswith(f"(try: iez show {traces})\n")


def test_directory_in_tmp_is_named_where_there_is_no_home(
    run: Callable, files: Callable, mock: Path
) -> None:
    done = run("--mock", str(mock), *write(mock / "a"), HOME="/proc/no")
    traces = Path(done.stderr.strip().rpartition(" ")[2].rstrip(")"))
    assert traces.parent == Path(f"/tmp/iez-{os.getuid()}/traces")
    assert files(traces) == {"a": 1}
    shutil.rmtree(traces)


def test_show_without_a_name_is_the_newest_run(
    run: Callable, iez: Callable, env: dict[str, str], mock: Path
) -> None:
    assert iez("show").returncode == 66
    for name in ("first", "second"):
        run("--mock", str(mock), *write(mock / name))
    newest = iez("show").stdout
    assert str(mock / "second") in newest
    assert str(mock / "first") not in newest
    first = sorted(kept(env).iterdir())[0].name
    assert str(mock / "first") in iez("show", first).stdout


def test_directory_of_several_runs_gives_the_newest_or_the_one_asked_for(
    run: Callable, iez: Callable, files: Callable, mock: Path, tmp_path: Path
) -> None:
    traces = tmp_path / "traces"
    words = ["--trace-dir", str(traces), "--mock", str(mock)]
    for name, text in (("first", "x"), ("second", "xyz")):
        done = run(*words, *write(mock / name, text))
        assert f"1 file seen, {len(text)} written" in done.stderr
    assert iez("parse", traces).stderr.count("it holds 2 runs; this is the newest") == 1
    assert files(traces) == {"second": 3}
    assert (files(traces, "--run", "1"), files(traces, "--run", "2")) == (
        {"first": 1},
        {"second": 3},
    )
    assert iez("parse", traces, "--run", "1").stderr == ""
    assert iez("parse", traces, "--run", "3").returncode == 2


def test_run_in_the_directory_of_others_tells_of_itself_only(
    run: Callable, mock: Path, tmp_path: Path
) -> None:
    words = ["--trace-dir", str(tmp_path / "traces"), "--mock", str(mock)]
    assert "1 file seen" in run(*words, *write(mock / "first")).stderr
    assert run(*words, "true").stderr == ""


# What is said


def test_run_with_a_plan_says_what_was_placed(run: Callable, mock: Path, tmp_path: Path) -> None:
    (tmp_path / "plan.csv").write_text(
        f"path,stripe_count,stripe_size,ost_list,pool\n{mock}/a,1,1M,0,\n"
    )
    words = ["--plan", str(tmp_path / "plan.csv"), "--mock", str(mock)]
    assert iez_lines(run(*words, *write(mock / "a")).stderr) == ["iez: 1 file placed"]


def test_quiet_run_leaves_its_trace_packed(
    run: Callable, iez: Callable, mock: Path, tmp_path: Path
) -> None:
    traces = tmp_path / "traces"
    words = ["-q", "--events", "--trace-dir", str(traces), "--mock", str(mock)]
    done = run(*words, *write(mock / "a"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    kinds = kinds_of(traces)
    assert lib.IEZ_BLOCK_PACKED in kinds
    assert lib.IEZ_BLOCK_EVENTS not in kinds


def kinds_of(traces: Path) -> set[int]:
    return {block.kind for path in traces.glob("*.trace") for block in blocks_of(read_trace(path))}


@pytest.mark.parametrize("words", [["--trace-dir", "{tmp}/traces"], ["--events"]])
def test_nothing_to_watch_is_said_where_a_trace_was_asked_for(
    run: Callable, env: dict[str, str], tmp_path: Path, words: list[str]
) -> None:
    if " lustre " in Path("/proc/mounts").read_text():
        pytest.skip("there is a Lustre to watch")
    done = run(*(word.format(tmp=tmp_path) for word in words), *write(tmp_path / "a", "x", 5))
    assert done.returncode == 5
    assert done.stderr == "iez: no Lustre is mounted here, so nothing is traced (try: --mock DIR)\n"
    assert not (tmp_path / "traces").exists()
    assert run(*write(tmp_path / "a", "x", 5)).stderr == ""
    assert runs(env) == []


# Events


WRITES = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644)
for number in range(1000):
    os.pwrite(fd, bytes(10 + number % 7), number * 100)
"""


def test_events_are_one_row_a_write_and_small(
    run: Callable, iez: Callable, mock: Path, tmp_path: Path
) -> None:
    traces, table = tmp_path / "traces", tmp_path / "events.csv"
    program = [sys.executable, "-c", WRITES, str(mock / "a")]
    run("--events", "--trace-dir", str(traces), "--mock", str(mock), *program)
    assert iez("parse", traces, "--events", table).returncode == 0
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    told = [(row["file_name"], int(row["offset"]), int(row["length"])) for row in rows]
    assert told == [(str(mock / "a"), n * 100, 10 + n % 7) for n in range(1000)]
    times = [float(row["time_s"]) for row in rows]
    assert times == sorted(times)
    assert 0 <= time.time() - times[-1] < 60
    assert sum(path.stat().st_size for path in traces.iterdir()) < 32 * 1000


def test_without_events_there_are_none(
    run: Callable, iez: Callable, mock: Path, tmp_path: Path
) -> None:
    traces, table = tmp_path / "traces", tmp_path / "events.csv"
    run("--trace-dir", str(traces), "--mock", str(mock), *write(mock / "a"))
    assert iez("parse", traces, "--events", table).returncode == 0
    assert len(table.read_text().splitlines()) == 1
    assert not kinds_of(traces) & {lib.IEZ_BLOCK_PACKED, lib.IEZ_BLOCK_EVENTS}


SLOW = """
import os, sys
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o644)
os.write(fd, b"one")
print("ready", flush=True)
sys.stdin.readline()
os.write(fd, b"two")
"""


def test_trace_of_a_run_that_is_still_at_work_is_not_packed_by_another(
    run: Callable, iez: Callable, env: dict[str, str], mock: Path, tmp_path: Path
) -> None:
    traces, table = tmp_path / "traces", tmp_path / "events.csv"
    words = ["--events", "--trace-dir", str(traces), "--mock", str(mock)]
    command = [IEZ_RUN, "-q", *words, sys.executable, "-c", SLOW, str(mock / "slow")]
    with subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as slow:
        assert slow.stdin is not None
        assert slow.stdout is not None
        assert slow.stdout.readline() == "ready\n"
        assert run(*words, *write(mock / "quick")).returncode == 0
        slow.communicate("go\n", timeout=60)
    assert slow.returncode == 0
    names = set()
    for number in ("1", "2"):
        iez("parse", traces, "--run", number, "--events", table)
        with table.open(newline="") as file:
            names |= {(Path(row["file_name"]).name, row["offset"]) for row in csv.DictReader(file)}
    assert names == {("slow", "0"), ("slow", "3"), ("quick", "0")}
    assert lib.IEZ_BLOCK_EVENTS not in kinds_of(traces)


# Ranks


@pytest.mark.mpi
def test_ranks_that_each_start_iez_run_share_one_run(
    iez: Callable, env: dict[str, str], mock: Path, tmp_path: Path
) -> None:
    traces = tmp_path / "traces"
    app = [IEZ_RUN, "--trace-dir", traces, "--mock", mock, *write(f"{mock}/$PMI_RANK", "xy")]
    done = subprocess.run(
        wheel(tmp_path).launch(4, *app), env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert iez_lines(done.stderr) == [f"iez: 4 files seen, 8 written (try: iez show {traces})"]
    told = json.loads(iez("parse", traces, "--json").stdout)
    assert (told["run"]["runs"], told["run"]["ranks"], told["run"]["world_size"]) == (1, 4, 4)
    ranks = {Path(each["file_name"]).name: each["ranks"] for each in told["files"]}
    assert ranks == {str(rank): str(rank) for rank in range(4)}
    assert runs(env) == []


# Old traces


def test_old_traces_are_swept(run: Callable, env: dict[str, str], mock: Path) -> None:
    def make(name: str, days: float) -> Path:
        folder = kept(env) / name
        folder.mkdir(parents=True)
        (folder / "node.1.0.trace").touch()
        when = time.time() - days * DAY_S
        os.utime(folder, (when, when))
        return folder

    recent = [make(f"recent{number}", 0.5) for number in range(60)]
    older = [make(f"older{number}", 2 + number / 100) for number in range(60)]
    ancient = make("ancient", 31)
    assert run("--mock", str(mock), *write(mock / "a")).returncode == 0
    assert not ancient.exists()
    assert all(each.exists() for each in recent)
    # With that of the run itself, 100 are left: the newest.
    assert [each.exists() for each in older] == [True] * 39 + [False] * 21


def test_recent_traces_are_kept_however_many(
    run: Callable, env: dict[str, str], mock: Path
) -> None:
    for number in range(120):
        (kept(env) / f"recent{number}").mkdir(parents=True)
    assert run("--mock", str(mock), *write(mock / "a")).returncode == 0
    assert len(list(kept(env).iterdir())) == 121


# Trouble


@pytest.mark.parametrize("place", ["plain-file", "plain-file/below", "/proc/no"])
def test_trace_directory_that_cannot_be_written_is_one_line(
    run: Callable, env: dict[str, str], mock: Path, tmp_path: Path, place: str
) -> None:
    (tmp_path / "plain-file").touch()
    traces = tmp_path / place
    done = run("--trace-dir", str(traces), "--mock", str(mock), *write(mock / "a", "x", 6))
    assert done.returncode == 6
    assert (mock / "a").read_text() == "x"
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"iez: the trace directory {traces} cannot be written: ")
    assert line.endswith("; the job runs without iez")
    assert runs(env) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("a file system of its own needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    subprocess.run(words, check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


MANY = """
import sys
for number in range(1000):
    with open(f"{sys.argv[1]}/{number}", "w") as file:
        file.write("x" * 100)
print("done")
sys.exit(4)
"""
NO_SPACE = "iez: no space is left for the trace; the job goes on, not all of it is recorded"


def test_job_does_not_mind_a_disk_that_fills_up(
    run: Callable, iez: Callable, mock: Path, small_disk: Path
) -> None:
    traces = small_disk / "traces"
    program = [sys.executable, "-c", MANY, str(mock)]
    done = run("--trace-dir", str(traces), "--mock", str(mock), *program)
    assert (done.returncode, done.stdout) == (4, "done\n")
    assert {path.stat().st_size for path in mock.iterdir()} == {100}
    assert len(list(mock.iterdir())) == 1000
    lines = iez_lines(done.stderr)
    assert lines[0] == NO_SPACE
    assert len(lines) == 2
    told = json.loads(iez("parse", traces, "--json").stdout)
    assert told["dropped_detail"]["files"] + len(told["files"]) == 1000
    assert 0 < len(told["files"]) < 1000


def test_job_does_not_mind_a_disk_that_is_full(
    run: Callable, env: dict[str, str], mock: Path, small_disk: Path
) -> None:
    with pytest.raises(OSError, match="No space"):  # noqa: SIM117
        with (small_disk / "filling").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
    script = f"for n in 1 2 3; do seq $n >{mock}/$n; done; echo done; exit 4"
    words = ["--trace-dir", str(small_disk / "traces"), "--mock", str(mock)]
    done = run(*words, "bash", "-c", script)
    assert (done.returncode, done.stdout) == (4, "done\n")
    assert done.stderr == NO_SPACE + "\n"
    assert sorted(path.name for path in mock.iterdir()) == ["1", "2", "3"]
    assert runs(env) == []
