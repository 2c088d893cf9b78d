"""Launch: hands the job's two variables to the ranks in the words of its launcher.

A launcher passes its own environment to the ranks of its own host at best. Each has words that
reach the ranks of every host: Hydra `-genv NAME VALUE`, Open MPI `-x NAME=VALUE`, Slurm
`--export=ALL,NAME=VALUE`. docs/iez-run.md has a table of what was seen with each.
"""

# iez-run does without pathlib: it would double its start.
# ruff: noqa: PTH118, PTH119, SIM905

import os
from collections.abc import Callable

Environ = dict[str, str]

PRELOAD = "LD_PRELOAD"
PLAN = "IEZ_PLAN"
VERSION_LIMIT_S = 5

# How many words follow an option. What is missing here is taken to have none; if it has one after
# all, that word is taken for the program, and a user's LD_PRELOAD behind it is not seen.
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
    """async contiguous disable-status exact exclusive get-user-env help hold immediate interactive
    kill-on-bad-exit label multi-prog nice no-allocate no-kill overcommit overlap oversubscribe
    preserve-env propagate pty quiet quit-on-interrupt reboot resv-ports send-libs share spread-job
    test-only unbuffered usage use-min-nodes verbose version whole""".split()
)


def rewrite(
    command: list[str], environ: Environ, library: str, plan: str
) -> tuple[list[str], Environ]:
    """The launcher's command with the variables in its words, and its environment. Only where the
    launcher is not known do they go into that environment."""
    words = {
        "hydra": hydra,
        "open mpi 4": open_mpi_4,
        "open mpi 5": open_mpi_5,
        "srun": srun,
    }.get(flavour(command[0], environ), inherit)
    return words(command, environ, library, plan)


def flavour(name: str, environ: Environ) -> str:
    """Told by the program behind all links, or by what it says of itself."""
    path = find_program(name, environ)
    known = {
        "orterun": "open mpi 4",
        "prterun": "open mpi 5",
        "prun": "open mpi 5",
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
    if "(Open MPI)" in said or "PRRTE" in said or "prterun" in said:
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


def joined(preload: str, library: str) -> str:
    """The user's preloaded libraries stay in front of ours."""
    if library in preload.replace(" ", ":").split(":"):
        return preload
    return f"{preload}:{library}" if preload else library


def inherit(
    command: list[str], environ: Environ, library: str, plan: str
) -> tuple[list[str], Environ]:
    preload = joined(environ.get(PRELOAD, ""), library)
    return command, environ | {PRELOAD: preload, PLAN: plan}


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


def options(words: list[str], following: Callable[[list[str], int], int]) -> list[int]:
    """Where the launcher's own options are, up to the word that is the program."""
    places = []
    at = 0
    while at < len(words) and words[at].startswith("-"):
        places.append(at)
        at += 1 + following(words, at)
    return places


# Hydra: -genv holds for all programs, -env for one; the last of several wins.


def hydra(
    command: list[str], environ: Environ, library: str, plan: str
) -> tuple[list[str], Environ]:
    def following(words: list[str], at: int) -> int:
        name = words[at].lstrip("-")
        if name in ("genv", "env"):
            return 1 if "=" in "".join(words[at + 1 : at + 2]) else 2
        return 1 if name in HYDRA_ONE else 0

    parts = sections(command[1:])
    for part in parts:
        for at in options(part, following):
            if part[at].lstrip("-") not in ("genv", "env") or at + 1 >= len(part):
                continue
            name, equals, value = part[at + 1].partition("=")
            if name == PRELOAD and equals:
                part[at + 1] = f"{PRELOAD}={joined(value, library)}"
            elif name == PRELOAD and at + 2 < len(part):
                part[at + 2] = joined(part[at + 2], library)
    preload = joined(environ.get(PRELOAD, ""), library)
    parts[0][:0] = ["-genv", PRELOAD, preload, "-genv", PLAN, plan]
    return together(command[0], parts), environ


# Open MPI 4: -x holds for one program; the last of several wins.
# Open MPI 5: -x of the first program holds for all; the first of several wins.


def open_mpi_4(
    command: list[str], environ: Environ, library: str, plan: str
) -> tuple[list[str], Environ]:
    return open_mpi(command, environ, library, plan, everywhere=True)


def open_mpi_5(
    command: list[str], environ: Environ, library: str, plan: str
) -> tuple[list[str], Environ]:
    return open_mpi(command, environ, library, plan, everywhere=False)


def open_mpi(
    command: list[str], environ: Environ, library: str, plan: str, everywhere: bool
) -> tuple[list[str], Environ]:
    def following(words: list[str], at: int) -> int:
        name = words[at].lstrip("-")
        return 2 if name in OPEN_MPI_TWO else int(name in OPEN_MPI_ONE)

    inherited = environ.get(PRELOAD, "")
    parts = sections(command[1:])
    for number, part in enumerate(parts):
        theirs = False
        for at in options(part, following):
            name = part[at].lstrip("-")
            value = part[at + 1] if at + 1 < len(part) else ""
            if name == "app" or "mca_base_env_list" in part[at : at + 2]:
                return inherit(command, environ, library, plan)  # these do not go with -x
            variable, _, preload = value.partition("=")
            if name == "x" and variable == PRELOAD:
                given = preload if "=" in value else inherited
                part[at + 1] = f"{PRELOAD}={joined(given, library)}"
                theirs = True
        if number == 0 or everywhere:
            part[:0] = ["-x", f"{PLAN}={plan}"]
            if not theirs:
                part[:0] = ["-x", f"{PRELOAD}={joined(inherited, library)}"]
    return together(command[0], parts), environ


# srun: one --export for each program of a heterogeneous job; the last of several wins.


def srun(
    command: list[str], environ: Environ, library: str, plan: str
) -> tuple[list[str], Environ]:
    def following(words: list[str], at: int) -> int:
        word = words[at]
        if word.startswith("--"):
            return int("=" not in word and len(word) > 2 and word[2:] not in SRUN_LONG_NONE)
        # Short options can be joined, and their value can follow without a blank.
        for place, letter in enumerate(word[1:], 1):
            if letter in SRUN_SHORT_ONE:
                return int(place == len(word) - 1)
        return 0

    # Commas separate the variables of --export: a value with one has to be in srun's environment.
    preload = joined(environ.get(PRELOAD, ""), library)
    if "," in preload + plan:
        environ = environ | {PRELOAD: preload, PLAN: plan}
    parts = sections(command[1:])
    for part in parts:
        given = False
        for at in options(part, following):
            word, equals, value = part[at].partition("=")
            if word != "--export":
                continue
            given = True
            if equals:
                part[at] = f"--export={exported(value, environ, library, plan)}"
            elif at + 1 < len(part):
                part[at + 1] = exported(part[at + 1], environ, library, plan)
        if not given:
            value = environ.get("SLURM_EXPORT_ENV", "ALL")
            part.insert(0, f"--export={exported(value, environ, library, plan)}")
    return together(command[0], parts), environ


def exported(value: str, environ: Environ, library: str, plan: str) -> str:
    """The user's --export list with the two variables in it."""
    preload = environ.get(PRELOAD, "")
    items = []
    for item in value.split(","):
        if item.startswith(f"{PRELOAD}="):
            preload = item.partition("=")[2]
        elif item not in (PRELOAD, "NONE", "NIL", ""):
            items.append(item)  # the variables of Slurm itself come with any list
    if "," in plan + preload + library:
        return ",".join([*items, PRELOAD, PLAN])
    return ",".join([*items, f"{PRELOAD}={joined(preload, library)}", f"{PLAN}={plan}"])
