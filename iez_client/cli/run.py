"""Run: puts the placement library in front of a job; exit code and signals stay the job's.

Every rank of a job may start through here, so the usual path imports nothing that Python has not
loaded already: no argparse, subprocess, signal or typing, and classes in place of dataclasses
(docs/iez-run.md has the figures). What needs more runs in a process of its own, iez_client.cli.job.
"""

import os
import sys
import time

TYPE_CHECKING = False  # typing.TYPE_CHECKING without typing
if TYPE_CHECKING:
    import signal as _signal

    from iez_client.ranks import Group
else:
    import _signal  # the built-in half of signal; the other half builds enums

PLAN_VERSION = 1  # IEZ_PLAN_VERSION of csrc/plan_format.h
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
LIBRARY = f"{PACKAGE}/libiez_shim.so"
PREPARE_LIMIT_S = 120.0
FINISH_LIMIT_S = 60.0
REFRESH_EVERY_S = 1.0

EXIT_USAGE, EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND = 125, 126, 127  # as env(1) and nohup(1)

LAUNCHERS = frozenset(
    "mpirun mpiexec mpiexec.hydra mpirun.mpich mpiexec.mpich mpirun.openmpi mpiexec.openmpi "
    "orterun prterun srun".split()
)
RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_STEP_ID")

HELP = """\
Usage: iez-run [options] [--] COMMAND [ARGUMENT]...
Run COMMAND so that each file it creates on Lustre gets its planned layout.

  --plan FILE        use this plan (iez plan build); picked up again when it is replaced
  --mock DIR         treat DIR as Lustre; layouts go to the attribute user.iez.lov
  --mock-state FILE  the mock's storage targets (TOML)
  --plain            run COMMAND untouched (also: IEZ_DISABLE=1)
  --keep             keep the run directory and say where it is
  -q, --quiet        no summary line at the end
  -h, --help         show this help
  --version          show the version

Options end at the first word that is not one. The exit code is COMMAND's, or 125 for a wrong
option, 126 when COMMAND cannot be executed, 127 when it is not found.

Example: iez-run --plan run.plan mpirun -n 8 ./app input.nml
"""


class UsageError(Exception):
    """The command line of iez-run itself is wrong."""


class Options:
    __slots__ = ("command", "keep", "plain", "prepare", "quiet")

    def __init__(self) -> None:
        self.command: list[str] = []
        self.keep = False
        self.plain = False
        self.quiet = False
        self.prepare: dict[str, str] = {}  # --plan, --mock, --mock-state: handed on as they are


class Job:
    """What to start, and what is left to do when it has ended."""

    __slots__ = ("command", "environ", "group", "refresh", "reported", "run_dir")

    def __init__(self, command: list[str], environ: dict[str, str], run_dir: str) -> None:
        self.command = command
        self.environ = environ
        self.run_dir = run_dir
        self.group: Group | None = None
        self.reported = False  # a plan that watches nothing leaves no outcomes
        self.refresh: list[str] = []  # the prepare words, where a plan file is followed


class Signals:
    """The signals that iez-run holds back and hands on, and the mask that the job gets."""

    __slots__ = ("mask", "passed_on")

    def __init__(self) -> None:
        wanted = "SIGHUP SIGINT SIGQUIT SIGTERM SIGUSR1 SIGUSR2 SIGALRM SIGXCPU"
        numbers = [int(getattr(_signal, name)) for name in wanted.split()]
        # What was ignored when iez-run started (nohup) stays so, here and in the job.
        self.passed_on = {n for n in numbers if _signal.getsignal(n) != _signal.SIG_IGN}
        if _signal.getsignal(_signal.SIGCHLD) == _signal.SIG_IGN:
            _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)  # or the exit code would be lost
        if _signal.SIGINT in self.passed_on:
            _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # no KeyboardInterrupt
        self.mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, self.watched())

    def watched(self) -> "set[int]":
        return self.passed_on | {int(_signal.SIGCHLD)}

    def waiting(self) -> int:
        """The number of a signal that came before the job started; 0 for none."""
        return next((int(n) for n in _signal.sigpending() if n in self.passed_on), 0)

    def give_back(self) -> None:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, self.mask)


def main(words: list[str]) -> int:
    try:
        options = parse(words)
    except UsageError as error:
        write_error(f"iez-run: {error} (try: iez-run --help)")
        return EXIT_USAGE
    if not options.command:
        return 0
    if options.plain or os.environ.get("IEZ_DISABLE", "0") not in ("", "0") or nested(options):
        return become(options.command)
    signals = Signals()
    job = None
    try:
        job = arrange(options, signals)
    except Exception as error:  # whatever it is, the user's job matters more
        say(f"{error or type(error).__name__}; the job runs without iez")
    if job is None:
        signals.give_back()
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
        elif name in ("--plan", "--mock", "--mock-state"):
            if not equals:
                if at == len(words):
                    raise UsageError(f"{name} needs a value")
                value = words[at]
                at += 1
            if not value:
                raise UsageError(f"{name} needs a value")
            options.prepare[name] = value
        elif word in ("-h", "--help"):
            os.write(1, HELP.encode())
            return Options()
        elif word == "--version":
            from iez_client import __version__

            os.write(1, f"iez-run {__version__}\n".encode())
            return Options()
        else:
            raise UsageError(f"unknown option '{word}'")
    options.command = words[at:]
    if not options.command:
        raise UsageError("no command given")
    return options


def nested(options: Options) -> bool:
    """Whether another iez-run put this one into its job: then that one's plan holds."""
    inside = os.environ.get("IEZ_PLAN") and "libiez_shim.so" in os.environ.get("LD_PRELOAD", "")
    return bool(inside) and not options.prepare


# Before the job


def arrange(options: Options, signals: Signals) -> Job | None:
    """Makes the run directory, the plan in it and the job's environment; None: run it plain."""
    if not os.access(LIBRARY, os.R_OK):
        raise FileNotFoundError(f"cannot read {LIBRARY}")
    linked = odd(LIBRARY)
    configured = is_configured(options)
    launcher = os.path.basename(options.command[0]) in LAUNCHERS  # noqa: PTH119
    group = None
    if configured and not launcher and any(name in os.environ for name in RANK_VARIABLES):
        from iez_client import ranks

        group = ranks.join(lambda name: make_run_dir(name, linked), os.environ)
    run_dir = group.directory if group else make_run_dir(run_name(), linked)
    if group and not group.leads:
        planned = group.wait_for_plan(PREPARE_LIMIT_S, signals.waiting)
    elif configured:
        words = [word for pair in options.prepare.items() for word in pair]
        planned = helper(["prepare", run_dir, *words], PREPARE_LIMIT_S, signals)
    else:
        planned = write_empty_plan(run_dir, signals)
    if group and group.leads and not planned:
        group.tell_failure()
    if not planned:
        if not group or group.leave():
            remove(run_dir)
        if signals.waiting():
            die_by(signals.waiting())
        return None
    library = LIBRARY
    if linked:
        library = f"{run_dir}/libiez_shim.so"
        if not group or group.leads:
            os.symlink(LIBRARY, library)
    job = Job(options.command, job_environ(), run_dir)
    job.group = group
    job.reported = configured
    if "--plan" in options.prepare and (not group or group.leads):
        job.refresh = ["prepare", run_dir, *words]
    if launcher:
        from iez_client import launch

        job.command, job.environ = launch.rewrite(
            options.command, job.environ, library, f"{run_dir}/plan"
        )
    else:
        job.environ["LD_PRELOAD"] = with_library(job.environ.get("LD_PRELOAD", ""), library)
        job.environ["IEZ_PLAN"] = f"{run_dir}/plan"
    return job


def with_library(preload: str, library: str) -> str:
    """The user's preloaded libraries stay, and stay in front of ours."""
    if library in preload.replace(" ", ":").split(":"):
        return preload
    return f"{preload}:{library}" if preload else library


def odd(path: str) -> bool:
    """Whether ld.so would read `path` in LD_PRELOAD as something else."""
    return any(character in path for character in " :$\t\n")


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


def read_whole(path: str) -> bytes:
    """os.open and os.read: open() would ask for the file's status three times."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, 1 << 20):
            parts.append(part)
    finally:
        os.close(descriptor)
    return b"".join(parts)


def run_name() -> str:
    return f"{time.time_ns():x}-{os.getpid()}-{os.uname().nodename}"


def make_run_dir(name: str, for_link: bool) -> str:
    """Makes runs/NAME below the first state directory that can be written."""
    bases = [os.environ.get("IEZ_STATE_DIR", "")]
    if not bases[0]:
        home = os.environ.get("HOME", "")
        bases = [
            os.environ.get("XDG_STATE_HOME", "") or (home and f"{home}/.local/state"),
        ]
        bases[0] = bases[0] and f"{bases[0]}/iez"
    if bases[0] and not (for_link and odd(bases[0])):
        path = os.path.join(os.getcwd(), bases[0], "runs", name)  # noqa: PTH109, PTH118
        try:
            make_private(path)
        except OSError:
            pass
        else:
            return path
    return make_temporary(name)


def make_temporary(name: str) -> str:
    """In /tmp anybody may have made the directory first: it must be ours alone."""
    base = f"/tmp/iez-{os.getuid()}"
    path = f"{base}/runs/{name}"
    try:
        make_private(path)
        status = os.lstat(base)
    except OSError as error:
        raise OSError(f"no directory for this run can be made ({error})") from error
    if status.st_uid != os.getuid() or status.st_mode & 0o170022 != 0o040000:
        raise PermissionError(f"{base} is not a directory of this user alone")
    return path


def make_private(path: str) -> None:
    """mkdir -p with mode 0700 throughout; a directory that is there already is an error only when
    it is the last one, except that the ranks of a job meet in one (ranks.py asks for that)."""
    try:
        os.mkdir(path, 0o700)  # noqa: PTH102
    except FileNotFoundError:
        try:
            make_private(os.path.dirname(path))  # noqa: PTH120
        except FileExistsError:
            pass
        os.mkdir(path, 0o700)  # noqa: PTH102


def write_empty_plan(run_dir: str, signals: Signals) -> bool:
    """The empty plan never changes, so it is made once and kept beside the run directories."""
    plan = f"{run_dir}/plan"
    plans = f"{run_dir}/../../plans"
    kept = f"{plans}/empty-{PLAN_VERSION}.plan"
    try:
        write_new(plan, read_whole(kept))
    except FileNotFoundError:
        if not helper(["empty", plan], PREPARE_LIMIT_S, signals):
            return False
        try:
            os.mkdir(plans, 0o700)  # noqa: PTH102
        except FileExistsError:
            pass
        copy = f"{kept}.{run_name()}"
        write_new(copy, read_whole(plan))
        os.rename(copy, kept)  # noqa: PTH104
    return True


def write_new(path: str, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, content)
    finally:
        os.close(descriptor)


def job_environ() -> dict[str, str]:
    environ = dict(os.environ)
    # In the C locale Python sets this variable in its own process (PEP 538); the environment as it
    # was at the start is in /proc.
    if environ.get("LC_CTYPE", "").startswith(("C.", "UTF-8")):
        at_start = b"\0" + read_whole("/proc/self/environ")
        if b"\0LC_CTYPE=" not in at_start:
            del environ["LC_CTYPE"]
    return environ
