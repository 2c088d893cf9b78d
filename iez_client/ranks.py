"""Ranks: where a launcher starts iez-run on every rank, the ranks meet in one run directory.

The first rank there makes the plan; the last one to end speaks for all. Every step is one file
made with O_EXCL, which works on network file systems, and nobody waits without a limit: a rank
that dies leaves the others unharmed, at worst without a summary line.

A launch that calls iez-run several times has one round for each call, numbered in a directory of
its own. A round that has ended stays there, empty but for the marks of who took part: they tell a
rank which round is its next.
"""

# iez-run does without pathlib: it would double its start.
# ruff: noqa: PTH102, PTH108, PTH123, PTH208

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from zlib import crc32

PAUSE_MIN_S, PAUSE_MAX_S = 0.02, 0.5
ROUNDS = 1000  # iez-run calls of one rank at the same time


class Group:
    """One rank's seat in the run directory of its job."""

    def __init__(self, directory: str, rank: int, size: int) -> None:
        self.directory = directory
        self.rank = rank
        self.size = size
        self.leads = claim(f"{directory}/leader")

    def wait_for_plan(self, limit_s: float, interrupted: Callable[[], int]) -> bool:
        """False when the leading rank has failed, which it has said, or is not to be seen."""
        until_s = time.monotonic() + limit_s
        pause_s = PAUSE_MIN_S
        # A listing, as NFS may remember for half a minute that a single name is not there.
        while "plan" not in (names := os.listdir(self.directory)):
            if "failed" in names or interrupted() or time.monotonic() > until_s:
                return False
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_MAX_S)
        return True

    def tell_failure(self) -> None:
        claim(f"{self.directory}/failed")

    def leave(self) -> bool:
        """Marks this rank as done; True for the one rank that finds all of them done."""
        try:
            claim(f"{self.directory}/{self.rank}.done")
            names = os.listdir(self.directory)
        except FileNotFoundError:
            return False
        if sum(name.endswith(".done") for name in names) < self.size:
            return False
        return claim(f"{self.directory}/spoken")

    def clear(self) -> None:
        """Leaves the marks of this round, which has ended, and removes those of earlier ones."""
        from iez_client.helpers import remove_tree

        for name in os.listdir(self.directory):
            if not name.endswith(".here") and name != "spoken":
                os.unlink(f"{self.directory}/{name}")
        launch, _, own = self.directory.rpartition("/")
        for turn in rounds(launch):
            if turn < int(own) and has_ended(launch, turn):
                remove_tree(f"{launch}/{turn}")


def rounds(launch: str) -> list[int]:
    return sorted(int(name) for name in os.listdir(launch) if name.isdigit())


def has_ended(launch: str, turn: int) -> bool:
    return os.access(f"{launch}/{turn}/spoken", os.F_OK)


def claim(path: str) -> bool:
    """Makes an empty file; False when somebody else has made it."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return False
    return True


def join(
    make_run_dir: Callable[[str], str], environ: Mapping[str, str], asked: str
) -> Group | None:
    """None for a process that is not one of several ranks, or whose job has no name. Ranks that
    asked for another plan are never in the same group."""
    rank, size = rank_and_size(environ)
    key = job_key(environ, asked) if size > 1 else ""
    if not key:
        return None
    launch = make_run_dir(key)
    known = rounds(launch)
    mine = [turn for turn in known if os.access(f"{launch}/{turn}/{rank}.here", os.F_OK)]
    turn = mine[-1] + 1 if mine else next((t for t in known if not has_ended(launch, t)), 0)
    for number in range(turn, turn + ROUNDS):
        with suppress(FileExistsError):
            os.mkdir(f"{launch}/{number}", 0o700)
        if not has_ended(launch, number) and claim(f"{launch}/{number}/{rank}.here"):
            return Group(f"{launch}/{number}", rank, size)
    return None


def rank_and_size(environ: Mapping[str, str]) -> tuple[int, int]:
    pairs = (
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    )
    for rank, size in pairs:
        if environ.get(rank, "").isdigit() and environ.get(size, "").isdigit():
            return int(environ[rank]), int(environ[size])
    return 0, 1


def job_key(environ: Mapping[str, str], asked: str) -> str:
    """A name that all ranks of this job that asked for the same, and no others, find."""
    if "OMPI_COMM_WORLD_RANK" in environ:
        # Open MPI 4 numbers its jobs with few bits: the address of its head makes them unique.
        name = environ.get("PMIX_NAMESPACE", "") + environ.get("OMPI_MCA_orte_hnp_uri", "")
    else:
        name = hydra_port() if "PMI_RANK" in environ else ""
        if not name and "SLURM_STEP_ID" in environ:
            name = environ.get("SLURM_JOB_ID", "") + "." + environ["SLURM_STEP_ID"]
    if not name:
        return ""
    return f"job-{crc32(os.fsencode(name)):08x}-{crc32(os.fsencode(asked)):08x}"


def hydra_port() -> str:
    """Hydra gives the ranks no name of their job, but each node's proxy, which is an ancestor of
    the ranks, has the address of mpiexec among its arguments."""
    pid = os.getppid()
    while pid > 1:
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            return ""
        if b"--control-port" in words:
            return os.fsdecode(words[words.index(b"--control-port") + 1])
    return ""
