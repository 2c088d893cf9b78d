"""What both kernels share: write one file a rank, or one file for all, through one of three APIs.

A file is a list of variables, one after the other; in HDF5 each variable is a dataset.
"""

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Part:
    """`data` belongs at `offset_bytes` of the variable `name`."""

    name: str
    offset_bytes: int
    data: Any


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
    result.add_argument("--api", choices=["posix", "mpiio", "hdf5"], default="posix")
    files = result.add_mutually_exclusive_group()
    files.add_argument(
        "--fpp", dest="shared", action="store_false", help="one file per process (default)"
    )
    files.add_argument("--ssf", dest="shared", action="store_true", help="one single shared file")
    result.set_defaults(shared=False)
    result.add_argument("--out", type=Path, required=True, metavar="DIR")
    return result


def run(
    comm: Any, api: str, shared: bool, path: Path, variables: list[Variable], parts: Iterator[Part]
) -> None:
    """Writes, then says on rank 0: bytes, files, seconds."""
    from mpi4py import MPI

    if api == "hdf5":
        import h5py  # noqa: F401  (not within the measured time)
    write = {"posix": write_posix, "mpiio": write_mpiio, "hdf5": write_hdf5}[api]
    if comm.rank == 0:
        path.parent.mkdir(parents=True, exist_ok=True)
    comm.Barrier()
    start = time.perf_counter()
    write(comm if shared else MPI.COMM_SELF, path, variables, parts)
    comm.Barrier()
    seconds = time.perf_counter() - start
    files = 1 if shared else comm.size
    own = sum(variable.size_bytes for variable in variables)
    total = own if shared else comm.allreduce(own)
    if comm.rank == 0:
        print(f"bytes {total} files {files} seconds {seconds:.3f}", flush=True)


def starts(variables: list[Variable]) -> dict[str, int]:
    """Where each variable begins in the file."""
    result: dict[str, int] = {}
    at = 0
    for variable in variables:
        result[variable.name] = at
        at += variable.size_bytes
    return result


def write_posix(comm: Any, path: Path, variables: list[Variable], parts: Iterator[Part]) -> None:
    start = starts(variables)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    for part in parts:
        left = memoryview(part.data).cast("B")
        at = start[part.name] + part.offset_bytes
        while left:
            written = os.pwrite(fd, left, at)
            left, at = left[written:], at + written
    os.close(fd)


def write_mpiio(comm: Any, path: Path, variables: list[Variable], parts: Iterator[Part]) -> None:
    from mpi4py import MPI

    start = starts(variables)
    file = MPI.File.Open(comm, str(path), MPI.MODE_CREATE | MPI.MODE_WRONLY)
    for part in parts:
        file.Write_at_all(start[part.name] + part.offset_bytes, [part.data, MPI.BYTE])
    file.Close()


def write_hdf5(comm: Any, path: Path, variables: list[Variable], parts: Iterator[Part]) -> None:
    """The h5py of PyPI knows no MPI: in a shared file its ranks then take turns."""
    import h5py

    if comm.size == 1 or h5py.get_config().mpi:
        parallel = {"driver": "mpio", "comm": comm} if comm.size > 1 else {}
        with h5py.File(path, "w", **parallel) as f:
            define(f, variables)
            fill(f, parts)
        return
    if comm.rank == 0:
        print("h5py without MPI: the ranks write one after the other", flush=True)
        with h5py.File(path, "w") as f:
            define(f, variables)
    for turn in range(comm.size):
        comm.Barrier()
        if turn == comm.rank:
            with h5py.File(path, "r+") as f:
                fill(f, parts)


def define(file: Any, variables: list[Variable]) -> None:
    for variable in variables:
        file.create_dataset(variable.name, shape=(variable.size_bytes,), dtype="u1")


def fill(file: Any, parts: Iterator[Part]) -> None:
    import numpy as np

    for part in parts:
        data = np.frombuffer(part.data, dtype="u1")
        file[part.name][part.offset_bytes : part.offset_bytes + data.size] = data
