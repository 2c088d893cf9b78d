"""Launch: hands the job's two variables to the ranks in the words of its launcher.

A launcher passes its own environment to the ranks of its own host at best. Each has words that
reach the ranks of every host: Hydra `-genv NAME VALUE`, Open MPI `-x NAME=VALUE`, Slurm
`--export=ALL,NAME=VALUE`. docs/iez-run.md has a table of what was seen with each.
"""

# iez-run does without pathlib: it would double its start.
# ruff: noqa: PTH118, PTH119, PTH120, PTH123, SIM905

import os
from collections.abc import Callable, Iterable

Environ = dict[str, str]

PRELOAD = "LD_PRELOAD"
PLAN = "IEZ_PLAN"
ENV_LIST = "mca_base_env_list"
VERSION_LIMIT_S = 5

# How many words follow an option. What is missing here is taken to have none (a long one of srun:
# one); if that is wrong, the program is looked for one word too early or too late.
HYDRA_ONE = frozenset(
    """genvlist f hosts host hostfile hostlist machinefile wdir configfile envlist n np launcher
    launcher-exec bootstrap bootstrap-exec rmk topolib bind-to binding map-by membind demux iface
    ppn perhost prepend-pattern outfile-pattern errfile-pattern nameserver order-nodes localhost
    usize gpus-per-proc umask path port-range""".split()
)
OPEN_MPI_ONE = frozenset(
    """am app bind-to c np n cf cartofile cpu-list cpu-set cpus-per-proc cpus-per-rank debugger
    default-hostfile H host hnp hostfile launch-agent machinefile map-by max-restarts max-vm-size
    N npernode npersocket ompi-server output-filename path personality ppr prefix preload-files
    rank-by report-events report-pid report-uri rf rankfile stdin timeout tune wd wdir x xml-file
    xterm output display runtime-options dvm-uri namespace add-host add-hostfile pset exec-agent
    forward-signals memory-alloc-kind spawn-timeout stream-buffering app-prefix""".split()
)
OPEN_MPI_TWO = frozenset("mca gmca omca gomca pmixmca gpmixmca prtemca gprtemca".split())
SRUN_SHORT_ONE = frozenset("ABcCdDeGiJLmMnNopPqrStTwWx")
SRUN_LONG_NONE = frozenset(
    """async bcast compress contiguous disable-status exact exclusive external-launcher get-user-env
    help hold immediate interactive kill-on-bad-exit label multi-prog nice no-allocate no-kill
    oom-kill-step overcommit overlap oversubscribe preserve-env propagate pty quiet quit-on-
    interrupt reboot resv-ports send-libs share spread-job stepmgr test-only unbuffered usage
    use-min-nodes verbose version whole x11""".split()
)


def rewrite(
    command: list[str], environ: Environ, library: str, plan: str
) -> tuple[list[str], Environ]:
    """The launcher's command with the variables in its words, and its environment. Only where the
    launcher is not known do they go into that environment."""
    path = find_program(command[0], environ)
    kind = flavour(path, environ)
    launch = Launch(environ, library, plan)
    parts = sections(command[1:])
    if kind == "hydra":
        launch.hydra(parts)
    elif kind == "open mpi 4":
        launch.open_mpi_4(parts, path)
    elif kind == "open mpi 5":
        launch.open_mpi_5(parts)
    elif kind == "srun":
        launch.srun(parts)
    else:
        launch.inherit()
    return together(command[0], parts), launch.environ


def flavour(path: str, environ: Environ) -> str:
    """Told by the program behind all links, or by what it says of itself."""
    known = {
        "orterun": "open mpi 4",
        "prterun": "open mpi 5",
        "mpiexec.hydra": "hydra",
        "srun": "srun",
    }
    found = known.get(os.path.basename(os.path.realpath(path)))
    if found:
        return found
    said = version(path, environ)
    if "HYDRA" in said or "Intel(R) MPI" in said:
        return "hydra"
    if "OpenRTE" in said or "(Open MPI) 4" in said:
        return "open mpi 4"
    if "(Open MPI)" in said or "PRRTE" in said:
        return "open mpi 5"
    return "srun" if said.startswith("slurm") else ""


def find_program(name: str, environ: Environ) -> str:
    if "/" in name:
        return name
    paths = [os.path.join(d, name) for d in environ.get("PATH", os.defpath).split(":")]
    return next((path for path in paths if os.access(path, os.X_OK)), name)


def version(path: str, environ: Environ) -> str:
    import subprocess

    try:
        run = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=VERSION_LIMIT_S,
            env=environ,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stdout.decode(errors="replace")


def sections(words: list[str]) -> list[list[str]]:
    """The programs of one launch, which launchers separate by words that are a single colon."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == ":":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def together(launcher: str, parts: list[list[str]]) -> list[str]:
    command = [launcher]
    for number, part in enumerate(parts):
        command += [":", *part] if number else part
    return command


def options(words: list[str], following: Callable[[str, str], int]) -> list[int]:
    """Where the launcher's own options are, up to the word that is the program. `following` says
    how many words belong to an option; it also gets the next word."""
    places = []
    at = 0
    while at < len(words) and words[at].startswith("-"):
        places.append(at)
        after = words[at + 1] if at + 1 < len(words) else ""
        at += 1 + (0 if "=" in words[at] else following(words[at], after))
    return places


def after_hydra(word: str, after: str) -> int:
    name = word.lstrip("-")
    if name in ("genv", "env"):
        return 1 if "=" in after else 2
    return int(name in HYDRA_ONE)


def after_open_mpi(word: str, _after: str) -> int:
    name = word.lstrip("-")
    return 2 if name in OPEN_MPI_TWO else int(name in OPEN_MPI_ONE)


def after_srun(word: str, _after: str) -> int:
    if word.startswith("--"):
        return int(len(word) > 2 and word[2:] not in SRUN_LONG_NONE)
    # Short options can be joined, and their value can follow without a blank.
    for place, letter in enumerate(word[1:], 1):
        if letter in SRUN_SHORT_ONE:
            return int(place == len(word) - 1)
    return 0


class Launch:
    """Puts the two variables into one launcher's words; the user's own LD_PRELOAD stays in front
    of our library, wherever the user set it."""

    def __init__(self, environ: Environ, library: str, plan: str) -> None:
        self.environ = environ
        self.library = library
        self.plan = plan
        self.preload = self.joined(environ.get(PRELOAD, ""))

    def joined(self, preload: str) -> str:
        if self.library in preload.replace(" ", ":").split(":"):
            return preload
        return f"{preload}:{self.library}" if preload else self.library

    def inherit(self) -> None:
        self.environ = self.environ | {PRELOAD: self.preload, PLAN: self.plan}

    def extended(self, items: Iterable[str]) -> list[str]:
        """A user's list of NAME or NAME=VALUE with the variables in it."""
        preload = self.preload
        kept = []
        for item in items:
            name, equals, value = item.strip().partition("=")
            if name != PRELOAD:
                kept.append(item)
            elif equals:
                preload = self.joined(value)
        return [*kept, f"{PRELOAD}={preload}", f"{PLAN}={self.plan}"]

    def hydra(self, parts: list[list[str]]) -> None:
        """-genv holds for all programs, -env for one; the last of several wins."""
        for part in parts:
            for at in options(part, after_hydra):
                if part[at].lstrip("-") not in ("genv", "env") or at + 1 >= len(part):
                    continue
                name, equals, value = part[at + 1].partition("=")
                if name == PRELOAD and equals:
                    part[at + 1] = f"{PRELOAD}={self.joined(value)}"
                elif name == PRELOAD and at + 2 < len(part):
                    part[at + 2] = self.joined(part[at + 2])
        parts[0][:0] = ["-genv", PRELOAD, self.preload, "-genv", PLAN, self.plan]

    def open_mpi_4(self, parts: list[list[str]], path: str) -> None:
        """-x holds for one program; the last of several wins. It refuses to start where both -x
        and the parameter that lists variables are used, so that is extended where it is set."""
        for part in parts:
            for at in options(part, after_open_mpi):
                if part[at].lstrip("-") == "app":
                    return self.inherit()  # the words of a file, and no others
                if part[at + 1 : at + 2] == [ENV_LIST] and at + 2 < len(part):
                    part[at + 2] = ";".join(self.extended(part[at + 2].split(";")))
                    return None
        listed = self.environ.get(f"OMPI_MCA_{ENV_LIST}") or configured_list(self.environ, path)
        if listed:
            words = ";".join(self.extended(listed.split(";")))
            parts[0][:0] = ["--mca", ENV_LIST, words]
            return None
        for part in parts:
            theirs = self.extend_open_mpi(part)
            part[:0] = ["-x", f"{PLAN}={self.plan}"]
            if not theirs:
                part[:0] = ["-x", f"{PRELOAD}={self.preload}"]
        return None

    def open_mpi_5(self, parts: list[list[str]]) -> None:
        """-x of the first program holds for all; the first of several wins."""
        theirs = [self.extend_open_mpi(part) for part in parts]
        parts[0][:0] = ["-x", f"{PLAN}={self.plan}"]
        if not theirs[0]:
            parts[0][:0] = ["-x", f"{PRELOAD}={self.preload}"]

    def extend_open_mpi(self, part: list[str]) -> bool:
        """Adds the library to the user's -x LD_PRELOAD; False where there is none."""
        theirs = False
        for at in options(part, after_open_mpi):
            value = part[at + 1] if at + 1 < len(part) else ""
            if part[at].lstrip("-") == "x" and value.partition("=")[0] == PRELOAD:
                part[at + 1] = self.extended([value])[0]
                theirs = True
        return theirs

    def srun(self, parts: list[list[str]]) -> None:
        """One --export for each program of a heterogeneous job; the last of several wins."""
        # Commas separate its variables: a value with one has to be in srun's own environment.
        if "," in self.preload + self.plan:
            self.inherit()
        for part in parts:
            given = False
            for at in options(part, after_srun):
                word, equals, value = part[at].partition("=")
                if word != "--export":
                    continue
                given = True
                if equals:
                    part[at] = f"--export={self.exported(value)}"
                elif at + 1 < len(part):
                    part[at + 1] = self.exported(part[at + 1])
            if not given:
                value = self.environ.get("SLURM_EXPORT_ENV", "ALL")
                part.insert(0, f"--export={self.exported(value)}")

    def exported(self, value: str) -> str:
        # Slurm's own variables come with any list, as they do with NONE.
        items = [item for item in value.split(",") if item not in ("NONE", "NIL", "")]
        if "," in self.preload + self.plan:
            return ",".join([*items, PRELOAD, PLAN])
        return ",".join(self.extended(items))


def configured_list(environ: Environ, path: str) -> str:
    """What Open MPI's parameter files set as the list of variables; the user's come first."""
    prefix = environ.get("OPAL_PREFIX") or os.path.dirname(os.path.dirname(os.path.realpath(path)))
    files = (
        environ.get("HOME", "") + "/.openmpi/mca-params.conf",
        f"{prefix}/etc/openmpi-mca-params.conf",
        "/etc/openmpi/openmpi-mca-params.conf",
    )
    for file in files:
        try:
            with open(file, encoding="utf-8", errors="surrogateescape") as lines:
                pairs = [line.partition("=") for line in lines]
        except OSError:
            continue
        found = [value.strip() for name, _, value in pairs if name.strip() == ENV_LIST]
        if found:
            return found[-1]
    return ""
