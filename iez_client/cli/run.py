"""Run: puts the placement library in front of a job; exit code and signals stay the job's.

Every rank of a job may start through here, so the usual path imports nothing that Python has not
loaded already: no argparse, subprocess, signal or typing, and plain classes for dataclasses
(docs/iez-run.md has the figures). What needs more is in modules that are imported when it happens.
"""

# iez-run does without pathlib and contextlib: they would double its start.
# ruff: noqa: PTH100, PTH102, PTH106, PTH108, PTH116, PTH119, PTH120, SIM105

import os
import sys
import time

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing
if TYPE_CHECKING:
    import signal as _signal

    from iez_client.helpers import Plan
    from iez_client.ranks import Group
else:
    import _signal  # the built-in half of signal; the other half makes enums

PLAN_VERSION = 2  # IEZ_PLAN_VERSION of csrc/plan_format.h
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIBRARY = f"{PACKAGE}/libiez_shim.so"
PREPARE_LIMIT_S = 120.0
REFRESH_EVERY_S = 1.0
EXIT_USAGE = 125  # as env(1)

LAUNCHERS = {
    *("mpirun", "mpirun.mpich", "mpirun.openmpi", "orterun", "prterun", "srun"),
    *("mpiexec", "mpiexec.mpich", "mpiexec.openmpi", "mpiexec.hydra"),
}
RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_STEP_ID")


VALUES = ("--plan", "--mock", "--mock-state", "--trace-dir")
LEARN = ("now", "later", "off")
# Not for the job: it may hold a password.
SECRET_VARIABLE = "IEZ_DATABASE"


class UsageError(Exception):
    """The command line of iez-run itself is wrong."""


class Options:
    def __init__(self) -> None:
        self.command: list[str] = []
        self.prepare: dict[str, str] = {}  # what VALUES and --events name: handed on as it is
        self.app = self.learn = ""
        self.keep = self.plain = self.quiet = False
        self.show = ""  # --help or --version


class Job:
    """What to start, and what is left to do when it has ended."""

    def __init__(self, command: list[str], run_dir: str) -> None:
        self.command = command
        self.environ: dict[str, str] = {}
        self.run_dir = run_dir
        self.group: Group | None = None
        self.follower: Plan | None = None
        self.reports = False  # the empty plan watches nothing and leaves no outcomes


class Signals:
    """The signals that iez-run holds back and passes on, and the mask that the job gets."""

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
    if stays_out(options):
        return run_plain(options)
    signals = Signals()
    job = None
    try:
        job = arrange(options, signals)
    except Exception as error:  # whatever it is, the user's job matters more
        write_error(f"iez: {error or type(error).__name__}; the job runs without iez")
    if job is None:
        signals.release()
        return run_plain(options)
    return supervise(job, options, signals)


def run_plain(options: Options) -> int:
    from iez_client import process

    environ = job_environ()
    if options.plain and "IEZ_PLAN" in environ:
        environ["IEZ_DISABLE"] = "1"  # the library of the job around this one
    return process.become(options.command, environ)


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
        elif word == "--events":
            options.prepare[word] = "yes"
        elif name in VALUES or name in ("--app", "--learn"):
            if not equals and at < len(words):
                value = words[at]
                at += 1
            if not value:
                raise UsageError(f"{name} needs a value")
            if name == "--learn" and value not in LEARN:
                raise UsageError(f"--learn is one of {', '.join(LEARN)}, not '{value}'")
            if name in VALUES:
                options.prepare[name] = value
            else:
                setattr(options, name[2:], value)
        else:
            raise UsageError(f"unknown option '{word}'")
    options.command = words[at:]
    if not options.command:
        raise UsageError("no command given")
    return options


def stays_out(options: Options) -> bool:
    """Whether the command is run as it is; also inside another iez-run's job, whose plan holds."""
    environ = os.environ
    inside = environ.get("IEZ_PLAN") and "/libiez_shim.so" in environ.get("LD_PRELOAD", "")
    disabled = environ.get("IEZ_DISABLE", "0") not in ("", "0")
    return options.plain or disabled or bool(inside and not options.prepare)


# Before the job


def arrange(options: Options, signals: Signals) -> Job | None:
    """Makes the run directory with the plan, and the job's environment. None: run it plain."""
    library = os.stat(LIBRARY)
    has_settings = settings_exist()
    state = state_dir(has_settings)
    configured = has_settings or is_configured(options)
    launched = os.path.basename(options.command[0]) in LAUNCHERS
    group = None
    if configured and not launched and any(name in os.environ for name in RANK_VARIABLES):
        from iez_client import ranks

        asked = repr((sorted(options.prepare.items()), options.app))
        group = ranks.join(lambda name: make_run_dir(state, name), os.environ, asked)
    name = f"{time.time_ns():x}-{os.getpid()}-{os.uname().nodename}"
    job = Job(options.command, group.directory if group else make_run_dir(state, name))
    job.group = group
    job.reports = configured
    try:
        # The empty plan is kept for this library, not only for this format.
        kept = f"empty-{PLAN_VERSION}-{library.st_size:x}-{library.st_mtime_ns:x}.plan"
        planned = make_plan(job, options, signals, kept)
        if planned:
            add_variables(job, launched)
    finally:
        if (signals.early() or not job.environ) and (not group or group.leave()):
            remove(job)
    if signals.early():
        signals.release()  # and dies of it
        return None
    return job if planned else None


def is_configured(options: Options) -> bool:
    """Whether anything could be watched: else the empty plan does, without a helper process."""
    environ = os.environ
    if options.prepare or environ.get("IEZ_MOCK") or environ.get("IEZ_MOCK_STATE"):
        return True
    try:
        # The kernel writes blanks in names as \040: this can only be the type field.
        mounts = read_whole("/proc/mounts")
    except OSError:
        return False
    return b" lustre " in mounts or b" fuse.iez-loopfs " in mounts


def settings_exist() -> bool:
    config = absolute("XDG_CONFIG_HOME") or os.environ.get("HOME", "") + "/.config"
    files = f"{config}/iez/config.toml", "/etc/iez/site.toml"
    return any(os.access(file, os.F_OK) for file in files)


def absolute(variable: str) -> str:
    """The XDG rules ignore a relative path."""
    value = os.environ.get(variable, "")
    return value if value.startswith("/") else ""


def state_dir(has_settings: bool) -> str:
    """What `iez config show` prints; empty for a user without a home."""
    environ = os.environ
    if has_settings:
        from iez_common import config

        return config.load()["state_dir"].value
    home = environ.get("HOME", "")
    base = absolute("XDG_STATE_HOME") or (home and f"{home}/.local/state")
    return environ.get("IEZ_STATE_DIR") or (base and f"{base}/iez")


def make_run_dir(base: str, name: str) -> str:
    """Makes runs/NAME below the first state directory that can be written, or finds it there: the
    ranks of one job meet in a directory."""
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


def is_odd(path: str) -> bool:
    """Whether ld.so would read `path` in LD_PRELOAD as something else."""
    return any(character in path for character in " :$\t\n")


def make_private(path: str) -> None:
    """mkdir -p, with mode 0700 throughout."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except FileNotFoundError:
        make_private(os.path.dirname(path))
        os.mkdir(path, 0o700)


def make_plan(job: Job, options: Options, signals: Signals, kept: str) -> bool:
    """Puts a plan into the run directory; False where that failed and has been told."""
    if job.group and not job.group.leads:
        return job.group.wait_for_plan(PREPARE_LIMIT_S, signals.early)
    if job.reports:
        from iez_client import helpers

        made = helpers.Plan(PACKAGE, job.run_dir, options.prepare, options.app, options.command)
        job.follower = made if "--plan" in options.prepare else None
        planned = made.make(PREPARE_LIMIT_S, signals.early)
        if job.group and not planned:
            job.group.tell_failure()
        return planned
    # The empty plan never changes: it is made once and kept beside the run directories.
    kept = f"{job.run_dir}/../../plans/{kept}"
    try:
        content = read_whole(kept)
    except OSError:
        from iez_client import helpers

        return helpers.make_empty_plan(PACKAGE, job.run_dir, kept, PREPARE_LIMIT_S)
    new = os.open(f"{job.run_dir}/plan", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.write(new, content)
    os.close(new)
    return True


def job_environ() -> dict[str, str]:
    environ = dict(os.environ)
    # In the C locale Python sets this variable for itself (PEP 538); /proc has what came in.
    if environ.get("LC_CTYPE", "").startswith(("C.", "UTF-8")):
        came_in = b"\0" + read_whole("/proc/self/environ")
        if b"\0LC_CTYPE=" not in came_in:
            del environ["LC_CTYPE"]
    environ.pop(SECRET_VARIABLE, None)
    return environ


def add_variables(job: Job, launched: bool) -> None:
    library, plan = LIBRARY, f"{job.run_dir}/plan"
    if is_odd(library):
        from iez_client import helpers

        library = helpers.link(library, job.run_dir)
    if launched:
        from iez_client import launch

        job.command, job.environ = launch.rewrite(job.command, job_environ(), library, plan)
        return
    environ = job_environ()
    # The user's preloaded libraries stay, and stay in front of ours.
    preload = environ.get("LD_PRELOAD", "")
    if library not in preload.replace(" ", ":").split(":"):
        environ["LD_PRELOAD"] = f"{preload}:{library}" if preload else library
    environ["IEZ_PLAN"] = plan
    job.environ = environ


# The job and after


def supervise(job: Job, options: Options, signals: Signals) -> int:
    """Starts the job, waits for it, and ends as it ended."""
    status = code = 0
    try:
        pid = start(job, signals)
    except OSError as error:
        from iez_client import process

        code = process.cannot_run(job.command[0], error)
    else:
        status = wait_for(pid, job.follower, signals)
    try:
        conclude(job, options, signals, code or exit_code(status))
    except OSError as error:
        write_error(f"iez: {error}")
    if os.WIFSIGNALED(status):
        from iez_client import process

        return process.die_by(os.WTERMSIG(status))
    return code or os.WEXITSTATUS(status)


def start(job: Job, signals: Signals) -> int:
    # Python ignores these two for itself; the job must not.
    own = (_signal.SIGPIPE, _signal.SIGXFSZ)
    words = job.command
    if not words[0]:
        raise FileNotFoundError(2, "No such file or directory")
    try:
        return os.posix_spawnp(words[0], words, job.environ, setsigmask=signals.mask, setsigdef=own)
    except OSError as error:
        from iez_client import process

        words = process.through_shell(words, error)
    return os.posix_spawn(words[0], words, job.environ, setsigmask=signals.mask, setsigdef=own)


def wait_for(pid: int, follower: "Plan | None", signals: Signals) -> int:
    """Waits for the job to end, passing signals on meanwhile; gives its wait status."""
    while True:
        if follower:
            news = _signal.sigtimedwait(signals.held, REFRESH_EVERY_S)
            follower.look(time.monotonic())
        else:
            news = _signal.sigwaitinfo(signals.held)
        if news and news.si_signo in signals.passed_on:
            from iez_client import process

            process.pass_on(pid, news)
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status


def exit_code(status: int) -> int:
    """As a shell tells it."""
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def conclude(job: Job, options: Options, signals: Signals, code: int) -> None:
    """Says what was done and learned, and removes the run directory."""
    if job.follower:
        job.follower.stop()
    if job.group and not job.group.leave():
        return
    if job.reports:
        from iez_client import helpers

        words = [*(["--quiet"] if options.quiet else []), "--status", str(code)]
        words += ["--learn", options.learn] if options.learn else []
        is_done = helpers.report(PACKAGE, job.run_dir, words, signals.early)
        helpers.sweep(job.run_dir)
        if not is_done:
            return
    if options.keep:
        write_error(f"iez: kept {job.run_dir}")
    else:
        remove(job)


def remove(job: Job) -> None:
    run_dir = job.run_dir
    if job.group:
        job.group.clear()
        return
    try:
        os.unlink(f"{run_dir}/plan")
        os.rmdir(run_dir)
    except OSError:
        from iez_client import helpers

        helpers.remove_tree(run_dir)


def read_whole(path: str) -> bytes:
    """os.open and os.read: open() would ask for the file's status three times."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    content = b""
    while part := os.read(descriptor, 1 << 20):
        content += part
    os.close(descriptor)
    return content


def write_error(line: str) -> None:
    try:
        os.write(2, f"{line}\n".encode(errors="surrogateescape"))
    except OSError:
        pass  # closed: there is nobody to tell


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
