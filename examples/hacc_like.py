"""Writes as HACC-I/O does: a checkpoint of particles, nine variables a particle, after a header."""

from collections.abc import Iterator

import numpy as np
from kernel import Part, Variable, parser, run, size

# 38 bytes a particle.
PARTICLE = {
    "xx": "f4", "yy": "f4", "zz": "f4", "vx": "f4", "vy": "f4", "vz": "f4", "phi": "f4",
    "pid": "i8", "mask": "u2",
}  # fmt: skip


def width_bytes(dtype: str) -> int:
    return int(dtype[1:])


def parts(rank: int, first: int, header_bytes: int, particles: int) -> Iterator[Part]:
    """This rank's particles begin at number `first` of the file. A rank that writes no header still
    takes part in that write: it may be collective."""
    yield Part("header", 0, bytes(header_bytes))
    for name, dtype in PARTICLE.items():
        values = np.arange(rank * particles, (rank + 1) * particles).astype(dtype)
        yield Part(name, first * width_bytes(dtype), values.tobytes())


def main() -> None:
    example = "mpirun -n 8 python hacc_like.py --api mpiio --particles 100000 --out /tmp/hacc"
    options = parser("A HACC-I/O-like checkpoint kernel.", example)
    options.add_argument("--particles", type=int, default=100_000, metavar="N", help="a rank")
    options.add_argument("--header", type=size, default=size("24M"), metavar="SIZE", help="a file")
    options.add_argument("--name", default="restart", help="what the file names begin with")
    chosen = options.parse_args()

    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    files, file = (1, 0) if chosen.shared else (comm.size, comm.rank)
    name = f"{chosen.name}-Part{file:08d}-of-{files:08d}.data"
    first = comm.rank * chosen.particles if chosen.shared else 0
    total = chosen.particles * (comm.size if chosen.shared else 1)
    variables = [Variable("header", chosen.header)]
    variables += [Variable(n, total * width_bytes(dtype)) for n, dtype in PARTICLE.items()]
    header_bytes = chosen.header if comm.rank == 0 or not chosen.shared else 0
    data = parts(comm.rank, first, header_bytes, chosen.particles)
    run(comm, chosen.api, chosen.shared, chosen.out / name, variables, data)


if __name__ == "__main__":
    main()
