"""Set-ups of a busier machine: 120 OSTs on 8 OSSs, one thing uneven in each, all of it in the last.

They are drawn from a seed by a generator written out here, so that they are the same with every
release of Python and numpy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iez_common.allocate.columns import Osts
from iez_common.records import Ost, Request
from iez_sim.place.setup import SetUp, together

SEED = 2026
MIB = 1 << 20
GIB = 1 << 30
OSTS_PER_OSS = 15
OST_COUNT = 8 * OSTS_PER_OSS
OST_BYTES = 100 * GIB
OST_BYTES_PER_S = 1e9
FILLED_MOST = 0.8
CAPACITIES_BYTES = (50 * GIB, 100 * GIB, 200 * GIB)
DEGRADED, READ_ONLY, SICK = 17, 48, 77  # OSTs; nothing tells Lustre that the last one is slow
SICK_SHARE = 0.1  # of the bandwidth that is left
SLOW_OSS = 2
SLOW_SHARE = 0.25


def mixed_setups(seed: int = SEED) -> tuple[SetUp, ...]:
    even = _osts()
    equal = [Request(16 * GIB, 8)] * 100
    filled = _osts(filled=_shares_filled(seed))
    capacities = _osts(sizes=_sizes_drawn(seed))
    sick = _osts(states=_SICK_STATES, shares=_SICK_SHARES)
    slow = _osts(shares=_SLOW_SHARES)
    return (
        _one("prefilled", "OSTs filled by 0 to 80 %, equal files", equal, filled),
        _one("sizes", "file sizes over four orders of magnitude", _sizes(seed), even),
        _one("capacities", "OSTs of 50, 100 and 200 GiB, equal files", equal, capacities),
        _one("counts", "stripe counts from 1 to 64", _counts(seed), even),
        _one("sick-ost", "a degraded OST, a read-only one, and one that is just slow", equal, sick),
        _one("slow-oss", "one OSS at a quarter of its speed", equal, slow),
        _jobs("two-jobs", "two jobs at once, of unlike files", _many(seed, 2), even),
        _jobs("eight-jobs", "eight jobs at once, of unlike files", _many(seed, 8), even),
        _everything(seed),
    )


@dataclass(slots=True)
class Draws:
    """SplitMix64: a few lines, and good enough for tables."""

    state: int

    def whole(self) -> int:
        """One of 0 … 2^64 − 1."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & _MASK
        return mixed ^ (mixed >> 31)

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self.whole() / 2**64

    def one_of(self, values: Sequence[int]) -> int:
        return values[self.whole() % len(values)]


_MASK = (1 << 64) - 1
_COUNTS = (1, 2, 4, 8, 16, 32, 64)
_SICK_STATES = {DEGRADED: "degraded", READ_ONLY: "read-only"}
_SICK_SHARES = {SICK: SICK_SHARE}
_SLOW_SHARES = {ost: SLOW_SHARE for ost in range(OST_COUNT) if ost // OSTS_PER_OSS == SLOW_OSS}


def _osts(
    states: dict[int, str] | None = None,
    shares: dict[int, float] | None = None,
    sizes: Sequence[int] = (),
    filled: Sequence[float] = (),
) -> Osts:
    """The machine: healthy, fast, equal and empty where nothing else is said."""
    rows = []
    for ost in range(OST_COUNT):
        size = sizes[ost] if sizes else OST_BYTES
        state = (states or {}).get(ost)
        rows.append(
            Ost(
                index=ost,
                size_bytes=size,
                available_bytes=size - int(size * filled[ost]) if filled else size,
                oss=f"OSS{ost // OSTS_PER_OSS + 1}",
                states=frozenset({state} if state else ()),
                bandwidth_bytes_per_s=OST_BYTES_PER_S * (shares or {}).get(ost, 1.0),
            )
        )
    return Osts.of(rows)


def _shares_filled(seed: int) -> list[float]:
    draws = Draws(seed)
    return [draws.between(0, FILLED_MOST) for _ in range(OST_COUNT)]


def _sizes_drawn(seed: int) -> list[int]:
    draws = Draws(seed + 1)
    return [draws.one_of(CAPACITIES_BYTES) for _ in range(OST_COUNT)]


def _sizes(seed: int, files: int = 150) -> list[Request]:
    """From 1 MiB to 10 GiB, as many in each power of ten."""
    draws = Draws(seed + 2)
    powers = [0.0, *(draws.between(0, 4) for _ in range(files - 2)), 4.0]
    return [Request(int(MIB * 10**power), 8) for power in powers]


def _counts(seed: int, files: int = 100) -> list[Request]:
    """Wide files hold more: a gigabyte a stripe, give or take a half."""
    draws = Draws(seed + 3)
    counts = [draws.one_of(_COUNTS) for _ in range(files)]
    return [Request(int(count * GIB * draws.between(0.5, 1.5)), count) for count in counts]


def _many(seed: int, jobs: int) -> dict[str, Sequence[Request]]:
    """Jobs of 16 to 64 equal files each; the jobs differ in count and size."""
    draws = Draws(seed + 4)
    made: dict[str, Sequence[Request]] = {}
    for job in range(jobs):
        files = draws.one_of((16, 32, 64))
        count = draws.one_of((2, 4, 8, 16))
        size = int(count * GIB * draws.between(0.1, 1.5))
        made[f"job{job + 1}"] = [Request(size, count)] * files
    return made


def _one(name: str, title: str, files: Sequence[Request], osts: Osts) -> SetUp:
    return _jobs(name, title, {"job1": files}, osts)


def _jobs(name: str, title: str, jobs: Mapping[str, Sequence[Request]], osts: Osts) -> SetUp:
    requests, owners = together(jobs)
    return SetUp(name, title, requests, osts, owners, racing=len(requests))


def _everything(seed: int) -> SetUp:
    osts = _osts(
        states=_SICK_STATES,
        shares=_SLOW_SHARES | _SICK_SHARES,
        sizes=_sizes_drawn(seed),
        filled=_shares_filled(seed),
    )
    draws = Draws(seed + 5)
    jobs = {f"job{number + 1}": _unlike(draws, 20) for number in range(8)}
    return _jobs("everything", "all of these at once, eight jobs", jobs, osts)


def _unlike(draws: Draws, files: int) -> list[Request]:
    """Stripes of 1 MiB to 1 GiB, 1 to 64 of them a file."""
    counts = [draws.one_of(_COUNTS) for _ in range(files)]
    return [Request(int(count * MIB * 10 ** draws.between(0, 3)), count) for count in counts]
