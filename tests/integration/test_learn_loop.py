"""The loop: the first run is observed, the next one placed, by nothing but `iez-run` in front."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from iez_run_command import IEZ_RUN, iez_lines, runs
from learn_job import MIB, Run
from mpi_libraries import wheel

pytest_plugins = ["iez_run_fixtures", "learn_fixtures"]

PYTHON = sys.executable
EXAMPLES = Path(__file__).parents[2] / "examples"
FOUR = ("part.0=2", "part.1=3", "part.2=4", "part.3=5")


def clear(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


def test_first_run_is_observed_and_the_second_placed(
    job: Callable, mock: Path, osts_of: Callable, tell: Callable, env: dict[str, str]
) -> None:
    first = job(*FOUR)
    assert iez_lines(first.stderr) == [
        "iez: 4 files seen, 14.0M written; the next run is planned (try: iez table writer.py)"
    ]
    assert set(osts_of(mock).values()) == {()}
    planned = {
        Path(row["file_name"]).name: tuple(row["ost_list"])
        for row in tell("table", "writer.py")["allocations"]
    }
    clear(mock)
    second = job(*FOUR)
    assert iez_lines(second.stderr) == ["iez: 4 files placed (try: iez table writer.py)"]
    assert osts_of(mock) == planned
    assert all(len(osts) == 1 for osts in planned.values())
    assert len(set(planned.values())) == 4
    assert runs(env) == []


def test_job_sees_the_same_with_and_without_learning(run: Run, mock: Path, writer: Path) -> None:
    for name, code in (("a=2", 0), ("b=2", 3)):
        words = [PYTHON, str(writer), "--exit", str(code), "--out", str(mock)]
        plain = run("--plain", *words, FILES=name)
        learned = run("--mock", str(mock), *words, FILES=name)
        assert (
            (plain.returncode, plain.stdout) == (learned.returncode, learned.stdout) == (code, "")
        )


def test_other_directories_lead_to_the_same_plan(
    job: Callable, mock: Path, osts_of: Callable
) -> None:
    job(*FOUR, out=mock / "job.1001")
    for name in ("job.1002", "some-other-name"):
        done = job(*FOUR, out=mock / name)
        assert iez_lines(done.stderr) == ["iez: 4 files placed (try: iez table writer.py)"]
        assert len(set(osts_of(mock / name).values())) == 4


def test_steps_to_come_are_placed_by_their_template(job: Callable, mock: Path) -> None:
    job("ckpt_0000.h5=2", "ckpt_0010.h5=2", "ckpt_0020.h5=2")
    done = job("ckpt_0030.h5=2", "ckpt_0040.h5=2")
    assert iez_lines(done.stderr) == ["iez: 2 files placed (try: iez table writer.py)"]


def test_small_files_are_left_alone_and_said_to_be_small(job: Callable, mock: Path) -> None:
    job("big=4", "small=0.1")
    clear(mock)
    done = job("big=4", "small=0.1")
    assert iez_lines(done.stderr) == [
        "iez: 1 file placed; 1 not: 1 too small to matter (try: iez table writer.py)"
    ]


def test_temporary_name_is_planned_and_not_the_one_after_the_rename(
    run: Run, mock: Path, osts_of: Callable
) -> None:
    script = 'head -c 3000000 /dev/zero >"$1/out.$NAME" && mv "$1/out.$NAME" "$1/result"'
    # With OSTs of its own once it is sure that each run has but one such file.
    steps = (("1 file seen", "aB3xY9", 0), ("1 file placed", "7Qw4Zt", 0), ("placed", "m2Kd8R", 1))
    for expected, name, count in steps:
        done = run("--mock", str(mock), "sh", "-c", script, "sh", str(mock), NAME=name)
        assert done.returncode == 0
        assert expected in iez_lines(done.stderr)[0]
        assert len(osts_of(mock)["result"]) == count


def test_named_application_is_one_whatever_its_command(
    run: Run, mock: Path, writer: Path, tell: Callable
) -> None:
    words = [PYTHON, str(writer), "--out", str(mock)]
    run("--mock", str(mock), "--app", "mine", *words, FILES="a_1=2")
    done = run(
        "--mock", str(mock), "--app=mine", "sh", "-c", f"head -c 2000000 /dev/zero >{mock}/a_2"
    )
    assert [each["name"] for each in tell("apps")["applications"]] == ["mine"]
    assert len(tell("runs", "mine")["runs"]) == 2
    assert done.returncode == 0


def test_more_than_half_of_the_files_unknown_means_learning_afresh(
    job: Callable, mock: Path, tell: Callable
) -> None:
    job("old_a=2", "old_b=2")
    clear(mock)
    done = job("new_x=2", "new_y=2", "old_a=2")
    assert "2 of 3 files are new: learned afresh; the next run is planned" in done.stderr
    names = {
        each["shown"].rpartition("/")[2] for each in tell("templates", "writer.py")["templates"]
    }
    assert names == {"new_x", "new_y", "old_a"}
    clear(mock)
    assert "3 files placed" in job("new_x=2", "new_y=2", "old_a=2").stderr


def test_half_of_them_unknown_is_not_enough(job: Callable, mock: Path, tell: Callable) -> None:
    job("old_a=2", "old_b=2")
    clear(mock)
    done = job("new_x=2", "old_a=2")
    assert "afresh" not in done.stderr
    assert len(tell("templates", "writer.py")["templates"]) == 3


def test_files_that_were_there_already_are_told_and_do_not_end_the_plan(
    job: Callable, mock: Path, tell: Callable
) -> None:
    job(*FOUR)
    for _ in range(6):
        assert "4 there already" in job(*FOUR).stderr
    assert tell("runs")["runs"][0]["outcomes"] == {"existed": 4}
    clear(mock)
    assert "4 files placed" in job(*FOUR).stderr


def test_more_files_than_ever_are_not_all_put_on_one_ost(
    job: Callable, mock: Path, osts_of: Callable
) -> None:
    job("step1=2")
    clear(mock)
    job("step1=2", "step2=2", "step3=2")
    found = osts_of(mock)
    assert len(found["step1"]) == 1
    assert found["step2"] == found["step3"] == ()


def test_closed_ost_is_not_used_by_a_plan_that_was_made_before(
    job: Callable, mock: Path, osts_of: Callable
) -> None:
    job(*FOUR)
    clear(mock)
    states = "".join(f'[[ost]]\nindex = {n}\nstate = ["full"]\n' for n in (0, 5, 10, 1))
    (mock / "iez-mock.toml").write_text(states)
    assert "4 files placed" in job(*FOUR).stderr
    (mock / "iez-mock.toml").unlink()
    assert {(0,), (5,), (10,), (1,)}.isdisjoint(osts_of(mock).values())


def test_mock_by_a_symbolic_link_is_the_same_directory(
    run: Run, mock: Path, writer: Path, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(mock)
    for expected, out in (("4 files seen", link / "d1"), ("4 files placed", mock / "d2")):
        words = ["--mock", str(link), PYTHON, str(writer), "--out", str(out)]
        assert expected in run(*words, FILES=" ".join(FOUR)).stderr


def test_failed_run_with_other_files_does_not_make_it_forget(
    run: Run, mock: Path, writer: Path
) -> None:
    words = ["--mock", str(mock), "--app", "x", PYTHON, str(writer), "--out", str(mock)]
    run(*words, FILES="ck1=2 ck2=2")
    clear(mock)
    run(*words, "--exit", "1", FILES="error.log=0.01")
    clear(mock)
    assert "2 files placed" in run(*words, FILES="ck1=2 ck2=2").stderr


def test_growing_files_are_predicted_to_grow(job: Callable, mock: Path, tell: Callable) -> None:
    for size in (2, 3, 4, 5):
        clear(mock)
        job(f"state.dat={size}")
    (file,) = tell("predict", "writer.py")["files"]
    assert file["write_bytes"] == 6 * MIB
    assert file["series"] == [2 * MIB, 3 * MIB, 4 * MIB, 5 * MIB]


def test_failed_run_is_remembered_but_does_not_spoil_the_prediction(
    run: Run, mock: Path, writer: Path, tell: Callable
) -> None:
    for size, code in ((4, 0), (1, 7)):
        clear(mock)
        words = [PYTHON, str(writer), "--exit", str(code), "--out", str(mock)]
        done = run("--mock", str(mock), *words, FILES=f"state={size}")
        assert done.returncode == code
    assert [each["exit_code"] for each in tell("runs")["runs"]] == [7, 0]
    assert tell("predict", "writer.py")["files"][0]["write_bytes"] == 4 * MIB


def test_run_that_dies_by_a_signal_is_learned_from_all_the_same(
    run: Run, mock: Path, tell: Callable
) -> None:
    script = f"head -c 2000000 /dev/zero >{mock}/a; kill -KILL $$"
    assert run("--mock", str(mock), "sh", "-c", script).returncode == -9
    assert [each["exit_code"] for each in tell("runs")["runs"]] == [137]


def test_concurrent_runs_of_one_application_do_not_disturb_each_other(
    env: dict[str, str], mock: Path, writer: Path, tell: Callable
) -> None:
    words = [IEZ_RUN, "--mock", str(mock), PYTHON, str(writer), "--out"]
    started = [
        subprocess.Popen(
            [*words, str(mock / f"d{n}")],
            env=env | {"FILES": " ".join(FOUR)},
            stderr=subprocess.PIPE,
        )
        for n in range(10)
    ]
    for process in started:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0
        assert b"not learned" not in said
        assert said.count(b"\n") == 1
    found = tell("runs")["runs"]
    assert len(found) == 10
    assert {each["files"] for each in found} == {4}
    (application,) = tell("apps")["applications"]
    assert application["runs"] == 10


def test_corrupt_stored_plan_is_made_again(job: Callable, mock: Path, env: dict[str, str]) -> None:
    job(*FOUR)
    (plan,) = (Path(env["HOME"]) / ".local/state/iez/plans").glob("*.json")
    plan.with_suffix(".plan").write_bytes(b"no plan")
    clear(mock)
    assert iez_lines(job(*FOUR).stderr) == ["iez: 4 files placed (try: iez table writer.py)"]


def test_plan_that_names_an_ost_that_is_gone_is_made_again(
    job: Callable, mock: Path, osts_of: Callable
) -> None:
    (mock / "iez-mock.toml").write_text("osts = 4\n")
    job(*FOUR)
    for path in mock.glob("part*"):
        path.unlink()
    (mock / "iez-mock.toml").write_text('osts = "1-4"\n')
    assert "4 files placed" in job(*FOUR).stderr
    (mock / "iez-mock.toml").unlink()
    assert set(osts_of(mock).values()) <= {(1,), (2,), (3,), (4,)}


def test_given_plan_beats_the_learned_one(job: Callable, mock: Path, tmp_path: Path) -> None:
    job(*FOUR)
    clear(mock)
    plan = tmp_path / "mine.csv"
    plan.write_text(f"path,stripe_count,stripe_size,ost_list,pool\n{mock}/**,,1M,7 8,\n")
    done = job(*FOUR, options=("--plan", str(plan)))
    assert "4 files placed" in done.stderr


@pytest.mark.mpi
def test_other_rank_counts_and_directories_are_placed(
    env: dict[str, str], mock: Path, tell: Callable, osts_of: Callable
) -> None:
    mpi = wheel(mock)
    said = []
    for ranks, out in ((4, "first"), (6, "second"), (2, "third")):
        words = [str(EXAMPLES / "hacc_like.py"), "--header", "1M", "--particles", "40000", "--out"]
        command = [IEZ_RUN, "--mock", mock, *mpi.launch_python(ranks, *words, mock / out)]
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        said += iez_lines(done.stderr)
        assert (ranks == 4) == ("files seen" in said[-1])
    assert said[1:] == [
        "iez: 6 files placed (try: iez table hacc_like.py)",
        "iez: 2 files placed (try: iez table hacc_like.py)",
    ]
    for out, ranks in (("second", 6), ("third", 2)):
        assert len(set(osts_of(mock / out).values())) == ranks
    (application,) = tell("apps")["applications"]
    assert application["runs"] == 3


@pytest.mark.mpi
def test_iez_run_on_every_rank_learns_once(env: dict[str, str], mock: Path, tell: Callable) -> None:
    kernel = [PYTHON, EXAMPLES / "hacc_like.py", "--header", "1M", "--out", mock / "out"]
    words = wheel(mock).launch(3, IEZ_RUN, "--mock", mock, *kernel)
    for expected in ("3 files seen", "3 files placed"):
        for path in mock.glob("out/*"):
            path.unlink()
        done = subprocess.run(words, env=env, capture_output=True, text=True)
        assert expected in iez_lines(done.stderr)[0]
    assert [each["ranks"] for each in tell("runs")["runs"]] == [3, 3]


def test_what_is_known_can_be_forgotten(
    job: Callable, mock: Path, iez: Run, tell: Callable
) -> None:
    job(*FOUR)
    done = iez("forget", "writer.py")
    assert (done.returncode, done.stdout) == (0, "writer.py: 1 run forgotten\n")
    assert tell("apps")["applications"] == []
    clear(mock)
    assert "4 files seen" in job(*FOUR).stderr


def test_plan_can_be_made_again_for_more_ranks_and_written_to_a_file(
    job: Callable, mock: Path, iez: Run, tmp_path: Path
) -> None:
    job(*FOUR)
    (mock / "iez-mock.toml").write_text('osts = "20-23"\n')
    plan = tmp_path / "new.plan"
    done = iez("plan", "make", "writer.py", "--mock", mock, "-o", plan)
    assert done.returncode == 0, done.stderr
    assert "4 of 4 files" in done.stdout
    shown = json.loads(iez("plan", "show", plan, "--json").stdout)
    osts = {ost for file in shown["files"] for layout in file["layouts"] for ost in layout["osts"]}
    assert osts == {20, 21, 22, 23}
