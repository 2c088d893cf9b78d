"""Run: puts the placement library in front of a job; exit code and signals stay the job's.

Every rank of a job may start through here, so the usual path imports nothing that Python has not
loaded already: no argparse, subprocess, signal or typing, and plain classes for dataclasses
(docs/iez-run.md has the figures). What needs more is in modules that are imported when it happens.
"""

# pathlib and contextlib would cost as much as all of this.
# ruff: noqa: PTH, SIM105

import _signal  # the built-in half of signal; the other half makes enums
import os
import sys
import time

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing
if TYPE_CHECKING:
    from iez_client.helpers import Follower
    from iez_client.ranks import Group

PLAN_VERSION = 1  # IEZ_PLAN_VERSION of csrc/plan_format.h
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARY = f"{PACKAGE}/libiez_shim.so"
PREPARE_LIMIT_S = 120.0
FINISH_LIMIT_S = 60.0
REFRESH_EVERY_S = 1.0
EXIT_USAGE = 125  # as env(1) and nohup(1)

LAUNCHERS = {
    *("mpirun", "mpirun.mpich", "mpirun.openmpi", "orterun", "prterun", "srun"),
    *("mpiexec", "mpiexec.mpich", "mpiexec.openmpi", "mpiexec.hydra"),
}
RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_STEP_ID")


class UsageError(Exception):
    """The command line of iez-run itself is wrong."""


class Options:
    __slots__ = ("command", "keep", "plain", "prepare", "quiet", "show")

    def __init__(self) -> None:
        self.command: list[str] = []
        self.prepare: dict[str, str] = {}  # --plan, --mock, --mock-state: handed on as they are
        self.keep = self.plain = self.quiet = False
        self.show = ""  # --help or --version


class Job:
    """What to start, and what is left to do when it has ended."""

    __slots__ = ("command", "environ", "follower", "group", "reports", "run_dir")

    def __init__(self, command: list[str], run_dir: str) -> None:
        self.command = command
        self.environ: dict[str, str] = {}
        self.run_dir = run_dir
        self.group: Group | None = None
        self.follower: Follower | None = None
        self.reports = False  # the empty plan watches nothing and leaves no outcomes


class Signals:
    """The signals that iez-run holds back and passes on, and the mask that the job gets."""

    __slots__ = ("held", "mask", "passed_on")

    def __init__(self) -> None:
        names = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM", "XCPU")
        numbers = [getattr(_signal, f"SIG{name}") for name in names]
        # What was ignored when iez-run was started (nohup) stays so, here and in the job.
        self.passed_on = {n for n in numbers if _signal.getsignal(n) != _signal.SIG_IGN}
        if _signal.SIGINT in self.passed_on:
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # no KeyboardInterrupt
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)  # ignored, it would lose the exit code
        self.held = self.passed_on | {_signal.SIGCHLD}
        self.mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, self.held)

    def early(self) -> int:
        """A signal that came before the job was started; 0 for none."""
        return min(_signal.sigpending() & self.passed_on, default=0)

    def release(self) -> None:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, self.mask)


def main(words: list[str]) -> int:
    try:
        options = parse(words)
    except UsageError as error:
        write_error(f"iez-run: {error} (try: iez-run --help)")
        return EXIT_USAGE
    if options.show:
        from iez_client.cli.run_help import show

        return show(options.show)
    if options.plain or os.environ.get("IEZ_DISABLE", "0") not in ("", "0") or is_nested(options):
        return become(options.command)
    signals = Signals()
    job = None
    try:
        job = arrange(options, signals)
    except Exception as error:  # whatever it is, the user's job matters more
        write_error(f"iez: {error or type(error).__name__}; the job runs without iez")
    if job is None:
        signals.release()
        return become(options.command)
    return supervise(job, options, signals)


def parse(words: list[str]) -> Options:
    options = Options()
    flags = {"--plain": "plain", "--keep": "keep", "-q": "quiet", "--quiet": "quiet"}
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        word = words[at]
        at += 1
        name, equals, value = word.partition("=")
        if word == "--":
            break
        if word in flags:
            setattr(options, flags[word], True)
        elif word in ("-h", "--help", "--version"):
            options.show = word
            return options
        elif name in ("--plan", "--mock", "--mock-state"):
            if not equals and at < len(words):
                value = words[at]
                at += 1
            if not value:
                raise UsageError(f"{name} needs a value")
            options.prepare[name] = value
        else:
            raise UsageError(f"unknown option '{word}'")
    options.command = words[at:]
    if not options.command:
        raise UsageError("no command given")
    return options


def is_nested(options: Options) -> bool:
    """Whether another iez-run put this one into its job: then that one's plan holds."""
    inside = os.environ.get("IEZ_PLAN") and "libiez_shim.so" in os.environ.get("LD_PRELOAD", "")
    return bool(inside) and not options.prepare


# Before the job


def arrange(options: Options, signals: Signals) -> Job | None:
    """Makes the run directory with the plan, and the job's environment. None: run it plain."""
    if not os.access(LIBRARY, os.R_OK):
        raise FileNotFoundError(f"cannot read {LIBRARY}")
    configured = is_configured(options)
    launched = os.path.basename(options.command[0]) in LAUNCHERS
    group = None
    if configured and not launched and any(name in os.environ for name in RANK_VARIABLES):
        from iez_client import ranks

        group = ranks.join(make_run_dir, os.environ)
    job = Job(options.command, group.directory if group else make_run_dir(run_name()))
    job.group = group
    job.reports = configured
    try:
        planned = make_plan(job, options, signals)
        if planned:
            job.environ = job_environ()
            library = preloadable(job.run_dir)
            add_variables(job, library, launched)
    except Exception:
        leave(job)
        raise
    if planned:
        return job
    leave(job)
    if signals.early():
        die_by(signals.early())
    return None


def is_configured(options: Options) -> bool:
    """Whether anything could be watched: else the empty plan does, without a helper process."""
    environ = os.environ
    if options.prepare or environ.get("IEZ_MOCK") or environ.get("IEZ_MOCK_STATE"):
        return True
    config = environ.get("XDG_CONFIG_HOME") or environ.get("HOME", "") + "/.config"
    if os.access(f"{config}/iez/config.toml", os.F_OK) or os.access("/etc/iez/site.toml", os.F_OK):
        return True
    try:
        # The kernel writes blanks in names as \040: this can only be the type field.
        return b" lustre " in read_whole("/proc/mounts")
    except OSError:
        return False


def run_name() -> str:
    return f"{time.time_ns():x}-{os.getpid()}-{os.uname().nodename}"


def make_run_dir(name: str) -> str:
    """Makes runs/NAME below the first state directory that can be written, or finds it there: the
    ranks of one job meet in a directory."""
    environ = os.environ
    base = environ.get("IEZ_STATE_DIR") or environ.get("XDG_STATE_HOME", "")
    if not base and environ.get("HOME"):
        base = environ["HOME"] + "/.local/state"
    if base and not environ.get("IEZ_STATE_DIR"):
        base += "/iez"
    if base and not (is_odd(LIBRARY) and is_odd(base)):
        path = f"{os.path.abspath(base)}/runs/{name}"
        try:
            make_private(path)
        except OSError:
            pass  # no home, a read-only one, a full one: /tmp does
        else:
            return path
    base = f"/tmp/iez-{os.getuid()}"
    path = f"{base}/runs/{name}"
    make_private(path)
    status = os.lstat(base)
    # In /tmp anybody may have made the directory first.
    if status.st_uid != os.getuid() or status.st_mode & 0o170022 != 0o040000:
        raise PermissionError(f"{base} is not a directory of this user alone")
    return path


def make_private(path: str) -> None:
    """mkdir -p, with mode 0700 throughout."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except FileNotFoundError:
        make_private(os.path.dirname(path))
        os.mkdir(path, 0o700)


def make_plan(job: Job, options: Options, signals: Signals) -> bool:
    """Puts a plan into the run directory; False where that failed and has been told."""
    if job.group and not job.group.leads:
        return job.group.wait_for_plan(PREPARE_LIMIT_S, signals.early)
    if job.reports:
        from iez_client import helpers

        words = ["prepare", job.run_dir]
        for pair in options.prepare.items():
            words += pair
        if "--plan" in options.prepare:
            job.follower = helpers.Follower(PACKAGE, words, options.prepare["--plan"])
        planned = helpers.run(PACKAGE, words, PREPARE_LIMIT_S, signals.early)
        if job.group and not planned:
            job.group.tell_failure()
        return planned
    # The empty plan never changes: it is made once and kept beside the run directories.
    kept = f"{os.path.dirname(os.path.dirname(job.run_dir))}/plans/empty-{PLAN_VERSION}.plan"
    try:
        write_new(f"{job.run_dir}/plan", read_whole(kept))
    except FileNotFoundError:
        from iez_client import helpers

        if not helpers.run(PACKAGE, ["empty", f"{job.run_dir}/plan"], PREPARE_LIMIT_S, None):
            return False
        make_private(os.path.dirname(kept))
        copy = f"{kept}.{run_name()}"
        write_new(copy, read_whole(f"{job.run_dir}/plan"))
        os.rename(copy, kept)
    return True


def is_odd(path: str) -> bool:
    """Whether ld.so would read `path` in LD_PRELOAD as something else."""
    return any(character in path for character in " :$\t\n")


def preloadable(run_dir: str) -> str:
    """A path of the library that LD_PRELOAD can carry."""
    if not is_odd(LIBRARY):
        return LIBRARY
    link = f"{run_dir}/libiez_shim.so"
    try:
        os.symlink(LIBRARY, link)
    except FileExistsError:
        pass  # another rank's
    return link


def job_environ() -> dict[str, str]:
    environ = dict(os.environ)
    # In the C locale Python sets this variable for itself (PEP 538); /proc has what came in.
    if environ.get("LC_CTYPE", "").startswith(("C.", "UTF-8")):
        came_in = b"\0" + read_whole("/proc/self/environ")
        if b"\0LC_CTYPE=" not in came_in:
            del environ["LC_CTYPE"]
    return environ


def add_variables(job: Job, library: str, launched: bool) -> None:
    plan = f"{job.run_dir}/plan"
    if launched:
        from iez_client import launch

        job.command, job.environ = launch.rewrite(job.command, job.environ, library, plan)
        return
    # The user's preloaded libraries stay, and stay in front of ours.
    preload = job.environ.get("LD_PRELOAD", "")
    if library not in preload.replace(" ", ":").split(":"):
        job.environ["LD_PRELOAD"] = f"{preload}:{library}" if preload else library
    job.environ["IEZ_PLAN"] = plan


# The job


def supervise(job: Job, options: Options, signals: Signals) -> int:
    """Starts the job, waits for it, and ends as it ended."""
    early = signals.early()
    try:
        status = early or wait_for(start(job, signals), job.follower, signals)
    except OSError as error:
        leave(job)
        from iez_client.process import cannot_run

        return cannot_run(job.command[0], error)
    try:
        conclude(job, options)
    except OSError as error:
        write_error(f"iez: {error}")
    if os.WIFSIGNALED(status):
        return die_by(os.WTERMSIG(status))
    return os.WEXITSTATUS(status)


def start(job: Job, signals: Signals) -> int:
    # Python ignores these two for itself; the job must not.
    restored = (_signal.SIGPIPE, _signal.SIGXFSZ)
    words = job.command
    try:
        return os.posix_spawnp(
            words[0], words, job.environ, setsigmask=signals.mask, setsigdef=restored
        )
    except OSError as error:
        from iez_client.process import through_shell

        words = through_shell(words, error)
    return os.posix_spawn(words[0], words, job.environ, setsigmask=signals.mask, setsigdef=restored)


def wait_for(pid: int, follower: "Follower | None", signals: Signals) -> int:
    """Waits for the job to end, passing signals on meanwhile; gives its wait status."""
    while True:
        if follower:
            news = _signal.sigtimedwait(signals.held, REFRESH_EVERY_S)
            follower.look(time.monotonic())
        else:
            news = _signal.sigwaitinfo(signals.held)
        if news and news.si_signo in signals.passed_on:
            from iez_client.process import has_reached_job

            if not has_reached_job(news.si_signo, news.si_code, news.si_pid):
                os.kill(pid, news.si_signo)
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status


def conclude(job: Job, options: Options) -> None:
    """Says what was done, and removes the run directory."""
    if job.follower:
        job.follower.stop()
    if job.group and not job.group.leave():
        return
    if job.reports and not options.quiet:
        from iez_client import helpers

        if any(name.endswith(".outcome") for name in os.listdir(job.run_dir)):
            helpers.run(PACKAGE, ["finish", job.run_dir], FINISH_LIMIT_S, None)
    if options.keep:
        write_error(f"iez: kept {job.run_dir}")
    else:
        remove(job.run_dir)


def leave(job: Job) -> None:
    """Ends a run that did not come about."""
    if not job.group or job.group.leave():
        remove(job.run_dir)


def remove(run_dir: str) -> None:
    try:
        os.unlink(f"{run_dir}/plan")
        os.rmdir(run_dir)
    except OSError:
        from iez_client.helpers import remove_tree

        remove_tree(run_dir)


def become(command: list[str]) -> int:
    from iez_client import process

    return process.become(command, job_environ())


def die_by(number: int) -> int:
    from iez_client import process

    return process.die_by(number)


def read_whole(path: str) -> bytes:
    """os.open and os.read: open() would ask for the file's status three times."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        content = b""
        while part := os.read(descriptor, 1 << 20):
            content += part
    finally:
        os.close(descriptor)
    return content


def write_new(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        if os.write(descriptor, content) != len(content):
            raise OSError(f"{path}: no space left")
    finally:
        os.close(descriptor)


def write_error(line: str) -> None:
    try:
        os.write(2, f"{line}\n".encode(errors="surrogateescape"))
    except OSError:
        pass  # closed: there is nobody to tell


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
