"""Names: renames and removals in, the final name of each row out.

A process knows only its own renames, so the rows of a file may carry different names: the rank
that wrote `x.tmp` and the one that renamed it to `x` must come together. Only rows that have to do
with a rename or a removal are looked at one by one.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iez_client.parse.merge import Merge
from iez_common._core import ffi, lib
from iez_common.errors import IezError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from iez_client.parse.columns import Rows

RENAMED: int = lib.IEZ_FILE_RENAMED
UNLINKED: int = lib.IEZ_FILE_UNLINKED
FOUND: int = lib.IEZ_FILE_FOUND
_STEPS_MAX = 100  # renames of one file that are followed


@dataclass(frozen=True, slots=True)
class Rename:
    """A rename of a file, or of a directory, by one process."""

    at_ns: int
    row: int
    old: bytes
    new: bytes
    is_folder: bool

    def apply(self, name: bytes) -> bytes:
        return self.new + name[len(self.old) :]


@dataclass(frozen=True, slots=True)
class Names:
    """Which rows are files of the run, and what they are called."""

    rows: "NDArray[np.intp]"  # the rows that are files, each file once
    final: dict[int, bytes] = field(default_factory=dict)  # where it is not the row's path
    earlier: dict[int, tuple[bytes, ...]] = field(default_factory=dict)
    unlinked: frozenset[int] = frozenset()
    moved: dict[int, bytes] = field(default_factory=dict)  # rows that another process renamed
    renames: "Renames | None" = None


class Renames:
    """All renames of a run, by old name and time."""

    def __init__(self, renames: list[Rename]) -> None:
        self._by_name: dict[bytes, list[Rename]] = {}
        self.folders = [rename.row for rename in renames if rename.is_folder]
        for rename in sorted(renames, key=lambda each: (each.at_ns, each.row)):
            self._by_name.setdefault(rename.old, []).append(rename)

    def names(self) -> list[bytes]:
        return list(self._by_name)

    def latest(self, name: bytes, since_ns: int) -> Rename | None:
        """The last rename of a name; None if that was before `since_ns`. Where the file and a
        directory above it were both renamed, the one that came first: it led to another name."""
        last = [each[-1] for each in self._candidates(name) if each[-1].at_ns >= since_ns]
        return min(last, key=lambda each: each.at_ns, default=None)

    def follow(self, start: Rename, name: bytes) -> list[bytes]:
        """The names that a file has after `start`, which gave it `name`, the final one last."""
        found, used, now = [name], {start.row}, start.at_ns
        for _ in range(_STEPS_MAX):
            step = self._earliest(found[-1], now, used)
            if step is None:
                break
            found.append(step.apply(found[-1]))
            used.add(step.row)
            now = step.at_ns
        return found

    def _earliest(self, name: bytes, since_ns: int, used: set[int]) -> Rename | None:
        first = []
        for renames in self._candidates(name):
            at = bisect_left(renames, since_ns, key=lambda each: each.at_ns)
            while at < len(renames) and renames[at].row in used:
                at += 1
            first += renames[at : at + 1]
        return min(first, key=lambda each: each.at_ns, default=None)

    def _candidates(self, name: bytes) -> list[list[Rename]]:
        """Renames of the name itself, and of directories above it."""
        found = [self._by_name[name]] if name in self._by_name else []
        end = name.rfind(b"/") if self.folders else 0
        while end > 0:
            above = self._by_name.get(name[:end])
            if above and above[0].is_folder:
                found.append(above)
            end = name.rfind(b"/", 0, end)
        return found


def is_bare(rows: "Rows") -> "NDArray[np.bool_]":
    """Rows without an open or any I/O: the process renamed or removed something, or tried to create
    it in vain, no more."""
    touched = rows["opens"] | rows["creates"] | rows["writes"] | rows["reads"] | rows["read_bytes"]
    touched = touched | rows["comm_size"]
    touched = touched | rows["layer_bytes"].any(axis=1) | (rows["flags"] & FOUND)
    bare: NDArray[np.bool_] = touched == 0
    return bare


def resolve(merge: Merge) -> Names:
    """Brings the rows of each file together; the table's rows are joined."""
    import numpy as np

    rows = merge.rows
    ended = np.flatnonzero(rows["flags"] & (RENAMED | UNLINKED))
    if not len(ended):
        return Names(np.arange(len(rows)))
    bare = set(ended[is_bare(rows[ended])].tolist())
    renames = _renames(merge, ended.tolist(), bare)
    names = _Grouping(merge, renames, bare)
    for row in ended.tolist():
        names.add_ended(row)
    for row in sorted(_open_rows_of(merge, renames)):
        names.add_open(row)
    return names.join()


def _renames(merge: Merge, ended: list[int], bare: set[int]) -> "Renames":
    """Those of `ended` rows. A bare one of a name that no other row has may be a directory's."""
    known = {merge.path(row) for row in ended if row not in bare}
    renames = []
    for row in ended:
        own = merge.core.rows[row]
        if not own.flags & RENAMED or not own.name_bytes:
            continue
        old = merge.path(row)
        is_folder = row in bare and old not in known and merge.find(old) is None
        new = merge.text(own.name_at, own.name_bytes)
        renames.append(Rename(int(own.ended_ns), row, old, new, is_folder))
    return Renames(renames)


def _open_rows_of(merge: Merge, renames: Renames) -> set[int]:
    """Rows that are not ended, of a name that was renamed or lies below one."""
    found = {row for name in renames.names() if (row := merge.find(name)) is not None}
    folders = renames.folders
    if folders:
        below = ffi.new("uint8_t[]", merge.row_count)
        if lib.iez_merge_below(merge.core, folders, len(folders), below) != 0:
            raise IezError("there is not enough memory for the table of files")
        for row, is_below in enumerate(ffi.unpack(below, merge.row_count)):
            if is_below and not merge.core.rows[row].flags & (RENAMED | UNLINKED):
                found.add(row)
    return found


class _Grouping:
    """Rows by their final name."""

    def __init__(self, merge: Merge, renames: Renames, bare: set[int]) -> None:
        self._merge = merge
        self._renames = renames
        self._bare = bare
        self._groups: dict[bytes, list[int]] = {}
        # The ways by which rows came to their final name; ordered sets.
        self._ways: dict[bytes, dict[tuple[bytes, ...], None]] = {}
        self._moved: dict[int, bytes] = {}

    def add_ended(self, row: int) -> None:
        own = self._merge.core.rows[row]
        path = self._merge.path(row)
        renamed = own.flags & RENAMED and own.name_bytes
        name = self._merge.text(own.name_at, own.name_bytes) if renamed else path
        self._add(row, path, Rename(int(own.ended_ns), row, path, name, False), name)

    def add_open(self, row: int) -> None:
        own = self._merge.core.rows[row]
        path = self._merge.path(row)
        rename = self._renames.latest(path, int(own.last_write_ns or own.opened_ns))
        if rename is not None:
            self._moved[row] = self._add(row, path, rename, rename.apply(path))

    def _add(self, row: int, path: bytes, rename: Rename, name: bytes) -> bytes:
        is_gone = self._merge.core.rows[row].flags & UNLINKED
        names = [name] if is_gone else self._renames.follow(rename, name)
        self._groups.setdefault(names[-1], []).append(row)
        others = tuple(each for each in (path, *names[:-1]) if each != names[-1])
        self._ways.setdefault(names[-1], {})[others] = None
        return names[-1]

    def _earlier(self, name: bytes) -> tuple[bytes, ...]:
        """All earlier names. Who joined a file later has seen the end of its way only."""
        ways = sorted(self._ways[name], key=len, reverse=True)
        return tuple(dict.fromkeys(each for way in ways for each in way))

    def join(self) -> Names:
        import numpy as np

        keep = np.ones(self._merge.row_count, dtype=bool)
        final, earlier, unlinked = {}, {}, set()
        for name, members in self._groups.items():
            at_name = self._merge.find(name)
            if at_name is not None and at_name not in self._moved:
                members.append(at_name)
            # The removal or rename of something that is no file of the run.
            if all(row in self._bare for row in members):
                keep[members] = False
                continue
            # A row with I/O leads: joining a bare one to it changes nothing but its times.
            lead = next(row for row in members if row not in self._bare)
            if self._is_unlinked(members):
                unlinked.add(lead)
            for row in members:
                if row != lead:
                    lib.iez_merge_join(self._merge.core, lead, row)
                    keep[row] = False
            final[lead] = name
            if before := self._earlier(name):
                earlier[lead] = before
        self._merge.check()
        gone, rows = frozenset(unlinked), np.flatnonzero(keep)
        return Names(rows, final, earlier, gone, self._moved, self._renames)

    def _is_unlinked(self, members: list[int]) -> bool:
        """Whether its removal was the last that happened to any file of the name."""
        removed_ns = seen_ns = -1
        for row in members:
            own = self._merge.core.rows[row]
            if own.flags & UNLINKED:
                removed_ns = max(removed_ns, int(own.ended_ns))
            elif own.flags & RENAMED:
                seen_ns = max(seen_ns, int(own.ended_ns))
            else:
                seen_ns = max(seen_ns, int(own.last_write_ns), int(own.reopened_ns))
        return removed_ns >= seen_ns
