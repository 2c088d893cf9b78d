"""Records: what is to be written, and the OSTs that could take it, one object each.

They stand at the edges: the allocator itself works on columns (allocate/columns.py).
"""

from dataclasses import dataclass

# States in which an OST takes no new object at all.
CLOSED = frozenset({"read-only", "no-create", "full", "inactive", "unreachable"})
# States in which it would, but is left alone while others can do the work.
AVOIDED = frozenset({"degraded", "nearly-full"})
STATES = CLOSED | AVOIDED


@dataclass(frozen=True, slots=True)
class Request:
    """One file that will be written."""

    write_bytes: int
    stripe_count: int = 0  # 0: to be chosen
    writers: int = 1  # processes that write to it
    access_bytes: int = 0  # of a typical write; 0: unknown
    high_bytes: int = 0  # what it may grow to, where that is uncertain; 0: write_bytes
    overstripe: bool = False  # an OST may hold several of its stripes
    pool: str = ""
    name: str = ""  # decides between equal requests, so that their order does not


@dataclass(frozen=True, slots=True)
class Ost:
    """One storage target as it is now."""

    index: int
    size_bytes: int
    available_bytes: int
    oss: str = ""  # the server's name or number; empty: unknown, the OST counts as its own
    states: frozenset[str] = frozenset()  # of STATES
    bandwidth_bytes_per_s: float = 0.0  # what it can do; 0: as the policy says
    recent_bytes_per_s: float = 0.0  # what it has been doing of late
    promised_bytes: int = 0  # to jobs that have not written them yet
