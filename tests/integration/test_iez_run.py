"""iez-run in front of ordinary commands: whoever starts it, and the job, notice nothing else."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import iez_client

IEZ_RUN = str(Path(sys.executable).parent / "iez-run")
# Where iez-run finds it, which need not be where this process did.
WHERE = [sys.executable, "-P", "-c", "import iez_client; print(iez_client.__path__[0])"]
PACKAGES = Path(subprocess.run(WHERE, capture_output=True, text=True).stdout.strip()).parent
SHIM = PACKAGES / "iez_client" / "libiez_shim.so"
SHOW = 'printf "%s\\n" "$LD_PRELOAD" "$IEZ_PLAN"'


@pytest.fixture(scope="module")
def used_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which iez-run has run before: the first run makes the empty plan."""
    home = tmp_path_factory.mktemp("home")
    done = subprocess.run([IEZ_RUN, "true"], env={"HOME": str(home)}, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    return home


@pytest.fixture
def env(used_home: Path, tmp_path: Path) -> dict[str, str]:
    """A user without settings."""
    shutil.copytree(used_home, tmp_path / "home")
    return {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


@pytest.fixture
def run(env: dict[str, str], tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs iez-run in an empty directory that must stay empty."""
    here = tmp_path / "here"
    here.mkdir()

    def call(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [IEZ_RUN, *words]
        done = subprocess.run(
            command, env=env | more, cwd=here, capture_output=True, text=True, timeout=60
        )
        assert list(here.iterdir()) == []
        return done

    return call


@pytest.fixture
def mock(tmp_path: Path) -> Path:
    folder = tmp_path / "mock"
    folder.mkdir()
    return folder


def iez_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("iez")]


def runs(env: dict[str, str]) -> list[Path]:
    return list((Path(env["HOME"]) / ".local/state/iez/runs").glob("*"))


# Exit codes and signals


@pytest.mark.parametrize("code", [0, 1, 42, 125, 126, 127, 255])
def test_exit_code_is_the_jobs(run: Callable, code: int) -> None:
    done = run("sh", "-c", f"exit {code}")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


@pytest.mark.parametrize("name", ["SEGV", "KILL", "TERM", "ABRT", "INT", "PIPE", "XFSZ"])
def test_job_that_dies_by_a_signal_makes_iez_run_die_by_it(run: Callable, name: str) -> None:
    assert run("sh", "-c", f"kill -{name} $$").returncode == -getattr(signal, f"SIG{name}")


def test_shell_sees_139_for_a_job_that_crashed(env: dict[str, str]) -> None:
    script = f"{IEZ_RUN} sh -c 'kill -SEGV $$'; echo $?"
    done = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True)
    assert done.stdout == "139\n"


@pytest.mark.parametrize("name", ["TERM", "HUP", "USR1", "USR2", "INT", "QUIT", "ALRM"])
def test_signal_sent_to_iez_run_alone_reaches_the_job_once(env: dict[str, str], name: str) -> None:
    script = f"trap 'echo got; n=1' {name}; echo ready; while [ ! $n ]; do sleep 0.02; done; exit 9"
    with started(env, IEZ_RUN, "sh", "-c", script) as job:
        assert job.stdout.readline() == "ready\n"
        job.send_signal(getattr(signal, f"SIG{name}"))
        rest = job.stdout.read()
    assert (rest, job.returncode) == ("got\n", 9)


def test_signal_that_the_job_sends_to_its_group_is_not_sent_back(env: dict[str, str]) -> None:
    script = "trap 'echo got' TERM; kill -TERM 0; sleep 0.2; echo end"
    with started(env, IEZ_RUN, "sh", "-c", script) as job:
        assert job.stdout.read() == "got\nend\n"
    assert job.returncode == 0


def test_signal_before_the_job_has_started_ends_iez_run(env: dict[str, str], mock: Path) -> None:
    slow = mock.parent / "fifo"
    os.mkfifo(slow)
    with started(env, IEZ_RUN, "--plan", str(slow), "echo", "started") as job:
        time.sleep(0.3)
        job.terminate()
        assert job.stdout.read() == ""
    assert job.returncode == -signal.SIGTERM
    assert runs(env) == []


def test_ignored_signals_and_the_mask_of_the_job_are_those_of_iez_run(env: dict[str, str]) -> None:
    def prepare() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGQUIT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGCHLD})

    def masks(*front: str) -> list[int]:
        words = [*front, "grep", "-E", "Sig(Blk|Ign|Cgt)", "/proc/self/status"]
        text = subprocess.run(words, env=env, preexec_fn=prepare, capture_output=True).stdout
        # glibc ignores the two signals that it keeps for itself, 32 and 33, in what it spawns.
        return [int(line.split()[1], 16) & ~(3 << 31) for line in text.splitlines()]

    assert masks() == masks(IEZ_RUN) == masks(IEZ_RUN, "--plain")
    assert masks()[1] == 1 << (signal.SIGHUP - 1) | 1 << (signal.SIGQUIT - 1)


def test_hangup_that_nohup_ignores_does_not_reach_the_job(env: dict[str, str]) -> None:
    script = "trap 'echo got' HUP; echo ready; sleep 0.3; echo end"
    command = ["sh", "-c", f"trap '' HUP; exec {IEZ_RUN} sh -c \"{script}\""]
    with started(env, *command) as job:
        assert job.stdout.readline() == "ready\n"
        job.send_signal(signal.SIGHUP)
        assert job.stdout.read() == "end\n"
    assert job.returncode == 0


class started:
    """A command with a session of its own, ended with the test whatever happens."""

    def __init__(self, env: dict[str, str], *command: str) -> None:
        self.job = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def __enter__(self) -> subprocess.Popen[str]:
        return self.job

    def __exit__(self, *_: object) -> None:
        try:
            self.job.wait(timeout=20)
        finally:
            if self.job.poll() is None:
                os.killpg(self.job.pid, signal.SIGKILL)
                self.job.wait()
            self.job.stdout.close()


@pytest.fixture
def terminal(env: dict[str, str]) -> Iterator[Callable[[str, str], str]]:
    """An interactive shell: types a line and gives what appears up to a mark."""
    pid, screen = pty.fork()
    if pid == 0:
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], env | {"PS1": "$ "})

    def type_(keys: str, mark: str) -> str:
        os.write(screen, keys.encode())
        seen = ""
        until = time.monotonic() + 15
        while mark not in seen and time.monotonic() < until:
            seen += os.read(screen, 4096).decode()
        assert mark in seen, seen
        return seen

    yield type_
    os.kill(pid, signal.SIGKILL)
    os.close(screen)
    os.waitpid(pid, 0)


def test_ctrl_c_reaches_the_job_once_and_iez_run_waits_for_it(
    terminal: Callable[[str, str], str],
) -> None:
    wait = "while [ ! $n ]; do sleep 0.05; done; sleep 0.3"
    script = f'trap "echo g\\ot; n=1" INT; echo rea\\dy; {wait}; echo en\\d; exit 7'
    terminal(f"{IEZ_RUN} sh -c '{script}'\n", "ready")
    assert terminal("\x03", "end").count("got") == 1
    terminal("echo code=$?\n", "code=7")


def test_ctrl_z_stops_the_job_and_fg_continues_it(terminal: Callable[[str, str], str]) -> None:
    terminal(f"{IEZ_RUN} sh -c 'echo rea\\dy; sleep 0.5; echo en\\d; exit 7'\n", "ready")
    terminal("\x1a", "Stopped")
    terminal("fg\n", "end")
    terminal("echo code=$?\n", "code=7")


# What the job sees


def test_stdin_and_stdout_are_untouched(env: dict[str, str]) -> None:
    data = os.urandom(300_000)
    done = subprocess.run([IEZ_RUN, "cat"], input=data, env=env, capture_output=True)
    assert (done.stdout, done.stderr) == (data, b"")


def test_job_inherits_the_same_file_descriptors(env: dict[str, str], mock: Path) -> None:
    with (mock / "file").open("w") as file:
        number = file.fileno()
        command = ["bash", "-c", f"echo here >&{number}; ls /proc/self/fd"]
        outputs = [
            subprocess.run(
                [*front, *command], env=env, pass_fds=[number], capture_output=True
            ).stdout
            for front in ([], [IEZ_RUN], [IEZ_RUN, "--mock", str(mock)])
        ]
    assert outputs[0] == outputs[1] == outputs[2]
    assert (mock / "file").read_text() == "here\n" * 3


def test_closed_standard_descriptors_stay_closed(env: dict[str, str]) -> None:
    look = "for n in 0 1 2; do [ -e /proc/$$/fd/$n ] && exit 5; done; exit 6"
    for front in ("", IEZ_RUN, f"{IEZ_RUN} --plain"):
        script = f"{front} sh -c '{look}' <&- >&- 2>&-"
        assert subprocess.run(["sh", "-c", script], env=env).returncode == 6


@pytest.mark.parametrize("locale", [{"LANG": "C"}, {}, {"LC_CTYPE": "C.UTF-8"}])
def test_environment_differs_by_two_variables_only(
    env: dict[str, str], locale: dict[str, str]
) -> None:
    del env["LANG"]
    whole = {os.fsencode(name): os.fsencode(value) for name, value in (env | locale).items()}
    whole |= {b"BASH_FUNC_module%%": b"() { :; }", b"bytes": b"\xff\xfe", b"empty": b""}
    outputs = []
    for front in ([], [IEZ_RUN], [IEZ_RUN, "--plain"]):
        command = [*front, "env", "-0"]
        text = subprocess.run(command, env=whole, capture_output=True, check=True).stdout
        outputs.append(set(text.split(b"\0")))
    added = outputs[1] - outputs[0]
    assert {item.partition(b"=")[0] for item in added} == {b"LD_PRELOAD", b"IEZ_PLAN"}
    assert outputs[0] - outputs[1] == set()
    assert outputs[2] == outputs[0]


def test_library_is_preloaded_behind_the_users_own(run: Callable) -> None:
    preload, plan = run("sh", "-c", SHOW, LD_PRELOAD="libm.so.6 libdl.so.2").stdout.split("\n")[:2]
    assert preload == f"libm.so.6 libdl.so.2:{SHIM}"
    assert plan.endswith("/plan")


def test_run_directory_is_private_and_goes_with_the_job(run: Callable, env: dict[str, str]) -> None:
    done = run("sh", "-c", 'd=${IEZ_PLAN%/plan}; stat -c %a "$d" "$d/plan" "$d/.." "$d/../.."')
    assert done.stdout.split() == ["700", "600", "700", "700"]
    assert runs(env) == []


def test_keep_leaves_the_run_directory_and_says_where(run: Callable, env: dict[str, str]) -> None:
    done = run("--keep", "true")
    assert done.stderr == f"iez: kept {runs(env)[0]}\n"
    assert (runs(env)[0] / "plan").is_file()


def test_script_without_a_first_line_is_run_by_the_shell(run: Callable, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo $# $LD_PRELOAD\n")
    script.chmod(0o755)
    assert run(str(script), "a", "b").stdout == f"2 {SHIM}\n"
    assert run("--plain", str(script), "a").stdout == "1\n"
    assert run("script", PATH=f"{tmp_path}:{os.environ['PATH']}").stdout == f"0 {SHIM}\n"


@pytest.mark.parametrize("front", [["--plain"], ["IEZ_DISABLE"]])
def test_plain_runs_the_command_untouched(run: Callable, front: list[str]) -> None:
    off = {"IEZ_DISABLE": "1"} if front == ["IEZ_DISABLE"] else {}
    words = [] if off else front
    assert run(*words, "sh", "-c", SHOW + "; exit 4", **off).stdout == "\n\n"
    assert run(*words, "sh", "-c", "exit 4", **off).returncode == 4
    assert run(*words, "no-such-command", **off).returncode == 127


def test_iez_run_inside_iez_run_leaves_the_job_to_the_outer_one(run: Callable) -> None:
    lines = run("sh", "-c", f"{SHOW}; {IEZ_RUN} sh -c '{SHOW}'").stdout.splitlines()
    assert lines[:2] == lines[2:]


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
    assert "iez-run --plan" in run("--help").stdout.splitlines()[-1]
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
