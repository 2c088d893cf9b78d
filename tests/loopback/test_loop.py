"""The whole loop where bytes really move: `iez-run` in front of a job in a loopback mount, first to
observe, then to place. The layouts and the data are read back, the loads are as OSTs count them."""

import itertools
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from iez_run_command import IEZ_RUN, iez_lines
from job_compare import assert_same_and_placed, printed, read_files
from learn_job import IEZ, MIB, Run
from loopback_fixtures import Loopback, Mounted
from lustre_calls import create, layout_of, osts_of, specific, v1
from mpi_libraries import LIBRARIES, Mpi, wheel

pytest_plugins = ["iez_run_fixtures", "learn_fixtures"]
pytestmark = pytest.mark.fuse

PYTHON = sys.executable
ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "integration" / "programs"
OSTS = 8
OWN_SIZE_BYTES = 4 * MIB  # stripe size where Lustre chooses; iez takes another one for small files
RANKS = 4
KERNELS = {
    "hacc": ("hacc_like.py", ["--header", "1M", "--particles", "40000"]),
    "ior": ("ior_like.py", ["--block", "2M", "--transfer", "512K"]),
}
ALWAYS = {
    ("hacc", "posix", "fpp"), ("hacc", "hdf5", "fpp"), ("hacc", "mpiio", "ssf"),
    ("ior", "mpiio", "fpp"), ("ior", "posix", "ssf"), ("ior", "hdf5", "ssf"),
}  # fmt: skip
COMBINATIONS = [
    pytest.param(*c, marks=() if c in ALWAYS else pytest.mark.full, id="-".join(c))
    for c in itertools.product(KERNELS, ["posix", "mpiio", "hdf5"], ["fpp", "ssf"])
]
FOUR = ("part.0", "part.1", "part.2", "part.3")
FILES = " ".join(f"{name}=2" for name in FOUR)

Layout = tuple[int, tuple[int, ...]]  # stripe size and OSTs


@pytest.fixture(scope="module")
def mounts(loopback: Loopback) -> Iterator[dict[str, Mounted]]:
    found = {
        mode: loopback(oss=2, osts=OSTS // 2, size="96M", mmap=mode == "fpp")
        for mode in ("fpp", "ssf")  # with a cache; without one, where ranks share a file
    }
    yield found
    for mounted in found.values():
        mounted.down()


@pytest.fixture
def mounted(mounts: dict[str, Mounted]) -> Iterator[Mounted]:
    mounted = mounts["fpp"]
    yield mounted
    mounted.set("all", "--state", "ok", "--inject", "none")


def layouts(folder: Path) -> dict[str, Layout]:
    found = {}
    for path in sorted(folder.iterdir()):
        (component,) = layout_of(path).components
        found[path.name] = (component.stripe_size_bytes, component.osts)
    return found


def are_lustres_own(found: dict[str, Layout]) -> bool:
    return all(size == OWN_SIZE_BYTES and len(osts) == 1 for size, osts in found.values())


@dataclass(frozen=True, slots=True)
class Loop:
    """A job that is run again and again in one directory, which is emptied each time."""

    out: Path
    name: str  # of the application
    command: list[str]
    run: Run
    tell: Callable[..., dict]

    def start(self, *options: str, code: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        shutil.rmtree(self.out, ignore_errors=True)
        done = self.run(*options, "--app", self.name, *self.command, **env)
        assert done.returncode == code, done.stderr
        return done

    def table(self) -> dict[str, Layout]:
        """What the next run is to get, as `iez table` has it."""
        return {
            Path(row["file_name"]).name: (row["stripe_size"], tuple(row["ost_list"]))
            for row in self.tell("table", self.name)["allocations"]
        }


@pytest.fixture
def writer_loop(mounted: Mounted, folder: Path, writer: Path, run: Run, tell: Callable) -> Loop:
    """Writes four files of 2 MiB; before that it does what BEFORE says."""
    script = f'eval "$BEFORE"; exec {PYTHON} {writer} --out {folder}/out'
    return Loop(folder / "out", "writer", ["sh", "-c", script], run, tell)


def observed(loop: Loop) -> dict[str, Layout]:
    """The first run; gives the plan of the next one."""
    done = loop.start(FILES=FILES)
    assert "4 files seen" in done.stderr
    assert are_lustres_own(layouts(loop.out))
    planned = loop.table()
    assert set(planned) == set(FOUR)
    assert all(size != OWN_SIZE_BYTES and len(osts) == 1 for size, osts in planned.values())
    return planned


def is_whole(out: Path) -> bool:
    return read_files(out).keys() == set(FOUR) and all(
        (out / name).read_bytes() == bytes(2 * MIB) for name in FOUR
    )


def loads(mounted: Mounted) -> Counter[int]:
    """Bytes that were written to each OST so far, as the servers count them."""
    mounted.set("--inject", "none")  # whatever is set, the statistics are written too
    found: Counter[int] = Counter()
    for folder in (mounted.store / "server" / "obdfilter").iterdir():
        match = re.search(r"^write_bytes .* (\d+) \d+$", (folder / "stats").read_text(), re.M)
        found[int(folder.name[-4:], 16)] = int(match[1]) if match else 0
    return found


@pytest.mark.mpi
@pytest.mark.parametrize(("kernel", "api", "mode"), COMBINATIONS)
def test_second_run_of_a_kernel_is_placed_as_the_table_says(
    kernel: str,
    api: str,
    mode: str,
    mounts: dict[str, Mounted],
    tmp_path: Path,
    run: Run,
    tell: Callable,
) -> None:
    mounted = mounts[mode]
    out = mounted.mount / f"{kernel}-{api}-{mode}"
    script, options = KERNELS[kernel]
    words = [ROOT / "examples" / script, *options, f"--{mode}", "--api", api, "--read"]
    command = wheel(tmp_path).launch_python(RANKS, *words, "--out", out)
    loop = Loop(out, script, command, run, tell)

    plain = loop.start("--plain")
    expected = read_files(out)
    count = "4 files" if mode == "fpp" else "1 file"
    assert len(expected) == int(count[0])

    def is_as_plainly(done: subprocess.CompletedProcess[str]) -> bool:
        assert printed(done.stdout, out) == printed(plain.stdout, out)
        assert read_files(out) == expected
        rest = [line for line in done.stderr.splitlines() if not line.startswith("iez: ")]
        return rest == plain.stderr.splitlines()

    first = loop.start()
    (line,) = iez_lines(first.stderr)
    assert line.startswith(f"iez: {count} seen, ")
    assert line.endswith(f"written; the next run is planned (try: iez table {script})")
    assert is_as_plainly(first)
    assert are_lustres_own(layouts(out))

    planned = loop.table()
    second = loop.start()
    (line,) = iez_lines(second.stderr)
    # A rank that finds the shared file with data in it already says so.
    assert line.startswith(f"iez: {count} placed")
    assert mode == "ssf" or line == f"iez: {count} placed (try: iez table {script})"
    assert is_as_plainly(second)
    assert layouts(out) == planned
    assert not are_lustres_own(planned)
    assert len({osts for _, osts in planned.values()}) == len(expected)


@pytest.mark.mpi
def test_bytes_lie_where_the_layouts_say(
    mounted: Mounted, folder: Path, tmp_path: Path, run: Run, tell: Callable
) -> None:
    os.setxattr(folder, "lustre.lov", v1(3, MIB))  # the user's wish: stripes over three OSTs
    words = [ROOT / "examples" / "hacc_like.py", "--header", "2M", "--particles", "60000"]
    command = wheel(tmp_path).launch_python(RANKS, *words, "--out", folder / "out")
    loop = Loop(folder / "out", "hacc_like.py", command, run, tell)
    loop.start()
    planned = loop.table()
    before = loads(mounted)
    assert "4 files placed" in loop.start().stderr
    assert layouts(loop.out) == planned
    assert {len(osts) for _, osts in planned.values()} == {3}
    expected: Counter[int] = Counter()
    for name, (stripe_size_bytes, osts) in planned.items():
        size_bytes = (loop.out / name).stat().st_size
        expected.update(striped(size_bytes, stripe_size_bytes, osts))
    assert loads(mounted) - before == expected


def striped(size_bytes: int, stripe_size_bytes: int, osts: tuple[int, ...]) -> Counter[int]:
    """Bytes of a file on each OST."""
    found: Counter[int] = Counter()
    for number, at in enumerate(range(0, size_bytes, stripe_size_bytes)):
        found[osts[number % len(osts)]] += min(stripe_size_bytes, size_bytes - at)
    return found


def fill(mounted: Mounted, ost: int) -> Path:
    """Writes to the OST until it takes no more, and lets its server see it."""
    path = mounted.mount / "filler"
    fd = create(path, specific([ost], MIB))
    with pytest.raises(OSError, match="No space left"):
        while True:
            os.write(fd, bytes(MIB))
    os.close(fd)
    mounted.set("--inject", "none")
    return path


def some_seconds_pass(env: dict[str, str]) -> None:
    """What is known of OSTs is good for five; then it is asked for again."""
    (Path(env["HOME"]) / ".cache" / "iez" / "osts.json").unlink()


@pytest.mark.parametrize("state", ["full", "read-only", "no-create", "inactive", "filled"])
def test_ost_that_was_closed_between_two_runs_is_not_used(
    state: str, writer_loop: Loop, mounted: Mounted, env: dict[str, str]
) -> None:
    planned = observed(writer_loop)
    (closed,) = planned["part.1"][1]
    if state == "filled":
        filler = fill(mounted, closed)
    else:
        mounted.set(str(closed), "--state", state)
    some_seconds_pass(env)
    assert_placed_elsewhere(writer_loop, closed)
    if state == "filled":
        filler.unlink()


def assert_placed_elsewhere(loop: Loop, closed: int) -> None:
    done = loop.start(FILES=FILES)
    assert iez_lines(done.stderr) == ["iez: 4 files placed (try: iez table writer)"]
    found = layouts(loop.out)
    assert closed not in {ost for _, osts in found.values() for ost in osts}
    assert not any(size == OWN_SIZE_BYTES for size, _ in found.values())
    assert is_whole(loop.out)


def test_ost_that_is_switched_off_is_not_used_even_at_once(
    writer_loop: Loop, mounted: Mounted
) -> None:
    planned = observed(writer_loop)
    (closed,) = planned["part.1"][1]
    mounted.set(str(closed), "--state", "inactive")
    assert_placed_elsewhere(writer_loop, closed)


def test_degraded_ost_is_left_by_the_next_plan_that_is_made(
    writer_loop: Loop, mounted: Mounted, env: dict[str, str]
) -> None:
    """A plan that is there already may stay: the OST still takes files."""
    planned = observed(writer_loop)
    (degraded,) = planned["part.1"][1]
    mounted.set(str(degraded), "--state", "degraded")
    some_seconds_pass(env)
    assert "4 files placed" in writer_loop.start(FILES=FILES).stderr
    assert_placed_elsewhere(writer_loop, degraded)


PHRASES = {
    "full": "OST full (ENOSPC)",
    "read-only": "OST read-only (EROFS)",
    "no-create": "OST closed for new files (ENOBUFS)",
    "inactive": "OST inactive (EREMOTEIO)",
}


@pytest.mark.parametrize("state", PHRASES)
def test_plan_that_is_overtaken_by_events_is_refused_and_lustre_chooses(
    state: str, writer_loop: Loop, mounted: Mounted
) -> None:
    """The OST is closed after the job has started, as its plan was good then."""
    planned = observed(writer_loop)
    (closed,) = planned["part.1"][1]
    before = f"{IEZ} loopback set --dir {mounted.mount} {closed} --state {state}"
    store = mounted.env["IEZ_STATE_DIR"]
    done = writer_loop.start(FILES=FILES, BEFORE=f"IEZ_STATE_DIR={store} {before}")
    found = layouts(writer_loop.out)
    refused = {name: found.pop(name) for name, (_, osts) in planned.items() if osts == (closed,)}
    assert are_lustres_own(refused)
    assert (closed,) not in {osts for _, osts in refused.values()}
    assert found == {name: each for name, each in planned.items() if name not in refused}
    placed = f"{len(found)} file{'s' * (len(found) != 1)} placed"
    why = f"{len(refused)} not: {len(refused)} {PHRASES[state]}"
    assert iez_lines(done.stderr) == [f"iez: {placed}; {why} (try: iez table writer)"]
    assert is_whole(writer_loop.out)


def test_site_that_ignores_layouts_in_silence_is_obeyed_and_named(
    writer_loop: Loop, mounted: Mounted
) -> None:
    observed(writer_loop)
    mounted.set("--inject", "silent")
    done = writer_loop.start(FILES=FILES)
    (line,) = iez_lines(done.stderr)
    why = "ignored by the MDS (this site does not let users set layouts)"
    assert line == f"iez: 0 files placed; 4 not: 4 {why} (try: iez table writer)"
    assert are_lustres_own(layouts(writer_loop.out))
    assert is_whole(writer_loop.out)


def test_exit_code_and_death_are_the_jobs_in_observed_and_placed_runs(
    mounted: Mounted, folder: Path, run: Run, tell: Callable
) -> None:
    script = f'head -c 2000000 /dev/zero >{folder}/out; echo said; eval "$LAST"'
    for last, code in (("exit 3", 3), ("kill -SEGV $$", -11)):
        words = ["--quiet", "--app", f"ends-{code}", "sh", "-c", script]
        plain, first = run("--plain", *words, LAST=last), run(*words, LAST=last)
        (planned,) = tell("table", f"ends-{code}")["allocations"]
        (folder / "out").unlink()
        second = run(*words, LAST=last)
        assert osts_of(folder / "out") == tuple(planned["ost_list"]) != ()
        for done in (plain, first, second):
            assert (done.returncode, done.stdout, done.stderr) == (code, "said\n", plain.stderr)


def test_jobs_that_create_the_same_files_at_once_leave_planned_ones(
    writer_loop: Loop, env: dict[str, str]
) -> None:
    planned = observed(writer_loop)
    shutil.rmtree(writer_loop.out)
    command = [IEZ_RUN, "--app", writer_loop.name, "--learn", "off", *writer_loop.command]
    jobs = [
        subprocess.Popen(command, env=env | {"FILES": FILES}, stderr=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    for job in jobs:
        _, said = job.communicate()
        assert job.returncode == 0, said
        assert "placed" in said or "there already" in said
    assert layouts(writer_loop.out) == planned
    assert is_whole(writer_loop.out)


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("mode", "how"),
    [
        ("fpp", "create"),
        ("ssf", "exclusive"),
        pytest.param("fpp", "exclusive", marks=pytest.mark.full),
        pytest.param("ssf", "create", marks=pytest.mark.full),
    ],
)
def test_ranks_that_race_to_create_a_file_get_the_planned_one(
    mode: str, how: str, mounts: dict[str, Mounted], tmp_path: Path
) -> None:
    mpi: Mpi = LIBRARIES["mpich"](tmp_path)
    program = tmp_path / "race"
    subprocess.run([mpi.c, PROGRAMS / "race.c", "-o", program], check=True)
    outcomes = assert_same_and_placed(
        tmp_path,
        lambda data: mpi.launch(8, program, how, data, "20"),
        {"shared.#": [3, 1, 7, 0]},
        mpi.env,
        mount=mounts[mode].mount / f"race-{how}",
    )
    assert 0 < outcomes.placed <= 20


@pytest.mark.mpi
def test_parallel_hdf5_is_placed_and_reads_the_same(
    mounts: dict[str, Mounted], tmp_path: Path
) -> None:
    mpi: Mpi = LIBRARIES["openmpi"](tmp_path)
    program = tmp_path / "hdf5_parallel"
    source = PROGRAMS / "hdf5_parallel.c"
    words = [mpi.parallel_hdf5, "-shlib", source, "-o", program]
    subprocess.run(words, check=True, cwd=tmp_path)
    outcomes = assert_same_and_placed(
        tmp_path,
        lambda data: mpi.launch(2, program, data / "rows.h5"),
        {"rows.h5": [5, 2]},
        mpi.env,
        mount=mounts["ssf"].mount / "parallel-hdf5",
    )
    assert (outcomes.placed, outcomes.placed_by_hdf5) == (1, 1)
