"""Records: one file of a run, with everything that is known about it."""

from dataclasses import dataclass, fields

from iez_common._core import ffi, lib

APIS = ("POSIX", "STDIO", "MPI-IO", "HDF5")  # by enum iez_api
ACCESS = {
    lib.IEZ_FILE_READ: "read",
    lib.IEZ_FILE_WRITE: "write",
    lib.IEZ_FILE_APPEND: "append",
    lib.IEZ_FILE_EXCLUSIVE: "exclusive",
    lib.IEZ_FILE_DIRECT: "direct",
    lib.IEZ_FILE_TRUNCATED: "truncate",
}
OUTCOMES: dict[int, str] = {
    int(number): name.removeprefix("IEZ_").lower()
    for number, name in ffi.typeof("enum iez_outcome").elements.items()
}


@dataclass(frozen=True, slots=True)
class FileRecord:
    """What all processes of a run did to one file. The fields are the columns of `iez parse`, in
    their order; docs/tracing.md tells what each means."""

    file_name: str
    write_bytes: int
    stripe_count: int | None
    mpi_rank: int
    communicator: str
    writes: int
    size_bytes: int | None
    api: tuple[str, ...]
    pattern: str
    ranks: str
    created: bool
    unseen_bytes: int
    posix_bytes: int
    stdio_bytes: int
    mpiio_bytes: int
    hdf5_bytes: int
    read_bytes: int
    reads: int
    write_end: int
    set_bytes: int
    first_write_s: float | None
    last_write_s: float | None
    opens: int
    creates: int
    access: tuple[str, ...]
    records: int
    communicator_size: int
    stripe_size: int | None
    ost_list: tuple[int, ...]
    extents: str
    outcome: str
    renamed_from: tuple[str, ...]
    unlinked: bool
    helper: bool
    write_sizes: dict[str, int]


COLUMNS = tuple(each.name for each in fields(FileRecord))


def format_ranks(spans: list[tuple[int, int]]) -> str:
    """Ranks as ranges: `0-63,70`."""
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in spans)


def seconds(time_ns: int) -> float | None:
    """A time of the clock; None where there is none."""
    return round(time_ns / 1e9, 6) if time_ns else None


def write_sizes(buckets: list[int]) -> dict[str, int]:
    """The histogram: writes by the lower bound of their size."""
    return {str(1 << power): count for power, count in enumerate(buckets) if count}
