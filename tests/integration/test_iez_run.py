"""iez-run in front of ordinary commands: whoever starts it, and the job, notice nothing else."""

import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from iez_run_command import IEZ_RUN, SHIM, SHOW, runs

pytest_plugins = ["iez_run_fixtures"]


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
