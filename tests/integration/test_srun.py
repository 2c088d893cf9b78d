"""iez-run in front of srun: the stand-in in fakes/ exports variables as Slurm does."""

from pathlib import Path

import pytest
from iez_run_command import IEZ_RUN, iez_lines, runs
from rank_lines import ours, ranks, run

pytest_plugins = ["iez_run_fixtures"]

FAKES = Path(__file__).parent / "fakes"


@pytest.fixture
def slurm(env: dict[str, str]) -> dict[str, str]:
    return env | {"PATH": f"{FAKES}:{env['PATH']}", "MINE": "1"}


SEE = 'echo "rank|$MINE|$LD_PRELOAD|$IEZ_PLAN|$*"'


@pytest.mark.parametrize(
    ("words", "mine"),
    [
        (["-n", "2"], "1"),
        (["--export=ALL,OTHER=2", "-n2"], "1"),
        (["--export", "ALL", "-n", "1"], "1"),
        (["--export=NONE"], ""),
        (["--export=MINE,PATH", "-J", "name"], "1"),
        (["--export=NIL", "--label", "-J", "name", "-n", "1"], ""),
    ],
)
def test_srun_exports_the_variables_and_what_the_user_chose(
    slurm: dict[str, str], words: list[str], mine: str
) -> None:
    found = ranks([IEZ_RUN, "srun", *words, "sh", "-c", SEE, "sh", "--export=x"], slurm)
    assert all(ours(rank.preload) and rank.plan for rank in found)
    assert all((rank.host, rank.arguments) == (mine, "--export=x") for rank in found)


def test_srun_follows_the_export_of_the_batch_job(slurm: dict[str, str]) -> None:
    (found,) = ranks([IEZ_RUN, "srun", "sh", "-c", SEE], slurm | {"SLURM_EXPORT_ENV": "NONE"})
    assert (found.host, ours(found.preload)) == ("", True)


@pytest.mark.parametrize("words", [["--export=ALL,LD_PRELOAD=libm.so.6"], ["--export=LD_PRELOAD"]])
def test_srun_keeps_the_users_preload(slurm: dict[str, str], words: list[str]) -> None:
    slurm["LD_PRELOAD"] = "libm.so.6"
    (found,) = ranks([IEZ_RUN, "srun", *words, "sh", "-c", SEE], slurm)
    assert found.preload.startswith("libm.so.6:")
    assert ours(found.preload)


def test_srun_with_several_programs_exports_to_each(slurm: dict[str, str]) -> None:
    first = ["--export=NONE", "sh", "-c", SEE, "sh", "first"]
    second = ["-n", "2", "sh", "-c", SEE, "sh", "second"]
    found = ranks([IEZ_RUN, "srun", *first, ":", *second], slurm)
    assert sorted((rank.host, rank.arguments) for rank in found) == [
        ("", "first"),
        ("1", "second"),
        ("1", "second"),
    ]
    assert all(ours(rank.preload) for rank in found)


@pytest.mark.parametrize("words", [[], ["--export=MINE"]])
def test_srun_gets_values_with_commas_by_its_environment(
    slurm: dict[str, str], tmp_path: Path, words: list[str]
) -> None:
    slurm["IEZ_STATE_DIR"] = str(tmp_path / "a,b")
    (found,) = ranks([IEZ_RUN, "srun", *words, "sh", "-c", SEE], slurm)
    assert ours(found.preload)
    assert found.plan.startswith(f"{tmp_path}/a,b/")


def test_tasks_of_srun_that_each_start_iez_run_share_one_line(
    slurm: dict[str, str], mock: Path
) -> None:
    own = [IEZ_RUN, "--mock", str(mock), "sh", "-c", f"echo x > {mock}/$$"]
    done = run(["srun", "-n", "3", *own], slurm)
    assert (done.returncode, len(iez_lines(done.stderr))) == (0, 1)
    assert "3 files seen" in done.stderr
    assert runs(slurm) == []
