"""The paper's set-ups: IOR and HACC-I/O on 3 OSSs with 5 empty OSTs of 10 GB each."""

from iez_common.allocate.columns import Osts
from iez_common.records import Request
from iez_sim.place.setup import SetUp, together

GIB = 1 << 30
OST_COUNT = 15
OSTS_PER_OSS = 5
OST_BYTES = 10 * GIB
OST_BYTES_PER_S = 200e6  # the paper gives none; it scales all predicted times alike
# Table II: eight files of HACC-I/O, and the OST (their number 14) that held something before.
TABLE_II_WRITE_BYTES = 803405824
TABLE_II_STRIPE_BYTES = 100532224
TABLE_II_FILLED = 13
TABLE_II_FILLED_STRIPES = 4
TABLE_II_COUNTS = (1, *7 * [4], *7 * [5])  # stripes of each OST, in rising order


def paper_setups() -> tuple[SetUp, ...]:
    """The eleven whose optimum is proved, then two more of its figures and tables."""
    return (
        _fpp("ior-8p-sc8", "IOR", 8, 16, 8, 1.172),
        _fpp("ior-8p-sc4", "IOR", 8, 16, 4, 1.406),
        _fpp("ior-16p-sc8", "IOR", 16, 32, 8, 1.055),
        _fpp("ior-16p-sc4", "IOR", 16, 32, 4, 1.172),
        _fpp("ior-64p-sc8", "IOR", 64, 64, 8, 1.025),
        _fpp("ior-64p-sc4", "IOR", 64, 64, 4, 1.055),
        _fpp("hacc-8p", "HACC-I/O", 8, 4, 8, 1.172),
        _fpp("hacc-16p", "HACC-I/O", 16, 7.7, 8, 1.055),
        _fpp("hacc-32p", "HACC-I/O", 32, 13.5, 8, 1.055),
        _concurrent(),
        _ssf("ior-ssf", 16, 32, paper=True),
        _ssf("ior-ssf-32p", 32, 64, paper=False),
        table_ii(),
    )


def table_ii() -> SetUp:
    """The allocation that the paper prints file by file."""
    filled = TABLE_II_FILLED_STRIPES * TABLE_II_STRIPE_BYTES
    used = [filled if ost == TABLE_II_FILLED else 0 for ost in range(OST_COUNT)]
    requests, jobs = together({"hacc": [Request(TABLE_II_WRITE_BYTES, 8)] * 8})
    title = "Table II: HACC-I/O, 8 files, stripe count 8, OST 14 holds four stripes already"
    return SetUp("table-ii", title, requests, _osts(used), jobs, racing=8)


def _fpp(
    name: str, program: str, processes: int, total_gib: float, stripe_count: int, optimum: float
) -> SetUp:
    requests, jobs = together({program: _files(processes, total_gib, stripe_count)})
    title = f"{program}, {processes} files, {total_gib:g} GB, stripe count {stripe_count}"
    return SetUp(name, title, requests, _osts(), jobs, processes, paper=True, optimum=optimum)


def _concurrent() -> SetUp:
    requests, jobs = together({"IOR": _files(16, 32, 4), "HACC-I/O": _files(16, 7.7, 8)})
    title = "IOR (16 files, 32 GB, stripe count 4) beside HACC-I/O (16 files, 7.7 GB, count 8)"
    return SetUp("ior-hacc", title, requests, _osts(), jobs, 32, paper=True, optimum=1.006)


def _ssf(name: str, processes: int, total_gib: int, paper: bool) -> SetUp:
    requests, jobs = together({"IOR": [Request(total_gib * GIB, 8, writers=processes)]})
    title = f"IOR, one file shared by {processes} processes, {total_gib} GB, stripe count 8"
    # One file is one create, however many write to it.
    return SetUp(name, title, requests, _osts(), jobs, 1, paper, optimum=1.875)


def _files(processes: int, total_gib: float, stripe_count: int) -> list[Request]:
    return [Request(round(total_gib * GIB / processes), stripe_count)] * processes


def _osts(used_bytes: list[int] | None = None) -> Osts:
    used = used_bytes or OST_COUNT * [0]
    return Osts.make(
        size_bytes=OST_COUNT * [OST_BYTES],
        available_bytes=[OST_BYTES - each for each in used],
        oss=[f"OSS{ost // OSTS_PER_OSS + 1}" for ost in range(OST_COUNT)],
        bandwidth_bytes_per_s=OST_BYTES_PER_S,
    )
