"""Cases: the jobs and the state of the file system of each experiment.

Everything is some hundred times smaller than on the paper's testbed (15 OSTs of 10 GB on 3 OSSs, up
to 64 GB of data), and so are the sizes in the policy: OSTs of 8 MB/s instead of hundreds.
"""

from dataclasses import dataclass, field

from iez_common.units import parse_size_bytes

OSS_COUNT, OSTS_PER_OSS = 3, 5
OST_COUNT = OSS_COUNT * OSTS_PER_OSS
OST_BYTES = 512 << 20
BANDWIDTH = 8 << 20
WINDOW_BYTES = 2 << 20
POLICY = """
single_stripe = "4M"
shared_stripe = "4M"
split_min = "16M"
ost_bandwidth = "8M"
"""


@dataclass(frozen=True, slots=True)
class Job:
    """One of the kernels in examples/."""

    kernel: str
    ranks: int
    words: tuple[str, ...]
    stripe_count: int = 0  # of its directory, as a user sets it; 0: that of the file system, 1


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    title: str
    jobs: tuple[Job, ...]
    should_gain: bool = False  # what Lustre does by itself leaves something to win
    filled: dict[int, float] = field(default_factory=dict)  # share of an OST that is in use
    slow_osts: dict[int, int] = field(default_factory=dict)  # bytes/s
    slow_osss: dict[int, int] = field(default_factory=dict)  # bytes/s of all its OSTs
    figure: str = ""  # of the paper, of which this is the like

    @property
    def speeds(self) -> list[float]:
        """Bytes/s of each OST, where all are used alike."""
        found = []
        for ost in range(OST_COUNT):
            of_server = self.slow_osss.get(ost // OSTS_PER_OSS, OSTS_PER_OSS * BANDWIDTH)
            found.append(min(self.slow_osts.get(ost, BANDWIDTH), of_server / OSTS_PER_OSS))
        return found


def ior(ranks: int, block: str, *words: str, stripe_count: int = 0) -> Job:
    assert parse_size_bytes(block) % (512 << 10) == 0
    sizes = ("--block", block, "--transfer", "512K")
    return Job("ior_like.py", ranks, (*sizes, *words), stripe_count)


def hacc(ranks: int, particles: int, *words: str, stripe_count: int = 0) -> Job:
    sizes = ("--header", "512K", "--particles", str(particles))
    return Job("hacc_like.py", ranks, (*sizes, *words), stripe_count)


CASES = (
    Case(
        "ior-sc8",
        "IOR, 16 processes, a file for each, stripe count 8",
        (ior(16, "18M", stripe_count=8),),
        figure="7",
    ),
    Case(
        "ior-sc4",
        "IOR, 16 processes, a file for each, stripe count 4",
        (ior(16, "18M", stripe_count=4),),
        figure="8",
    ),
    Case(
        "hacc-sc8",
        "HACC-I/O, 16 processes, a file for each, stripe count 8",
        (hacc(16, 480_000, stripe_count=8),),
        figure="9",
    ),
    Case(
        "ior-ssf",
        "IOR, one file shared by 16 processes, stripe count 8",
        (ior(16, "18M", "--ssf", stripe_count=8),),
        figure="12, 13",
    ),
    Case(
        "ior-hacc",
        "IOR (stripe count 4) and HACC-I/O (8) at the same time, 8 processes each",
        (ior(8, "18M", stripe_count=4), hacc(8, 480_000, stripe_count=8)),
        figure="14",
    ),
    Case(
        "unequal",
        "HACC-I/O, 16 processes, a file for each of 0.2 to 1.8 times the mean size",
        (hacc(16, 480_000, "--spread", "0.9"),),
        should_gain=True,
    ),
    Case(
        "unequal-sc4",
        "HACC-I/O, 8 processes, a file for each of 0.2 to 1.8 times the mean size, stripe count 4",
        (hacc(8, 960_000, "--spread", "0.9", stripe_count=4),),
        should_gain=True,
    ),
    Case(
        "filled",
        "IOR, 15 processes, a file for each, 5 of 15 OSTs filled to 75 %",
        (ior(15, "18M"),),
        should_gain=True,
        filled=dict.fromkeys(range(0, OST_COUNT, 3), 0.75),
    ),
    Case(
        "slow-ost",
        "IOR, 16 processes, a file for each, stripe count 4, one OST at a quarter of its speed",
        (ior(16, "18M", stripe_count=4),),
        should_gain=True,
        slow_osts={3: BANDWIDTH // 4},
    ),
    Case(
        "slow-oss",
        "IOR, 16 processes, a file for each, stripe count 4, one OSS at a quarter of its speed",
        (ior(16, "18M", stripe_count=4),),
        should_gain=True,
        slow_osss={1: OSTS_PER_OSS * BANDWIDTH // 4},
    ),
    Case(
        "ssf-free",
        "IOR, one file shared by 15 processes, no stripe count given",
        (ior(15, "6M", "--ssf"),),
        should_gain=True,
    ),
)
