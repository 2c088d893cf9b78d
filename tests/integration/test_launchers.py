"""iez-run and the launchers of parallel jobs: the variables reach every rank on every host."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from iez_run_command import IEZ_RUN, iez_lines, runs
from rank_lines import SHOW, ours, rank_lines, ranks, run

from iez_common.layout import read_wire

pytest_plugins = ["iez_run_fixtures"]

BIN = Path(sys.executable).parent
FAKES = Path(__file__).parent / "fakes"
OPEN_MPI_5 = os.environ.get("IEZ_TEST_OPEN_MPI_5", "")  # path of its mpirun: no system package yet
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
HOSTS = "10.213.77.1,10.213.77.2"


@dataclass(frozen=True)
class Launcher:
    words: tuple[str, ...]
    over_ssh: tuple[str, ...]  # to two hosts
    preload: Callable[[str], list[str]]  # how a user sets LD_PRELOAD for the ranks


HYDRA_SSH = ("-launcher", "ssh", "-launcher-exec", str(FAKES / "ssh"), "-hosts", HOSTS)
LAUNCHERS = {
    "mpich": Launcher(("mpirun.mpich",), HYDRA_SSH, lambda v: ["-env", "LD_PRELOAD", v]),
    "mpich-wheel": Launcher((f"{BIN}/mpiexec",), HYDRA_SSH, lambda v: ["-genv", "LD_PRELOAD", v]),
    "openmpi-4": Launcher(
        ("mpirun.openmpi", "--oversubscribe"),
        ("--mca", "plm_rsh_agent", str(FAKES / "ssh"), "--host", HOSTS),
        lambda v: ["-x", f"LD_PRELOAD={v}"],
    ),
}
if OPEN_MPI_5:
    LAUNCHERS["openmpi-5"] = Launcher(
        (OPEN_MPI_5, "--oversubscribe"),
        ("--prtemca", "plm_ssh_agent", str(FAKES / "ssh"), "--host", HOSTS),
        lambda v: ["-x", f"LD_PRELOAD={v}"],
    )
each_launcher = pytest.mark.parametrize("launcher", LAUNCHERS.values(), ids=LAUNCHERS)


@pytest.fixture
def env(env: dict[str, str]) -> dict[str, str]:
    return env | AS_ROOT


@pytest.mark.mpi
@each_launcher
def test_every_rank_of_every_program_gets_the_variables(
    env: dict[str, str], launcher: Launcher
) -> None:
    program = ["sh", "-c", SHOW, "sh"]
    parts = [*launcher.words, "-n", "2", *program, "first", ":", "-n", "1", *program, "second"]
    found = ranks([IEZ_RUN, *parts], env)
    assert sorted(rank.arguments for rank in found) == ["first", "first", "second"]
    assert all(ours(rank.preload) for rank in found)
    assert len({rank.plan for rank in found}) == 1
    assert runs(env) == []


@pytest.mark.mpi
@each_launcher
def test_launcher_itself_is_not_preloaded(env: dict[str, str], launcher: Launcher) -> None:
    script = 'tr "\\0" "\\n" < /proc/$PPID/environ | grep -c libiez_shim; exit 0'
    done = run([IEZ_RUN, *launcher.words, "-n", "1", "sh", "-c", script], env)
    assert done.stdout.strip() == "0"


@pytest.mark.mpi
@each_launcher
@pytest.mark.parametrize("place", ["words", "environment", "second program"])
def test_users_own_preload_stays(env: dict[str, str], launcher: Launcher, place: str) -> None:
    theirs = launcher.preload("libm.so.6")
    program = ["-n", "1", "sh", "-c", SHOW, "sh"]
    first, second = program, program
    if place == "words":
        first = [*theirs, *program]
    elif place == "second program":
        second = [*theirs, *program]
    else:
        env["LD_PRELOAD"] = "libm.so.6"
    words = [IEZ_RUN, *launcher.words, *first, "1", ":", *second, "2"]
    found = {rank.arguments: rank.preload for rank in ranks(words, env)}
    assert all(ours(preload) for preload in found.values())
    with_theirs = {"words": "1", "second program": "2"}.get(place, "1")
    assert found[with_theirs].startswith("libm.so.6:")


@pytest.mark.mpi
@each_launcher
def test_words_of_the_program_are_not_taken_for_the_launchers(
    env: dict[str, str], launcher: Launcher
) -> None:
    theirs = launcher.preload("x")
    words = [IEZ_RUN, *launcher.words, "-n", "1", "sh", "-c", SHOW, "sh", *theirs]
    (found,) = ranks(words, env)
    assert found.arguments == " ".join(theirs)
    assert ours(found.preload)


@pytest.mark.mpi
@each_launcher
def test_exit_code_of_a_parallel_job_is_the_launchers(
    env: dict[str, str], launcher: Launcher
) -> None:
    words = [*launcher.words, "-n", "2", "sh", "-c", "exit 3"]
    assert run([IEZ_RUN, *words], env).returncode == run(words, env).returncode == 3


@pytest.mark.mpi
@pytest.mark.parametrize("place", ["words", "environment", "file"])
def test_open_mpi_4_that_lists_its_variables_gets_no_second_list(
    env: dict[str, str], place: str
) -> None:
    listed = "MINE=1;LD_PRELOAD=libm.so.6"
    words = ["--mca", "mca_base_env_list", listed] if place == "words" else []
    if place == "environment":
        env["OMPI_MCA_mca_base_env_list"] = listed
    elif place == "file":
        folder = Path(env["HOME"]) / ".openmpi"
        folder.mkdir()
        (folder / "mca-params.conf").write_text(f"# mine\nmca_base_env_list = {listed}\n")
    script = SHOW.replace("$(hostname)", "$MINE")
    (found,) = ranks([IEZ_RUN, "mpirun.openmpi", *words, "-n", "1", "sh", "-c", script], env)
    assert found.host == "1"
    assert found.preload.startswith("libm.so.6:")
    assert ours(found.preload)
    assert found.plan


@pytest.mark.mpi
def test_launcher_behind_a_wrapper_script_is_asked_what_it_is(
    env: dict[str, str], tmp_path: Path
) -> None:
    for real in ("mpirun.mpich", "mpirun.openmpi --oversubscribe"):
        wrapper = tmp_path / "mpirun"
        wrapper.write_text(f'#!/bin/sh\nexec {real} "$@"\n')
        wrapper.chmod(0o755)
        script = f'{SHOW}; tr "\\0" "\\n" < /proc/$PPID/environ | grep IEZ_PLAN'
        done = run([IEZ_RUN, str(wrapper), "-n", "1", "sh", "-c", script, "sh"], env)
        assert "libiez_shim.so" in done.stdout
        assert len(done.stdout.splitlines()) == 1


def test_launcher_that_is_not_known_passes_its_environment_on(
    env: dict[str, str], tmp_path: Path
) -> None:
    launcher = tmp_path / "mpiexec"
    launcher.write_text('#!/bin/sh\n[ "$1" = --version ] && exec sleep 60\nexec "$@"\n')
    launcher.chmod(0o755)
    began = time.monotonic()
    (found,) = ranks([IEZ_RUN, str(launcher), "sh", "-c", SHOW, "sh"], env)
    assert ours(found.preload)
    assert time.monotonic() - began < 20


# iez-run behind the launcher


@pytest.mark.mpi
@each_launcher
def test_ranks_that_each_start_iez_run_share_one_run_and_one_line(
    env: dict[str, str], launcher: Launcher, mock: Path
) -> None:
    script = f"{SHOW}; echo x > {mock}/$$; exit 0"
    words = [*launcher.words, "-n", "3", IEZ_RUN, "--mock", str(mock), "sh", "-c", script, "sh"]
    done = run(words, env)
    plans = {line.split("|")[3] for line in done.stdout.splitlines()}
    assert len(done.stdout.splitlines()) == 3
    assert len(plans) == 1
    assert len(iez_lines(done.stderr)) == 1
    assert "3 files seen" in iez_lines(done.stderr)[0]
    assert runs(env) == []


@pytest.mark.mpi
@each_launcher
def test_ranks_that_start_iez_run_again_and_again_each_time_get_the_plan_they_asked_for(
    env: dict[str, str], launcher: Launcher, mock: Path, tmp_path: Path
) -> None:
    for osts in ("0 1", "2 3", "4 5"):
        table = f"path,stripe_count,stripe_size,ost_list,pool\n{mock}/**,2,1M,{osts},\n"
        (tmp_path / f"{osts[0]}.csv").write_text(table)
    script = f"""for plan in 0 2 4 4; do
        {IEZ_RUN} --mock {mock} --plan {tmp_path}/$plan.csv touch {mock}/$plan.$$
    done"""
    done = run([*launcher.words, "-n", "3", "sh", "-c", script], env)
    assert done.returncode == 0, done.stderr
    files = list(mock.iterdir())
    assert len(files) == 9
    for file in files:
        first = int(file.name[0])
        (component,) = read_wire(os.getxattr(file, "user.iez.lov")).components
        assert component.osts == (first, first + 1)
    # The fourth round finds its files there.
    lines = sorted(iez_lines(done.stderr))
    assert lines == ["iez: 0 files placed", *["iez: 3 files placed"] * 3]
    assert runs(env) == []


@pytest.mark.mpi
@each_launcher
def test_ranks_that_each_start_iez_run_share_one_line_of_trouble(
    env: dict[str, str], launcher: Launcher, mock: Path
) -> None:
    broken = mock / "plan"
    broken.write_text("no plan")
    front = [IEZ_RUN, "--plan", str(broken), "--mock", str(mock)]
    done = run([*launcher.words, "-n", "3", *front, "sh", "-c", SHOW, "sh"], env)
    assert done.returncode == 0
    assert [line.split("|")[2] for line in done.stdout.splitlines()] == [""] * 3
    assert len(iez_lines(done.stderr)) == 1
    assert runs(env) == []


@pytest.mark.mpi
@each_launcher
def test_rank_that_is_killed_hangs_nobody(
    env: dict[str, str], launcher: Launcher, mock: Path
) -> None:
    script = f"echo x > {mock}/$$; sleep 0.5; mkdir {mock}/first && kill -KILL $PPID; exit 0"
    words = [*launcher.words, "-n", "3", IEZ_RUN, "--mock", str(mock), "sh", "-c", script]
    began = time.monotonic()
    assert run(words, env).returncode != 0
    assert time.monotonic() - began < 20


@pytest.mark.mpi
@each_launcher
def test_iez_run_in_front_of_and_behind_the_launcher_is_one_run(
    env: dict[str, str], launcher: Launcher, mock: Path
) -> None:
    script = f"{SHOW}; echo x > {mock}/$$"
    front = [IEZ_RUN, "--mock", str(mock), *launcher.words, "-n", "2"]
    done = run([*front, IEZ_RUN, "sh", "-c", script, "sh"], env)
    assert len({line.split("|")[3] for line in done.stdout.splitlines()}) == 1
    assert len(iez_lines(done.stderr)) == 1
    assert runs(env) == []


@pytest.mark.mpi
@each_launcher
def test_terminated_launcher_ends_the_ranks(env: dict[str, str], launcher: Launcher) -> None:
    command = [IEZ_RUN, *launcher.words, "-n", "2", "sh", "-c", "echo ready; exec sleep 30"]
    job = subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    )
    assert job.stdout is not None
    try:
        assert job.stdout.readline() + job.stdout.readline() == b"ready\nready\n"
        job.send_signal(signal.SIGTERM)
        job.wait(timeout=20)
        job.stdout.read()  # ends, as nobody holds it any more
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
        job.stdout.close()


# Two hosts


@pytest.fixture(scope="module")
def two_hosts() -> Iterator[dict[str, str]]:
    """Two network namespaces with a wire between them, and what the fake ssh has to know."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    names = [f"iez{os.getpid()}{letter}" for letter in "ab"]
    addresses = HOSTS.split(",")

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    try:
        for name in names:
            ip("netns", "add", name)
        link = ["type", "veth", "peer", "name", "wire"]
        ip("link", "add", "wire", "netns", names[0], *link, "netns", names[1])
        for name, address in zip(names, addresses, strict=True):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "wire")
            ip("-n", name, "link", "set", "wire", "up")
            ip("-n", name, "link", "set", "lo", "up")
        pairs = [f"{address}={name}" for name, address in zip(names, addresses, strict=True)]
        yield {"IEZ_FAKE_HOSTS": " ".join(pairs), "IEZ_FAKE_PATH": "/usr/bin:/bin"}
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


def on_first_host(hosts: dict[str, str]) -> list[str]:
    name = hosts["IEZ_FAKE_HOSTS"].split()[0].partition("=")[2]
    set_name = 'hostname "$0" && exec "$@"'
    return ["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c", set_name, name]


@pytest.mark.mpi
@each_launcher
@pytest.mark.parametrize("front", ["in front", "behind"])
def test_ranks_on_another_host_get_the_variables(
    env: dict[str, str],
    two_hosts: dict[str, str],
    launcher: Launcher,
    mock: Path,
    front: str,
) -> None:
    login = " ".join(f"{name}={value}" for name, value in (AS_ROOT | {"HOME": env["HOME"]}).items())
    env |= two_hosts | {"IEZ_FAKE_ENV": login}
    words = [launcher.words[0], *launcher.over_ssh, "-n", "2"]
    own = [IEZ_RUN, "--mock", str(mock)]
    program = ["sh", "-c", f"{SHOW}; echo x > {mock}/$$", "sh"]
    command = [*own, *words, *program] if front == "in front" else [*words, *own, *program]
    done = run([*on_first_host(two_hosts), *command], env)
    found = rank_lines(done.stdout)
    assert len({rank.host for rank in found}) == 2, done.stderr
    assert all(ours(rank.preload) for rank in found)
    assert len({rank.plan for rank in found}) == 1
    assert len(iez_lines(done.stderr)) == 1
    assert "2 files seen" in iez_lines(done.stderr)[0]
    assert runs(env) == []
