"""Launchers: a command line in, the programs that it starts and how many ranks out.

Nothing is asked of the launcher itself, so `mpirun` may be Hydra or Open MPI: their options are
taken together. iez_client/launch.py has the tables.
"""

# Light enough for the start of a job.
# ruff: noqa: PTH118, PTH119, SIM905

import os
from collections.abc import Callable, Mapping, Sequence

from iez_client.launch import after_hydra, after_open_mpi, after_srun, options, sections
from iez_client.names.wrappers import moved_to, unwrapped

APRUN_ONE = frozenset("n N d S cc L m j r F p sn sl ss t e D q P E l".split())
JSRUN_ONE = frozenset(
    """n a c g r p b d l E D U h k o e t X L M A I f nrs np tasks_per_rs cpu_per_rs gpu_per_rs
    rs_per_host bind launch_distribution latency_priority env chdir smpiargs stdio_mode stdio_input
    stdio_stdout stdio_stderr erf_input appfile""".split()
)
FLUX_ONE = frozenset(
    """n N c g q B t o x ntasks nodes cores-per-task gpus-per-task tasks-per-node tasks-per-core
    queue bank time-limit setopt setattr env env-remove env-file requires dependency begin-time
    input output error cwd cores job-name rlimit urgency signal""".split()
)
IBRUN_ONE = frozenset("n np o".split())
_FLUX_STARTS = ("run", "submit", "alloc", "batch")

# The options that say how many ranks there are, by launcher.
_COUNTS = {
    "mpi": ("n", "np", "c"),
    "srun": ("n", "ntasks"),
    "aprun": ("n",),
    "jsrun": ("p", "np", "n", "nrs"),
    "flux": ("n", "ntasks"),
    "ibrun": ("n", "np"),
}
_PER_SET = ("a", "tasks_per_rs")  # jsrun: ranks in each of its resource sets
_DIRECTORIES = ("wdir", "wd", "chdir", "D", "cwd")
_RANK_VARIABLES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")

_RUN_ONE = frozenset("--plan --mock --mock-state --trace-dir --app --learn".split())


class Launched:
    """What one launch starts."""

    def __init__(self, programs: list[list[str]]) -> None:
        self.programs = programs
        self.ranks = 0  # 0: its words do not say
        self.directory = ""  # where the first program is to run; empty: here


def launched(command: Sequence[str]) -> Launched:
    """The programs of a command without the words of launchers, wrappers and iez-run, whichever
    stands before the other."""
    words = list(command)
    directory = ""
    while inner := _without_iez_run(words) or unwrapped(words):
        directory = os.path.join(directory, moved_to(words))
        words = inner
    kind = _kind(words)
    found = Launched([] if kind else [words])
    found.directory = directory
    if not kind:
        return found
    counts = []
    for part in sections(words[2 if kind == "flux" else 1 :]):
        given, program = _own_options(kind, part)
        counts.append(_ranks(kind, given))
        inside = launched(program)
        if not found.programs:
            found.directory = os.path.join(directory, _value(given, _DIRECTORIES), inside.directory)
        found.programs += inside.programs
    found.ranks = sum(counts) if all(counts) else 0
    return found


def rank_count(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """How many ranks are asked for; 0: not known."""
    asked = launched(command).ranks
    if asked:
        return asked
    found = (environ.get(name, "") for name in _RANK_VARIABLES)
    return next((int(value) for value in found if _is_count(value)), 0)


def _without_iez_run(words: list[str]) -> list[str]:
    """The words behind iez-run and its options; empty where it is not there."""
    if not words or os.path.basename(words[0]) != "iez-run":
        return []
    at = 1
    while at < len(words) and words[at].startswith("-"):
        word = words[at]
        at += 2 if word in _RUN_ONE else 1
        if word == "--":
            break
    return words[at:]


def _kind(words: Sequence[str]) -> str:
    name = os.path.basename(words[0]) if words else ""
    if name == "flux":
        return "flux" if words[1:2] and words[1] in _FLUX_STARTS else ""
    if name.startswith(("mpirun", "mpiexec")) or name in ("orterun", "prterun"):
        return "mpi"
    return name if name in ("srun", "aprun", "jsrun", "ibrun") else ""


def _own_options(kind: str, words: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """The launcher's options with their values, and the words from the program on."""
    following = _FOLLOWING[kind]
    given = []
    end = 0
    for at in options(words, following):
        word = words[at]
        after = words[at + 1] if at + 1 < len(words) else ""
        count = 0 if "=" in word else following(word, after)
        name, equals, value = word.lstrip("-").partition("=")
        if count:
            value = after
        elif not equals and not word.startswith("--") and word[2:3].isdigit():
            name, value = word[1], word[2:]  # -n8
        given.append((name, value))
        end = at + 1 + count
        if word == "--":
            break
    return given, words[end:]


def _ranks(kind: str, given: Sequence[tuple[str, str]]) -> int:
    for name in _COUNTS[kind]:
        value = _value(given, (name,))
        if _is_count(value):
            each = _value(given, _PER_SET) if kind == "jsrun" and name in ("n", "nrs") else ""
            return int(value) * (int(each) if _is_count(each) else 1)
    return 0


def _value(given: Sequence[tuple[str, str]], names: Sequence[str]) -> str:
    """Of the last option of one of the names."""
    return next((value for name, value in reversed(given) if name in names), "")


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < int(text) < 1 << 31


def _after_mpi(word: str, after: str) -> int:
    return max(after_hydra(word, after), after_open_mpi(word, after))


def _after_table(table: frozenset[str]) -> Callable[[str, str], int]:
    return lambda word, _after: int(word.lstrip("-") in table)


_FOLLOWING: dict[str, Callable[[str, str], int]] = {
    "mpi": _after_mpi,
    "srun": after_srun,
    "aprun": _after_table(APRUN_ONE),
    "jsrun": _after_table(JSRUN_ONE),
    "flux": _after_table(FLUX_ONE),
    "ibrun": _after_table(IBRUN_ONE),
}
