"""The choice of OSTs, twice: csrc/loopfs/choose.h compiled and called, and the model in Python."""

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from cffi import FFI

from iez_common.allocate.columns import Osts
from iez_common.allocate.lustre_qos import Qos
from iez_common.allocate.lustre_rr import RoundRobin
from iez_common.allocate.lustre_view import View

SOURCES = Path(__file__).parent.parent.parent / "csrc" / "loopfs"
COMPILE = ("gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror")
STATES = {1: "degraded", 2: "read-only", 4: "no-create", 8: "full", 16: "inactive"}
DEGRADED, READ_ONLY, NO_CREATE, FULL, INACTIVE, DEAD = 1, 2, 4, 8, 16, 32
MIB, GIB = 1 << 20, 1 << 30
ROOM = 2000
ORDER = [0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9, 14]  # of three servers with five OSTs each
COUNTS = (1, 4, 7, 15, 2)


@dataclass(frozen=True, slots=True)
class Seen:
    """An OST as the MDS saw it."""

    index: int
    server: int = 0
    available_bytes: int = 10 * GIB
    states: int = 0
    size_bytes: int = 10 * GIB


def osts_of(
    servers: Sequence[int],
    available_bytes: Sequence[int] = (),
    states: Mapping[int, int] | None = None,
    indices: Sequence[int] = (),
) -> list[Seen]:
    """OSTs of 10 GiB; `states` maps positions to bits."""
    return [
        Seen(
            index=indices[i] if indices else i,
            server=server,
            available_bytes=available_bytes[i] if available_bytes else 10 * GIB,
            states=states.get(i, 0) if states else 0,
        )
        for i, server in enumerate(servers)
    ]


def units(*counts: int) -> list[int]:
    """That much space, in the units of 256 bytes that QOS counts in."""
    return [256 * count for count in counts]


THREE_BY_FIVE = osts_of([ost // 5 for ost in range(15)])


class Noted(Random):
    """Chance that notes how many numbers it had to draw from."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.bounds: list[int] = []

    def randrange(self, below: int) -> int:
        self.bounds.append(below)
        return super().randrange(below)


def compile_choose(target: Path, *options: str) -> Path:
    sources = [str(each) for each in sorted(SOURCES.glob("choose*.c"))]
    subprocess.run([*COMPILE, *options, *sources, "-o", str(target)], check=True)
    return target


@cache
def declarations() -> FFI:
    """The header itself, without its preprocessor lines."""
    ffi = FFI()
    lines = (SOURCES / "choose.h").read_text().splitlines()
    ffi.cdef("\n".join(line for line in lines if not line.startswith("#")))
    return ffi


class Mds:
    """The C code, with chance from Python."""

    def __init__(
        self, library: Path, osts: Sequence[Seen], draw: Callable[[int], int], pools: int = 0
    ) -> None:
        self.ffi = declarations()
        self.code = self.ffi.dlopen(str(library))
        # cffi wants the callback kept for as long as it may be called.
        self.draw = self.ffi.callback("iez_draw", lambda _source, below: draw(below))
        made = self.code.iez_mds_new(self._array(osts), len(osts), pools, self.draw, self.ffi.NULL)
        assert made
        self.mds = self.ffi.gc(made, self.code.iez_mds_free)

    def see(self, osts: Sequence[Seen]) -> None:
        self.code.iez_mds_see(self.mds, self._array(osts))

    def choose(
        self,
        stripe_count: int = 1,
        overstripe: bool = False,
        others: Sequence[int] = (),
        now_s: int = 0,
        start: int = -1,
        is_all: bool = False,
        pool_id: int = 0,
        pool: Sequence[int] = (),
        room: int = ROOM,
    ) -> list[int]:
        """OST indices; an OSError where the C code has an error."""
        other_array = self.ffi.new("uint16_t[]", list(others))
        pool_array = self.ffi.new("uint16_t[]", list(pool))
        wish = self.ffi.new("struct iez_mds_wish *")
        wish.stripe_count, wish.is_all, wish.overstripe = stripe_count, is_all, overstripe
        wish.start, wish.others, wish.other_count = start, other_array, len(others)
        wish.pool_id, wish.pool, wish.pool_count = pool_id, pool_array, len(pool)
        chosen = self.ffi.new("uint16_t[]", room)
        answer = self.code.iez_mds_choose(self.mds, wish, now_s, chosen, room)
        if answer < 0:
            raise OSError(-answer, os.strerror(-answer))
        return self.ffi.unpack(chosen, answer)

    def _array(self, osts: Sequence[Seen]) -> object:
        array = self.ffi.new("struct iez_mds_ost[]", len(osts))
        for item, ost in zip(array, osts, strict=True):
            item.index, item.server, item.states = ost.index, ost.server, ost.states
            item.size_bytes, item.available_bytes = ost.size_bytes, ost.available_bytes
        return array


def mds_of(
    library: Path, osts: Sequence[Seen], draws: list[int] | None = None, pools: int = 0
) -> Mds:
    """An MDS with draws that are written down, or from a seed."""
    given = Random(1).randrange if draws is None else lambda _: draws.pop(0)
    return Mds(library, osts, given, pools)


class Model:
    """The Python model, put together as the MDS does it: QOS, then round robin."""

    def __init__(self, osts: Sequence[Seen], draw: Random) -> None:
        self.index = [ost.index for ost in osts]
        self.view = view_of(osts)
        self.robin = RoundRobin(self.view, draw)
        self.qos = Qos(self.view, draw)

    def see(self, osts: Sequence[Seen]) -> None:
        self.view = self.robin.view = view_of(osts)
        self.qos.see(self.view)

    def choose(
        self,
        stripe_count: int,
        overstripe: bool = False,
        others: Sequence[int] = (),
        now_s: int = 0,
    ) -> list[int]:
        """OST indices; none where the MDS has ENOSPC."""
        wanted, least = self.view.counts(stripe_count, overstripe)
        positions = self.qos.allocate(wanted, least, now_s)
        if not positions:
            held = {self.index.index(other) for other in others}
            positions = self.robin.allocate(stripe_count, overstripe, held)
        return [self.index[position] for position in positions]


def view_of(osts: Sequence[Seen]) -> View:
    return View.of(
        Osts.make(
            [ost.size_bytes for ost in osts],
            [ost.available_bytes for ost in osts],
            oss=[ost.server for ost in osts],
            states=[[name for bit, name in STATES.items() if ost.states & bit] for ost in osts],
        )
    )
