"""Columns: requests and OSTs as arrays, checked on the way in."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from iez_common.errors import AllocationError
from iez_common.records import AVOIDED, CLOSED, STATES, Ost, Request

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
BYTES_MAX = 1 << 61  # of all requests or OSTs together: sums stay within 64 bits
STRIPE_COUNT_MAX = 2000


@dataclass(frozen=True, slots=True)
class Requests:
    """Files to be written, a column each. `make` fills in what is not given."""

    write_bytes: Ints
    stripe_count: Ints  # 0: to be chosen
    writers: Ints
    access_bytes: Ints
    high_bytes: Ints
    overstripe: Flags
    pool: Ints  # index into pool_names; 0: no pool
    pool_names: tuple[str, ...] = ("",)
    names: tuple[str, ...] = field(default=(), repr=False)  # empty: the order given decides ties

    def __len__(self) -> int:
        return len(self.write_bytes)

    def take(self, rows: Ints) -> "Requests":
        """Some of them."""
        return Requests(
            write_bytes=self.write_bytes[rows],
            stripe_count=self.stripe_count[rows],
            writers=self.writers[rows],
            access_bytes=self.access_bytes[rows],
            high_bytes=self.high_bytes[rows],
            overstripe=self.overstripe[rows],
            pool=self.pool[rows],
            pool_names=self.pool_names,
            names=tuple(self.names[row] for row in rows) if self.names else (),
        )

    @classmethod
    def make(
        cls,
        write_bytes: ArrayLike,
        stripe_count: ArrayLike = 0,
        writers: ArrayLike = 1,
        access_bytes: ArrayLike = 0,
        high_bytes: ArrayLike = 0,
        overstripe: ArrayLike = False,
        pool: Sequence[str] = (),
        names: Sequence[str] = (),
    ) -> "Requests":
        """From arrays, or numbers that hold for all."""
        size = _column("write_bytes", write_bytes, None, 0)
        rows = len(size)
        high = _column("high_bytes", high_bytes, rows, 0)
        count = _column("stripe_count", stripe_count, rows, 0)
        if rows and int(count.max()) > STRIPE_COUNT_MAX:
            raise _beyond("stripe_count", int(count.argmax()), int(count.max()), STRIPE_COUNT_MAX)
        pool_names = ("", *sorted(set(pool) - {""}))
        codes = {name: code for code, name in enumerate(pool_names)}
        if len(pool) not in (0, rows) or len(names) not in (0, rows):
            raise AllocationError(f"pool or names is not one for each of {rows} requests")
        _check_total("write_bytes", size)
        return cls(
            write_bytes=size,
            stripe_count=count,
            writers=_column("writers", writers, rows, 1),
            access_bytes=_column("access_bytes", access_bytes, rows, 0),
            high_bytes=np.maximum(high, size),
            overstripe=_flags("overstripe", overstripe, rows),
            pool=np.array([codes[name] for name in pool], np.int64)
            if pool
            else np.zeros(rows, np.int64),
            pool_names=pool_names,
            names=tuple(names),
        )

    @classmethod
    def of(cls, records: Iterable[Request]) -> "Requests":
        rows = list(records)
        return cls.make(
            [row.write_bytes for row in rows],
            [row.stripe_count for row in rows],
            [row.writers for row in rows],
            [row.access_bytes for row in rows],
            [row.high_bytes for row in rows],
            [row.overstripe for row in rows],
            [row.pool for row in rows],
            [row.name for row in rows] if any(row.name for row in rows) else (),
        )


@dataclass(frozen=True, slots=True)
class Osts:
    """OSTs in the order of their indices, a column each."""

    index: Ints
    size_bytes: Ints
    available_bytes: Ints
    oss: Ints  # number of the server, 0 … in the order in which they first appear
    bandwidth_bytes_per_s: Floats
    recent_bytes_per_s: Floats
    promised_bytes: Ints
    states: tuple[frozenset[str], ...]
    closed: Flags  # by its states: takes no new object
    avoided: Flags  # would, but is not well
    in_turns: Ints  # positions, servers in turn
    oss_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.index)

    @property
    def used_bytes(self) -> Ints:
        return self.size_bytes - self.available_bytes

    @classmethod
    def make(
        cls,
        size_bytes: ArrayLike,
        available_bytes: ArrayLike,
        index: ArrayLike | None = None,
        oss: Sequence[object] = (),
        states: Sequence[Iterable[str]] = (),
        bandwidth_bytes_per_s: ArrayLike = 0.0,
        recent_bytes_per_s: ArrayLike = 0.0,
        promised_bytes: ArrayLike = 0,
    ) -> "Osts":
        """From arrays, or numbers that hold for all (but for the sizes)."""
        size = _column("size_bytes", size_bytes, None, 0)
        rows = len(size)
        numbers = _column("index", np.arange(rows) if index is None else index, rows, 0)
        available = _column("available_bytes", available_bytes, rows, 0)
        promised = _column("promised_bytes", promised_bytes, rows, 0)
        for name, column in (("size_bytes", size), ("promised_bytes", promised)):
            _check_total(name, column)
        if len(np.unique(numbers)) < rows:
            raise AllocationError("an OST is there twice", "give each index once")
        if (available > size).any():
            worst = int(numbers[(available > size).argmax()])
            raise AllocationError(f"OST {worst} has more available than its size")
        if len(oss) not in (0, rows) or len(states) not in (0, rows):
            raise AllocationError(f"oss or states is not one for each of {rows} OSTs")
        order = np.argsort(numbers)
        servers = [str(oss[i]) if oss else "" for i in order]
        # An OST whose server is not known counts as a server of its own.
        named = [name or f"OST{numbers[i]:04x}" for name, i in zip(servers, order, strict=True)]
        oss_names = tuple(dict.fromkeys(named))
        codes = {name: code for code, name in enumerate(oss_names)}
        kept = [frozenset(states[i]) if states else frozenset() for i in order]
        for each in kept:
            if each - STATES:
                raise AllocationError(
                    f"{min(each - STATES)!r} is not a state of an OST",
                    f"one of: {', '.join(sorted(STATES))}",
                )
        rates = [
            _rates(name, values, rows, least)[order]
            for name, values, least in (
                ("bandwidth_bytes_per_s", bandwidth_bytes_per_s, 1.0),
                ("recent_bytes_per_s", recent_bytes_per_s, 0.0),
            )
        ]
        oss_codes = np.array([codes[name] for name in named], np.int64)
        return cls(
            index=numbers[order],
            size_bytes=size[order],
            available_bytes=available[order],
            oss=oss_codes,
            bandwidth_bytes_per_s=rates[0],
            recent_bytes_per_s=rates[1],
            promised_bytes=promised[order],
            states=tuple(kept),
            closed=np.array([bool(each & CLOSED) for each in kept], np.bool_),
            avoided=np.array([bool(each & AVOIDED) for each in kept], np.bool_),
            in_turns=_in_turns(oss_codes),
            oss_names=oss_names,
        )

    @classmethod
    def of(cls, records: Iterable[Ost]) -> "Osts":
        rows = list(records)
        return cls.make(
            [row.size_bytes for row in rows],
            [row.available_bytes for row in rows],
            [row.index for row in rows],
            [row.oss for row in rows],
            [row.states for row in rows],
            [row.bandwidth_bytes_per_s for row in rows],
            [row.recent_bytes_per_s for row in rows],
            [row.promised_bytes for row in rows],
        )


def _in_turns(servers: Ints) -> Ints:
    """Positions of OSTs so that neighbours are on different servers: the OSTs of each server are
    spread over the list evenly, however many it has."""
    owned = np.bincount(servers)
    turn = np.empty(len(servers), np.int64)
    by_server = np.argsort(servers, kind="stable")
    turn[by_server] = np.arange(len(servers)) - np.repeat(np.cumsum(owned) - owned, owned)
    return np.lexsort((servers, (2 * turn + 1) / owned[servers]))


def _column(name: str, values: ArrayLike, rows: int | None, low: int) -> Ints:
    """Whole numbers of at least `low`, one a row; one number alone holds for all rows."""
    try:
        given = np.asarray(values)
    except ValueError:
        raise AllocationError(f"{name} has rows of different lengths") from None
    if given.size == 0 and given.ndim == 1:
        given = given.astype(np.int64)
    if given.dtype.kind == "f":
        if not np.isfinite(given).all():
            raise AllocationError(f"{name}: {_first(~np.isfinite(given), given)} is not a number")
        if (given != np.floor(given)).any() or (np.abs(given) > BYTES_MAX).any():
            raise AllocationError(f"{name} holds something else than whole numbers")
    elif given.dtype.kind not in "iu":
        raise AllocationError(f"{name} holds something else than numbers")
    _check_length(name, given, rows)
    if given.dtype.kind == "u" and given.size and int(given.max()) > BYTES_MAX:
        raise _beyond(name, int(given.argmax()), int(given.max()), BYTES_MAX)
    column = given.astype(np.int64)
    if column.ndim == 0:
        column = np.full(1 if rows is None else rows, column, np.int64)
    if column.size:
        least, most = int(column.min()), int(column.max())
        if least < low:
            raise AllocationError(f"{name}: {least} (number {column.argmin()}) is below {low}")
        if most > BYTES_MAX:
            raise _beyond(name, int(column.argmax()), most, BYTES_MAX)
    return np.ascontiguousarray(column)


def _flags(name: str, values: ArrayLike, rows: int) -> Flags:
    given = np.asarray(values, np.bool_)
    _check_length(name, given, rows)
    return np.array(np.broadcast_to(given, rows))


def _rates(name: str, values: ArrayLike, rows: int, least: float) -> Floats:
    """Numbers that are 0 or from `least` on: what is divided by them stays finite."""
    try:
        given = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise AllocationError(f"{name} holds something else than numbers") from None
    _check_length(name, given, rows)
    wrong = ~np.isfinite(given) | (given > BYTES_MAX) | ((given < least) & (given != 0))
    if wrong.any():
        raise AllocationError(f"{name}: {_first(wrong, given)} is not a rate")
    return np.array(np.broadcast_to(given, rows), np.float64)


def _check_length(name: str, given: NDArray[Any], rows: int | None) -> None:
    """One number for all rows, or one a row."""
    if given.ndim > 1 or (rows is not None and given.ndim == 1 and len(given) != rows):
        raise AllocationError(f"{name} has another length than the other columns")


def _first(flags: ArrayLike, values: ArrayLike) -> object:
    return np.atleast_1d(np.asarray(values))[np.atleast_1d(np.asarray(flags)).argmax()]


def _check_total(name: str, column: Ints) -> None:
    if float(column.sum(dtype=np.float64)) > BYTES_MAX:
        raise AllocationError(f"{name}: the sum is above {BYTES_MAX} bytes")


def _beyond(name: str, row: int, value: int, most: int) -> AllocationError:
    return AllocationError(f"{name}: {value} (number {row}) is above {most}")
