"""Writes as HACC-I/O does: a checkpoint of particles, nine variables a particle, after a header."""

from collections.abc import Iterator
from functools import partial

import numpy as np
from kernel import parser, run, size
from kernel_files import Part, Share, Variable

# 38 bytes a particle.
PARTICLE = {
    "xx": "f4", "yy": "f4", "zz": "f4", "vx": "f4", "vy": "f4", "vz": "f4", "phi": "f4",
    "pid": "i8", "mask": "u2",
}  # fmt: skip


def width_bytes(dtype: str) -> int:
    return int(dtype[1:])


def parts(header_bytes: int, first: int, numbers: range) -> Iterator[Part]:
    """This rank's particles begin at number `first` of the file. A rank that writes no header still
    takes part in that write: it may be collective."""
    yield Part("header", 0, bytes(header_bytes))
    for name, dtype in PARTICLE.items():
        values = np.arange(numbers.start, numbers.stop).astype(dtype)
        yield Part(name, first * width_bytes(dtype), values.tobytes())


def numbers_of(rank: int, ranks: int, particles: int, spread: float) -> range:
    """The numbers of a rank's particles: the first ranks have fewer, the last ones more."""

    def before(rank: int) -> int:
        place = rank / ranks
        return round(particles * ranks * (place - spread * place * (1 - place)))

    return range(before(rank), before(rank + 1))


def main() -> None:
    example = "mpirun -n 8 python hacc_like.py --api mpiio --particles 100000 --out /tmp/hacc"
    options = parser("A HACC-I/O-like checkpoint kernel.", example)
    options.add_argument("--particles", type=int, default=100_000, metavar="N", help="a rank")
    options.add_argument("--header", type=size, default=size("24M"), metavar="SIZE", help="a file")
    options.add_argument("--name", default="restart", help="what the file names begin with")
    options.add_argument("--spread", type=float, default=0.0, help="of the ranks' shares; 0 to 1")
    options.add_argument("--steps", type=int, default=1, metavar="N", help="checkpoints; default 1")
    chosen = options.parse_args()

    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    files = 1 if chosen.shared else comm.size

    def share(rank: int, turn: str) -> Share:
        numbers = numbers_of(rank, comm.size, chosen.particles, chosen.spread)
        first = numbers.start if chosen.shared else 0
        total = chosen.particles * comm.size if chosen.shared else len(numbers)
        variables = [Variable("header", chosen.header)]
        variables += [Variable(n, total * width_bytes(dtype)) for n, dtype in PARTICLE.items()]
        file = 0 if chosen.shared else rank
        header_bytes = chosen.header if rank == 0 or not chosen.shared else 0
        name = f"{chosen.name}{turn}-Part{file:08d}-of-{files:08d}.data"
        return Share(chosen.out / name, variables, parts(header_bytes, first, numbers))

    for step in range(chosen.steps):
        turn = f".{step:04d}" if chosen.steps > 1 else ""
        run(comm, chosen, partial(share, turn=turn))


if __name__ == "__main__":
    main()
