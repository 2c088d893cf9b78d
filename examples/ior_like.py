"""Writes as IOR does: each rank writes blocks, in transfers, repeated for each segment."""

from collections.abc import Iterator

from kernel import parser, run, size
from kernel_files import Part, Share, Variable


def parts(value: int, place: int, places: int, block: int, transfer: int, n: int) -> Iterator[Part]:
    """In each of the `n` segments the blocks of all ranks lie side by side; this one is at `place`.
    The bytes tell who wrote them: `value`, and one more in each further segment."""
    for segment in range(n):
        block_start = (segment * places + place) * block
        for at in range(0, block, transfer):
            data = bytes([(value + segment) % 256]) * min(transfer, block - at)
            yield Part("data", block_start + at, data)


def main() -> None:
    example = "mpirun -n 4 python ior_like.py --api mpiio --ssf --block 4M --out /tmp/ior"
    options = parser("An IOR-like write kernel.", example)
    options.add_argument("--block", type=size, default=size("4M"), metavar="SIZE")
    options.add_argument("--transfer", type=size, default=size("1M"), metavar="SIZE")
    options.add_argument("--segments", type=int, default=1, metavar="N")
    chosen = options.parse_args()

    from mpi4py import MPI

    comm = MPI.COMM_WORLD

    def share(rank: int) -> Share:
        place, places = (rank, comm.size) if chosen.shared else (0, 1)
        name = "testFile" if chosen.shared else f"testFile.{rank:08d}"
        variables = [Variable("data", places * chosen.block * chosen.segments)]
        data = parts(rank, place, places, chosen.block, chosen.transfer, chosen.segments)
        return Share(chosen.out / name, variables, data)

    run(comm, chosen, share)


if __name__ == "__main__":
    main()
