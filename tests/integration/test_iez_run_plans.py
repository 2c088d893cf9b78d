"""iez-run's own command line, its plans, and what it does when something is wrong."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from iez_run_command import IEZ_RUN, PACKAGES, SHIM, SHOW, iez_lines, runs

import iez_client

pytest_plugins = ["iez_run_fixtures"]

HEADER = "path,stripe_count,stripe_size,ost_list,pool\n"


# The command line


def test_options_end_at_the_first_word_that_is_not_one(run: Callable) -> None:
    assert run("-q", "echo", "-q", "--plan", "--", "x").stdout == "-q --plan -- x\n"
    assert run("--", "printf", "%s", "--quiet").stdout == "--quiet"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "iez-run: no command given"),
        (["-q", "--"], "iez-run: no command given"),
        (["--plann", "x", "true"], "iez-run: unknown option '--plann'"),
        (["-qk", "true"], "iez-run: unknown option '-qk'"),
        (["--plan"], "iez-run: --plan needs a value"),
        (["--mock=", "true"], "iez-run: --mock needs a value"),
    ],
)
def test_wrong_command_line_is_one_line_and_125(run: Callable, words: list[str], said: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr == f"{said} (try: iez-run --help)\n"


def test_command_that_cannot_be_run_gives_what_env_gives(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "plain-file").touch()
    for command in (
        "no-such-command",
        "/no/such/path",
        str(tmp_path),
        str(tmp_path / "plain-file"),
    ):
        like = subprocess.run(["env", command], capture_output=True, text=True)
        done = run(command)
        assert done.returncode == like.returncode
        assert done.stderr.startswith(f"iez-run: cannot run '{command}': ")
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.rpartition(": ")[2] == like.stderr.rpartition(": ")[2]


def test_help_ends_with_an_example_and_version_is_the_packages(run: Callable) -> None:
    assert run("--help").stdout.splitlines()[-1].startswith("  iez-run mpirun")
    assert run("-h").stdout == run("--help").stdout
    assert run("--version").stdout == f"iez-run {iez_client.__version__}\n"


# Plans, and trouble


def test_placed_run_ends_with_one_line_and_quiet_has_none(run: Callable, mock: Path) -> None:
    create = ("sh", "-c", f"echo x > {mock}/a; exit 3")
    for words in (["--mock", str(mock)], [f"--mock={mock}"]):
        done = run(*words, *create)
        assert done.returncode == 3
        assert len(iez_lines(done.stderr)) == 1
        (mock / "a").unlink()
    assert run("-q", "--mock", str(mock), *create).stderr == ""
    (mock / "a").unlink()
    assert len(iez_lines(run(*create, IEZ_MOCK=str(mock)).stderr)) == 1


def test_run_that_meets_no_watched_file_says_nothing(run: Callable, mock: Path) -> None:
    assert run("--mock", str(mock), "true").stderr == ""


def test_killed_job_still_has_its_line(run: Callable, mock: Path, env: dict[str, str]) -> None:
    done = run("--mock", str(mock), "sh", "-c", f"echo x > {mock}/a; kill -KILL $$")
    assert done.returncode == -signal.SIGKILL
    assert len(iez_lines(done.stderr)) == 1
    assert runs(env) == []


@pytest.mark.parametrize("content", [None, b"", b"no plan at all\n" * 100])
def test_job_exit_code_survives_a_broken_plan(
    run: Callable, env: dict[str, str], tmp_path: Path, content: bytes | None
) -> None:
    plan = tmp_path / "plan"
    if content is not None:
        plan.write_bytes(content)
    done = run("--plan", str(plan), "sh", "-c", SHOW + "; exit 6")
    assert (done.returncode, done.stdout) == (6, "\n\n")
    assert len(done.stderr.splitlines()) == len(iez_lines(done.stderr)) == 1
    assert runs(env) == []


def test_plan_that_is_replaced_while_the_job_runs_is_made_anew(
    run: Callable, mock: Path, tmp_path: Path
) -> None:
    plan, new, source = tmp_path / "plan", tmp_path / "new", tmp_path / "source.csv"
    source.write_text(f"path,stripe_count,stripe_size,ost_list,pool\n{mock}/a,1,1M,0,\n")
    iez = Path(IEZ_RUN).with_name("iez")
    for file in (plan, new):
        build = [iez, "plan", "build", "--from", source, "-o", file]
        subprocess.run(build, check=True, capture_output=True)
    script = (
        f"a=$(stat -c %i $IEZ_PLAN); mv {new} {plan}; n=0; while [ $n -lt 100 ]; do sleep 0.1; "
        'n=$((n+1)); [ "$(stat -c %i $IEZ_PLAN)" = $a ] || { echo replaced; exit 5; }; done'
    )
    done = run("--plan", str(plan), "--mock", str(mock), "sh", "-c", script)
    assert (done.returncode, done.stdout, done.stderr) == (5, "replaced\n", "")


@pytest.mark.parametrize("home", ["/proc/no", ""])
def test_home_that_cannot_be_written_means_a_directory_in_tmp(run: Callable, home: str) -> None:
    preload, plan = run("sh", "-c", SHOW, HOME=home).stdout.splitlines()
    assert preload == str(SHIM)
    assert plan.startswith(f"/tmp/iez-{os.getuid()}/runs/")
    assert not Path(plan).parent.exists()


def test_state_directory_can_be_chosen(run: Callable, tmp_path: Path) -> None:
    for chosen in ({"IEZ_STATE_DIR": f"{tmp_path}/s/iez"}, {"XDG_STATE_HOME": f"{tmp_path}/s"}):
        plan = run("sh", "-c", SHOW, **chosen).stdout.splitlines()[1]
        assert plan.startswith(f"{tmp_path}/s/iez/runs/")


def test_state_directory_of_the_settings_file_is_used(
    run: Callable, env: dict[str, str], tmp_path: Path
) -> None:
    settings = Path(env["HOME"]) / ".config" / "iez" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'state_dir = "{tmp_path}/elsewhere"\n')
    assert run("sh", "-c", "echo $IEZ_PLAN").stdout.startswith(f"{tmp_path}/elsewhere/runs/")


def test_missing_library_is_one_line_and_the_job_runs(env: dict[str, str], tmp_path: Path) -> None:
    done = run_copy(tmp_path / "copy", env, "sh", "-c", SHOW + "; exit 8", without_library=True)
    assert (done.returncode, done.stdout) == (8, "\n\n")
    assert len(done.stderr.splitlines()) == len(iez_lines(done.stderr)) == 1


@pytest.mark.parametrize("state", ["state", "odd state"])
def test_library_path_with_spaces_works(env: dict[str, str], tmp_path: Path, state: str) -> None:
    env["IEZ_STATE_DIR"] = str(tmp_path / state)
    maps = "grep -c libiez_shim /proc/self/maps; exit 8"
    done = run_copy(tmp_path / "with some spaces", env, "sh", "-c", f"{SHOW}; {maps}")
    preload, plan, mapped = done.stdout.splitlines()
    assert " " not in preload + plan
    assert int(mapped) > 0
    assert (done.returncode, done.stderr) == (8, "")
    assert plan.startswith(str(tmp_path / state)) == (state == "state")


def run_copy(
    folder: Path, env: dict[str, str], *words: str, without_library: bool = False
) -> subprocess.CompletedProcess[str]:
    for package in ("iez_client", "iez_common"):
        shutil.copytree(PACKAGES / package, folder / package)
    if without_library:
        (folder / "iez_client" / "libiez_shim.so").unlink()
    command = [sys.executable, "-P", "-m", "iez_client.cli.run", *words]
    more = {"PYTHONPATH": str(folder)}
    return subprocess.run(command, env=env | more, capture_output=True, text=True, timeout=60)


def test_files_of_the_current_directory_are_not_imported(env: dict[str, str], mock: Path) -> None:
    for name in ("iez_client", "json", "os", "runpy", "signal"):
        (mock / f"{name}.py").write_text("raise SystemExit('imported')\n")
    command = [IEZ_RUN, "--mock", str(mock), "sh", "-c", "exit 3"]
    done = subprocess.run(
        command, env=env | {"PYTHONPATH": str(mock / "none")}, cwd=mock, capture_output=True
    )
    assert (done.returncode, done.stderr) == (3, b"")


# Cost


def test_iez_run_imports_no_module_that_costs_anything(env: dict[str, str]) -> None:
    modules = [
        {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        for done in (
            imports(env, "-c", "pass"),
            imports(env, IEZ_RUN, "true"),
        )
    ]
    own = {name for name in modules[1] - modules[0] if name.split(".")[0] != "iez_client"}
    editable = {name for name in own if "editable" in name}
    assert own - editable <= {"_signal", "time"}


def imports(env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "importtime", *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True)


def test_run_module_alone_loads_a_short_list_of_modules() -> None:
    script = (
        "import sys; old = set(sys.modules); sys.path.append(sys.argv[1]); "
        "import iez_client.cli.run; print(*sorted(set(sys.modules) - old))"
    )
    command = [sys.executable, "-S", "-E", "-c", script, str(PACKAGES)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    allowed = "os os.path stat _stat posixpath genericpath _collections_abc abc _abc _signal time"
    ours = "iez_client iez_client.cli iez_client.cli.run"
    assert set(done.stdout.split()) <= {*allowed.split(), *ours.split()}


# What a user can get wrong


def test_plan_that_others_may_write_to_is_not_used(
    run: Callable, mock: Path, tmp_path: Path
) -> None:
    plan = tmp_path / "my.plan"
    (tmp_path / "my.csv").write_text(f"{HEADER}{mock}/**,1,1M,0,\n")
    words = ["--from", tmp_path / "my.csv", "-o", plan, "--mock", mock]
    subprocess.run([Path(IEZ_RUN).with_name("iez"), "plan", "build", *words], check=True)
    plan.chmod(0o666)
    done = run("--plan", str(plan), "touch", str(mock / "a"))
    assert done.returncode == 0
    assert "other users may write to it" in done.stderr
    assert done.stderr.endswith("the job runs without iez\n")
    assert os.listxattr(mock / "a") == []


@pytest.mark.parametrize("options", [[], ["--plain"], ["--mock"]])
def test_empty_command_is_one_that_is_not_found(
    run: Callable, env: dict[str, str], mock: Path, options: list[str]
) -> None:
    words = [*options, str(mock)] if options == ["--mock"] else options
    done = run(*words, "")
    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == "iez-run: cannot run '': No such file or directory\n"
    assert runs(env) == []


def test_plain_inside_of_a_job_is_plain(run: Callable, mock: Path, tmp_path: Path) -> None:
    (tmp_path / "my.csv").write_text(f"{HEADER}{mock}/**,1,1M,0,\n")
    words = ["--mock", str(mock), "--plan", str(tmp_path / "my.csv")]
    assert run(*words, str(IEZ_RUN), "--plain", "touch", str(mock / "a")).returncode == 0
    assert os.listxattr(mock / "a") == []


def test_plan_after_a_bad_one_is_followed_again(run: Callable, mock: Path, tmp_path: Path) -> None:
    table = tmp_path / "my.csv"
    table.write_text(f"{HEADER}{mock}/**,1,1M,0,\n")
    (tmp_path / "good").write_text(f"{HEADER}{mock}/**,2,1M,3 4,\n")
    script = f"""touch {mock}/first; echo nonsense > {table}.new; mv {table}.new {table}; sleep 2.5
        mv {tmp_path}/good {table}
        for i in $(seq 100); do
            rm -f {mock}/last; touch {mock}/last; sleep 0.1
            getfattr -n user.iez.lov -e hex {mock}/last 2>/dev/null | grep -q 0x.*03000000 && exit 9
        done"""
    done = run("--mock", str(mock), "--plan", str(table), "bash", "-c", script)
    assert done.returncode == 9
    complaints = [line for line in iez_lines(done.stderr) if "placed" not in line]
    assert len(complaints) == 1
    assert complaints[0].endswith("the job keeps the plan that it has")
