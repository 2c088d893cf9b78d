"""Allocation: where each file goes, as arrays, and as a record of one file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from iez_common.allocate.certificate import Certificate
from iez_common.allocate.columns import Flags, Ints, Osts
from iez_common.allocate.policy import LIST, RUNGS
from iez_common.allocate.problem import Positions


@dataclass(frozen=True, slots=True)
class Part:
    """One component of a composite layout, from the end of the one before."""

    end_bytes: int | None  # None: to the end of the file
    stripe_size_bytes: int
    osts: tuple[int, ...]  # indices


@dataclass(frozen=True, slots=True)
class Placement:
    """What is decided about one file."""

    rung: str  # of RUNGS: how much is decided at all
    stripe_count: int
    stripe_size_bytes: int
    osts: tuple[int, ...] = ()  # indices; empty: Lustre chooses them
    parts: tuple[Part, ...] = ()  # empty: a plain layout
    overstripe: bool = False
    pool: str = ""


@dataclass(frozen=True, slots=True)
class Allocation:
    """The OSTs of all files. A file's positions begin at its `starts` and are as many as its
    `list_count`; 0 for files that are not pinned or have parts."""

    strategy: str
    osts: Osts = field(repr=False)
    positions: Positions = field(repr=False)
    starts: Ints = field(repr=False)
    list_count: Ints = field(repr=False)
    stripe_count: Ints = field(repr=False)
    stripe_size_bytes: Ints = field(repr=False)
    rung: Ints = field(repr=False)  # index into RUNGS
    overstripe: Flags = field(repr=False)
    pools: tuple[str, ...] = field(repr=False)  # of each file; empty: none has one
    parts: Mapping[int, tuple[Part, ...]] = field(repr=False)  # of files with composite layouts
    splits: tuple[int, ...]  # files that have parts for the sake of balance
    load_bytes: Ints = field(repr=False)  # new bytes of each OST
    certificate: Certificate

    def __len__(self) -> int:
        return len(self.rung)

    @property
    def ost_indices(self) -> Ints:
        """Of all lists but those of split files, in no particular order."""
        indices: Ints = self.osts.index[self.positions]
        return indices

    def placement(self, request: int) -> Placement:
        parts = self.parts.get(request, ())
        start, count = int(self.starts[request]), int(self.list_count[request])
        chosen = self.osts.index[self.positions[start : start + count]]
        is_pinned = self.rung[request] == LIST and not parts
        return Placement(
            rung=RUNGS[self.rung[request]],
            stripe_count=int(self.stripe_count[request]),
            stripe_size_bytes=int(self.stripe_size_bytes[request]),
            osts=tuple(chosen.tolist()) if is_pinned else (),
            parts=parts,
            overstripe=bool(self.overstripe[request]),
            pool=self.pools[request] if self.pools else "",
        )

    def __iter__(self) -> Iterator[Placement]:
        return (self.placement(request) for request in range(len(self)))
