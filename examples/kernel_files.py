"""How the kernels write and read a file, through one of three APIs.

A file is a list of variables, one after the other; in HDF5 each variable is a dataset.
"""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Part:
    """`data` belongs at `offset_bytes` of the variable `name`."""

    name: str
    offset_bytes: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Share:
    """What one rank has in a file; the file itself may be shared."""

    path: Path
    variables: list[Variable]
    parts: Iterator[Part]

    def places(self) -> Iterator[tuple[int, bytes]]:
        """Where in the file each part lies."""
        start: dict[str, int] = {}
        at = 0
        for variable in self.variables:
            start[variable.name] = at
            at += variable.size_bytes
        for part in self.parts:
            yield start[part.name] + part.offset_bytes, part.data


def write_posix(comm: Any, share: Share, fsync: bool) -> None:
    fd = os.open(share.path, os.O_WRONLY | os.O_CREAT, 0o644)
    for at, data in share.places():
        left = memoryview(data)
        while left:
            written = os.pwrite(fd, left, at)
            left, at = left[written:], at + written
    if fsync:
        os.fsync(fd)
    os.close(fd)


def read_posix(comm: Any, share: Share) -> None:
    fd = os.open(share.path, os.O_RDONLY)
    for at, data in share.places():
        found = b""
        while len(found) < len(data):
            piece = os.pread(fd, len(data) - len(found), at + len(found))
            if not piece:
                break
            found += piece
        check(share, at, found, data)
    os.close(fd)


def write_mpiio(comm: Any, share: Share, fsync: bool) -> None:
    from mpi4py import MPI

    file = MPI.File.Open(comm, str(share.path), MPI.MODE_CREATE | MPI.MODE_WRONLY)
    for at, data in share.places():
        file.Write_at_all(at, [data, MPI.BYTE])
    if fsync:
        file.Sync()
    file.Close()


def read_mpiio(comm: Any, share: Share) -> None:
    from mpi4py import MPI

    file = MPI.File.Open(comm, str(share.path), MPI.MODE_RDONLY)
    for at, data in share.places():
        found = bytearray(len(data))
        file.Read_at_all(at, [found, MPI.BYTE])
        check(share, at, found, data)
    file.Close()


def write_hdf5(comm: Any, share: Share, fsync: bool) -> None:
    """The h5py of PyPI knows no MPI: in a shared file its ranks then take turns."""
    import h5py

    if comm.size == 1 or h5py.get_config().mpi:
        with h5py.File(share.path, "w", **parallel(comm)) as f:
            define(f, share.variables)
            fill(f, share.parts, fsync)
        return
    if comm.rank == 0:
        print("h5py without MPI: the ranks write one after the other", flush=True)
        with h5py.File(share.path, "w") as f:
            define(f, share.variables)
    for turn in range(comm.size):
        comm.Barrier()
        if turn == comm.rank:
            with h5py.File(share.path, "r+") as f:
                fill(f, share.parts, fsync)


def read_hdf5(comm: Any, share: Share) -> None:
    import h5py

    with h5py.File(share.path, "r", **parallel(comm)) as f:
        for part in share.parts:
            end = part.offset_bytes + len(part.data)
            found = f[part.name][part.offset_bytes : end].tobytes()
            check(share, part.offset_bytes, found, part.data)


def parallel(comm: Any) -> dict[str, Any]:
    import h5py

    is_parallel = comm.size > 1 and h5py.get_config().mpi
    return {"driver": "mpio", "comm": comm} if is_parallel else {}


def define(file: Any, variables: list[Variable]) -> None:
    for variable in variables:
        file.create_dataset(variable.name, shape=(variable.size_bytes,), dtype="u1")


def fill(file: Any, parts: Iterator[Part], fsync: bool) -> None:
    import numpy as np

    for part in parts:
        data = np.frombuffer(part.data, dtype="u1")
        file[part.name][part.offset_bytes : part.offset_bytes + data.size] = data
    if fsync:
        file.flush()
        if file.driver == "sec2":  # with MPI the flush itself is a sync
            os.fsync(file.id.get_vfd_handle())


def check(share: Share, at: int, found: bytes | bytearray, data: bytes) -> None:
    """Ends all ranks where one finds other bytes than were written."""
    if found == data:
        return
    from mpi4py import MPI

    where = f"{share.path}: {len(data)} bytes at {at}"
    print(f"{where} are not what was written", file=sys.stderr, flush=True)
    MPI.COMM_WORLD.Abort(1)


Write = Callable[[Any, Share, bool], None]
Read = Callable[[Any, Share], None]
APIS: dict[str, tuple[Write, Read]] = {
    "posix": (write_posix, read_posix),
    "mpiio": (write_mpiio, read_mpiio),
    "hdf5": (write_hdf5, read_hdf5),
}
