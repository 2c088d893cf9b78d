"""Helpers: the processes that iez-run starts for its own work, before, beside and after a job.

They read neither the job's stdin nor write to its stdout, and they see the user's own LD_PRELOAD
only. Imported by iez-run where there is something to plan or to report, never for an empty plan.
"""

# iez-run does without pathlib: it would double its start.
# ruff: noqa: PTH103, PTH104, PTH106, PTH108, PTH110, PTH116, PTH119, PTH120, PTH123, PTH208, PTH211

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

# Not -m: that would take modules from the job's current directory first. Isolated (-I), so that a
# PYTHONPATH or PYTHONHOME meant for the job does not break it, with our package at the end.
BOOT = (
    "import runpy, sys; sys.path.append(sys.argv.pop(1)); "
    "runpy.run_module('iez_client.cli.job', run_name='__main__', alter_sys=True)"
)
FINISH_LIMIT_S = 60.0
FORGOTTEN_S = 60 * 86400.0
ENDED_S = 86400.0
TRACES_KEPT, TRACES_KEPT_S = 100, 30 * 86400.0
TICK_S = 0.1
LOOK_EVERY_S = 0.5


def start(package: str, words: list[str], silent: bool = False, detached: bool = False) -> int:
    """Starts `job WORDS`; gives its process id. Signals that iez-run holds back are held back
    there too, as Ctrl-C is for the job; not where it is to outlive iez-run."""
    silenced = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)] if silent else []
    # What outlives iez-run must not keep its caller's files, or their locks.
    numbers = [int(name) for name in os.listdir("/proc/self/fd")] if detached else []
    closed = [(os.POSIX_SPAWN_CLOSE, number) for number in numbers if number > 2]
    environ = dict(os.environ)
    environ.pop("IEZ_PLAN", None)
    theirs = environ.pop("LD_PRELOAD", "").replace(" ", ":").split(":")
    if kept := [item for item in theirs if item and not item.endswith("/libiez_shim.so")]:
        environ["LD_PRELOAD"] = ":".join(kept)
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-c", BOOT, os.path.dirname(package), *words],
        environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            *silenced,
            *closed,
        ],
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        setsid=detached,
        setsigmask=() if detached else signal.pthread_sigmask(signal.SIG_BLOCK, ()),
    )


def run(
    package: str, words: list[str], limit_s: float, interrupted: Callable[[], int] | None
) -> bool:
    """Runs a helper to its end; False when it failed, took too long or was interrupted. It has
    said itself why it failed."""
    pid = start(package, words)
    status = wait(pid, limit_s, interrupted)
    if status is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        if not (interrupted and interrupted()):
            complain(f"'{words[0]}' took more than {limit_s:.0f} s")
        return False
    if os.WIFSIGNALED(status):
        complain(f"'{words[0]}' was ended by signal {os.WTERMSIG(status)}")
    return status == 0


def wait(pid: int, limit_s: float, interrupted: Callable[[], int] | None) -> int | None:
    """The wait status of a helper; None when it takes too long or iez-run was interrupted."""
    until_s = time.monotonic() + limit_s
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > until_s or (interrupted and interrupted()):
            return None
        signal.sigtimedwait({signal.SIGCHLD}, TICK_S)


def complain(text: str) -> None:
    with suppress(OSError):  # closed: there is nobody to tell
        os.write(2, f"iez: {text}\n".encode())


class Plan:
    """The plan of one run: made before the job, and again when the file it is made from has been
    replaced meanwhile."""

    def __init__(
        self, package: str, run_dir: str, settings: dict[str, str], app: str, command: list[str]
    ) -> None:
        self.package = package
        self.words = ["prepare", run_dir, *(word for pair in settings.items() for word in pair)]
        self.job_words = [*([f"--app={app}"] if app else []), "--", *command]
        self.source = settings.get("--plan", "")
        self.seen = self.identity()
        self.pid = 0
        self.has_complained = False
        self.next_look_s = 0.0

    def make(self, limit_s: float, interrupted: Callable[[], int]) -> bool:
        return run(self.package, [*self.words, *self.job_words], limit_s, interrupted)

    def identity(self) -> tuple[int, int, int] | None:
        try:
            status = os.stat(self.source)
        except OSError:
            return None  # between removal and replacement
        return status.st_ino, status.st_mtime_ns, status.st_size

    def look(self, now_s: float) -> None:
        """Starts a helper if need be and does not wait for it; called every second or more. Only
        the first that fails says so: one line a job."""
        if self.pid:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            self.pid = 0 if done else self.pid
            self.has_complained = self.has_complained or status != 0
        if self.pid or now_s < self.next_look_s:
            return
        self.next_look_s = now_s + LOOK_EVERY_S
        identity = self.identity()
        if identity and identity != self.seen:
            self.seen = identity
            with suppress(OSError):  # no process to be had: the old plan stays good
                self.pid = start(self.package, [*self.words, "--again"], self.has_complained)

    def stop(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def make_empty_plan(package: str, run_dir: str, kept: str, limit_s: float) -> bool:
    """Makes the plan that watches nothing, and keeps a copy for the runs to come."""
    plan = f"{run_dir}/plan"
    if not run(package, ["empty", plan], limit_s, None):
        return False
    os.makedirs(os.path.dirname(kept), 0o700, exist_ok=True)
    copy = f"{kept}.{os.getpid()}.{time.time_ns():x}"
    with open(plan, "rb") as source, open(copy, "xb") as target:
        target.write(source.read())
    os.rename(copy, kept)
    return True


def report(package: str, run_dir: str, words: list[str], interrupted: Callable[[], int]) -> bool:
    """The summary line, where any process met a file that is watched, and what is learned from the
    run. Who is in a hurry does not wait for that: False, it goes on by itself and still needs the
    run directory."""
    with suppress(FileNotFoundError), open(f"{run_dir}/trace-dir", "rb") as note:
        traces = note.read()
        if any(name.endswith(b".trace") for name in os.listdir(traces)):
            pid = start(package, ["finish", run_dir, *words])
            status = wait(pid, FINISH_LIMIT_S, interrupted)
            if status is None:
                complain("learning from the run goes on in the background (try: iez runs)")
                return False
            if os.WIFSIGNALED(status):
                complain(f"'finish' was ended by signal {os.WTERMSIG(status)}")
        elif os.path.dirname(traces) == os.fsencode(run_dir.rpartition("/runs/")[0] + "/traces"):
            os.rmdir(traces)
    return True


def sweep(run_dir: str) -> None:
    """Removes what earlier runs left beside this one: the directories of those whose iez-run was
    killed, once no job can be that old, and the marks of launches that have ended."""
    runs, found, _ = run_dir.rpartition("/runs/")
    for entry in os.scandir(runs + found):
        with suppress(OSError):
            age_s = time.time() - entry.stat(follow_symlinks=False).st_mtime
            if age_s > FORGOTTEN_S or (age_s > ENDED_S and has_ended(entry.path)):
                remove_tree(entry.path)
    sweep_traces(f"{runs}/traces", traces_at_work(runs + found))


def sweep_traces(directory: str, at_work: set[bytes]) -> None:
    """Keeps the traces of the last runs, and those of jobs that have not ended."""
    with suppress(OSError):
        ended = sorted(os.scandir(directory), key=lambda entry: entry.stat().st_mtime)
        for number, entry in enumerate(reversed(ended)):
            age_s = time.time() - entry.stat().st_mtime
            is_old = age_s > TRACES_KEPT_S or (number >= TRACES_KEPT and age_s > ENDED_S)
            if is_old and os.fsencode(entry.path) not in at_work:
                remove_tree(entry.path)


def traces_at_work(runs: str) -> set[bytes]:
    """The trace directories that run directories name; these go when their jobs end."""
    found = set()
    for folder, _, names in os.walk(runs):
        if "trace-dir" in names:
            with suppress(OSError), open(f"{folder}/trace-dir", "rb") as note:
                found.add(note.read())
    return found


def has_ended(launch: str) -> bool:
    """Whether a directory holds only rounds of ranks that have ended."""
    turns = os.listdir(launch)
    return all(turn.isdigit() and os.path.exists(f"{launch}/{turn}/spoken") for turn in turns)


def link(library: str, run_dir: str) -> str:
    """A path of the library that LD_PRELOAD can carry."""
    path = f"{run_dir}/{os.path.basename(library)}"
    with suppress(FileExistsError):  # another rank's
        os.symlink(library, path)
    return path


def remove_tree(directory: str) -> None:
    """A file that another node still has open stays on NFS under a new name: then the directory
    stays too."""
    for folder, _, names in os.walk(directory, topdown=False):
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(f"{folder}/{name}")
        with suppress(OSError):
            os.rmdir(folder)
