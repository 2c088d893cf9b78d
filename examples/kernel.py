"""What both kernels share: write one file a rank, or one file for all, and read it again."""

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernel_files import APIS, Share

UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


def size(text: str) -> int:
    """`4M` is 4 × 1024 × 1024."""
    digits = text.rstrip("KMGkmg")
    unit = text[len(digits) :].upper()
    if not digits.isdigit() or unit not in UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size like 512K, 4M or 1G")
    return int(digits) * UNITS[unit]


def parser(description: str, example: str) -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        description=description,
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--api", choices=list(APIS), default="posix")
    files = result.add_mutually_exclusive_group()
    files.add_argument(
        "--fpp", dest="shared", action="store_false", help="one file per process (default)"
    )
    files.add_argument("--ssf", dest="shared", action="store_true", help="one single shared file")
    result.set_defaults(shared=False)
    result.add_argument(
        "--fsync", action="store_true", help="before the close, within the measured time"
    )
    result.add_argument(
        "--read", action="store_true", help="and check: each rank reads what the next one wrote"
    )
    result.add_argument(
        "--meet",
        nargs=2,
        metavar=("N", "DIR"),
        help="write, and read, at the same time as the others of N jobs that are told the same DIR",
    )
    result.add_argument("--out", type=Path, required=True, metavar="DIR")
    return result


def run(comm: Any, options: argparse.Namespace, share: Callable[[int], Share]) -> None:
    """Writes what `share` gives for this rank, and says on rank 0: bytes, files, seconds."""
    from mpi4py import MPI

    if options.api == "hdf5":
        import h5py  # noqa: F401  (not within the measured time)
    own, writers = share(comm.rank), comm if options.shared else MPI.COMM_SELF
    write, read = APIS[options.api]
    if comm.rank == 0:
        own.path.parent.mkdir(parents=True, exist_ok=True)
    own_bytes = sum(variable.size_bytes for variable in own.variables)
    total = own_bytes if options.shared else comm.allreduce(own_bytes)
    done = f"bytes {total} files {1 if options.shared else comm.size}"
    meet_others(comm, options.meet, "write")
    measure(comm, done, lambda: write(writers, own, options.fsync))
    if options.read:
        # What a rank wrote itself, the cache of its node may hold.
        other = share((comm.rank + 1) % comm.size)
        meet_others(comm, options.meet, "read")
        measure(comm, f"read {done}", lambda: read(writers, other))


def measure(comm: Any, done: str, work: Callable[[], None]) -> None:
    meet(comm)
    start = time.perf_counter()
    work()
    meet(comm)
    seconds = time.perf_counter() - start
    if comm.rank == 0:
        print(f"{done} seconds {seconds:.3f}", flush=True)


def meet_others(comm: Any, jobs: tuple[str, str] | None, turn: str) -> None:
    """Waits until all jobs are as far as this one."""
    if jobs and comm.rank == 0:
        count, place = int(jobs[0]), Path(jobs[1])
        (place / f"{turn}.{os.getpid()}").touch()
        while len(list(place.glob(f"{turn}.*"))) < count:
            time.sleep(0.01)


def meet(comm: Any) -> None:
    """A barrier in which those who wait sleep: where there are more ranks than cores, they would
    take the cores from those who still write."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(0.001)
