"""Speed: which OSTs are slower than the others, by what this client saw of its own writes.

How many write RPCs were under way, times their size, over the time that each took, is what an OST
gets done while it is busy, whatever its queue (Little's law). Lustre counts all three.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_RPCS_MIN = 16  # fewer say nothing
_USECS_MIN = 1000  # what takes less time, on average, tells more of this client than of the OST
_OSTS_MIN = 3  # of fewer nobody can say which is the slow one
_SLOW = 0.75  # an OST above this share of the median is as fast as the others
_AVERAGES = re.compile(
    r"^\s*write_data_averages:\s+bytes_per_rpc:\s*(\d+)\s+usecs_per_rpc:\s*(\d+)", re.MULTILINE
)
_FLIGHT = re.compile(r"^rpcs in flight\b.*\n((?:\s*\d+:.*\n?)*)", re.MULTILINE)
_ROW = re.compile(r"^\s*(\d+):\s+\d+\s+\d+\s+\d+\s*\|\s*(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Rpcs:
    """Write RPCs since some time, added up."""

    count: int = 0
    bytes: int = 0
    usecs: int = 0
    in_flight: int = 0  # how many were under way as each went out

    def since(self, before: "Rpcs") -> "Rpcs":
        """All of them if counting began anew meanwhile."""
        if self.count < before.count:
            return self
        return Rpcs(
            self.count - before.count,
            self.bytes - before.bytes,
            self.usecs - before.usecs,
            self.in_flight - before.in_flight,
        )

    @property
    def bytes_per_s(self) -> float:
        """While at least one was under way; 0: not known."""
        if self.count < _RPCS_MIN or min(self.bytes, self.in_flight) <= 0:
            return 0.0
        if self.usecs < _USECS_MIN * self.count:
            return 0.0
        return self.in_flight / self.count * self.bytes / self.usecs * 1e6


NO_RPCS = Rpcs()


def rpcs_of(import_text: str, rpc_stats_text: str) -> Rpcs:
    """What the files `import` and `rpc_stats` of a device say; nothing where one of them does
    not."""
    averages = _AVERAGES.search(import_text)
    block = _FLIGHT.search(rpc_stats_text)
    if not averages or not block:
        return NO_RPCS
    rows = [(int(under_way), int(count)) for under_way, count in _ROW.findall(block[1])]
    count = sum(row[1] for row in rows)
    return Rpcs(
        count,
        count * int(averages[1]),
        count * int(averages[2]),
        sum(under_way * count for under_way, count in rows),
    )


def with_slow_ones(bytes_per_s: Sequence[float], servers: Sequence[str]) -> list[float]:
    """The speeds to place by, of measured ones (0: not known): those that are slow keep theirs, all
    others count as equally fast. All 0 where none is slow. An OST that is not known is as slow as
    the others of its server."""
    known = [speed for speed in bytes_per_s if speed > 0]
    if len(known) < _OSTS_MIN:
        return [0.0] * len(bytes_per_s)
    usual = _median(known)
    of_server: dict[str, list[float]] = {}
    for speed, server in zip(bytes_per_s, servers, strict=True):
        if speed > 0 and server:
            of_server.setdefault(server, []).append(speed)
    guessed = {server: _median(speeds) for server, speeds in of_server.items()}
    told = (
        speed or guessed.get(server, usual)
        for speed, server in zip(bytes_per_s, servers, strict=True)
    )
    found = [speed if speed < _SLOW * usual else usual for speed in told]
    return found if min(found) < usual else [0.0] * len(bytes_per_s)


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]
