"""Ranks of even and of odd number each write two shared files by MPI-IO.

Argument: the directory.
"""

import sys
from pathlib import Path

from mpi4py import MPI

PART_BYTES = 4096

world = MPI.COMM_WORLD
half = world.Split(world.rank % 2, world.rank)
for step in range(2):
    path = Path(sys.argv[1]) / f"half{world.rank % 2}.{step}"
    file = MPI.File.Open(half, str(path), MPI.MODE_CREATE | MPI.MODE_WRONLY)
    file.Write_at_all(half.rank * PART_BYTES, [bytes([world.rank + 1]) * PART_BYTES, MPI.BYTE])
    file.Close()
if world.rank == 0:
    print(f"communicator of {half.size}")
