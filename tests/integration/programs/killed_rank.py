"""Each rank writes a file, 100 times 1000 bytes; when all have, one kills itself while the others
wait for it. Arguments: the number of that rank, the directory."""

import os
import signal
import sys
from pathlib import Path

from mpi4py import MPI

world = MPI.COMM_WORLD
fd = os.open(Path(sys.argv[2]) / f"part.{world.rank}", os.O_WRONLY | os.O_CREAT, 0o644)
for _ in range(100):
    os.write(fd, bytes([world.rank]) * 1000)
world.Barrier()
if world.rank == int(sys.argv[1]):
    os.kill(os.getpid(), signal.SIGKILL)
world.Barrier()
