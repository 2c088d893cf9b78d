"""Mock state: the storage system that mock mode pretends to have (docs/mock.md)."""

import errno
from dataclasses import dataclass, replace
from pathlib import Path

from iez_common import tomlfile
from iez_common.errors import MockStateError

STATE_FILE = "iez-mock.toml"
STATES = ("degraded", "read-only", "no-create", "full", "inactive")
INJECTIONS = (
    "EINVAL", "ENOSPC", "EROFS", "ENOBUFS", "EREMOTEIO", "EEXIST", "EACCES", "ENOTTY", "EIO",
    "EOPNOTSUPP", "ENOSYS",
)  # fmt: skip
SILENT = "silent"  # the answer "0 but no layout"

_OST_KEYS = {"index", "oss", "size", "used", "state"}
_TOP_KEYS = {"osts", "oss_count", "ost_size", "ost_used", "state", "inject", "ost"}
_DEFAULT_INDICES = tuple(range(15))
_DEFAULT_OSS_COUNT = 3
_DEFAULT_SIZE_BYTES = 10 << 30
_INDEX_MAX = 65534


@dataclass(frozen=True, slots=True)
class MockOst:
    """One storage target of the mock."""

    index: int
    oss: int
    size_bytes: int
    used_bytes: int
    states: frozenset[str]

    @property
    def available_bytes(self) -> int:
        return max(0, self.size_bytes - self.used_bytes)


@dataclass(frozen=True, slots=True)
class MockState:
    """The whole of it."""

    osts: tuple[MockOst, ...]
    inject: str = ""  # a name of INJECTIONS, or SILENT

    @property
    def inject_errno(self) -> int:
        """The number of the forced error; 0 for none and for SILENT."""
        return int(getattr(errno, self.inject)) if self.inject in INJECTIONS else 0


def default_state() -> MockState:
    """15 OSTs of 10 GiB on 3 OSSs, all well."""
    return MockState(
        tuple(
            MockOst(index, index // 5, _DEFAULT_SIZE_BYTES, 0, frozenset())
            for index in _DEFAULT_INDICES
        )
    )


def state_of(directory: Path, state_file: Path | None = None) -> MockState:
    """The state of the mock below `directory`: its file, or the default where there is none."""
    if state_file is not None:
        return read_state(state_file)
    path = directory / STATE_FILE
    return read_state(path) if path.exists() else default_state()


def read_state(path: Path) -> MockState:
    """Reads a mock state file."""
    table = tomlfile.read(path, MockStateError)
    table.allow(_TOP_KEYS)
    indices = table.indices("osts", _DEFAULT_INDICES)
    oss_count = table.integer("oss_count", min(_DEFAULT_OSS_COUNT, len(indices)), 1, len(indices))
    every = MockOst(
        index=0,
        oss=0,
        size_bytes=table.size_bytes("ost_size", _DEFAULT_SIZE_BYTES),
        used_bytes=table.size_bytes("ost_used", 0),
        states=_states(table),
    )
    osts = {
        index: replace(every, index=index, oss=place * oss_count // len(indices))
        for place, index in enumerate(indices)
    }
    own_tables: set[int] = set()
    for own in table.tables("ost"):
        ost = _read_ost(own, osts, every)
        if ost.index in own_tables:
            raise own.trouble("index", f"OST {ost.index} has two [[ost]] tables", "join them")
        own_tables.add(ost.index)
        osts[ost.index] = ost
    found = MockState(
        tuple(_full_if_no_space(osts[index]) for index in sorted(osts)), _injection(table)
    )
    for ost in found.osts:
        if ost.used_bytes > ost.size_bytes:
            raise MockStateError(
                f"{path}: OST {ost.index} uses {ost.used_bytes} of {ost.size_bytes} bytes",
                "make its size larger or what is used smaller",
            )
    return found


def _read_ost(table: tomlfile.Table, osts: dict[int, MockOst], every: MockOst) -> MockOst:
    """One [[ost]] table: what it says about an OST of the set, or one more OST."""
    table.allow(_OST_KEYS)
    if "index" not in table.values:
        line_key = next(iter(table.values), "ost")
        raise table.trouble(line_key, "this [[ost]] has no index", "index = 7")
    index = table.integer("index", 0, 0, _INDEX_MAX)
    before = osts.get(index, replace(every, index=index, oss=0))
    return replace(
        before,
        oss=table.integer("oss", before.oss, 0, 65535),
        size_bytes=table.size_bytes("size", before.size_bytes),
        used_bytes=table.size_bytes("used", before.used_bytes),
        states=_states(table) if "state" in table.values else before.states,
    )


def _states(table: tomlfile.Table) -> frozenset[str]:
    names = table.strings("state")
    for name in names:
        if name not in STATES:
            raise table.trouble("state", f"{name!r} is not a state", f"one of: {', '.join(STATES)}")
    return frozenset(names)


def _injection(table: tomlfile.Table) -> str:
    name = table.string("inject")
    if name and name != SILENT and name not in INJECTIONS:
        known = ", ".join((SILENT, *INJECTIONS))
        raise table.trouble("inject", f"{name!r} cannot be injected", f"one of: {known}")
    return name


def _full_if_no_space(ost: MockOst) -> MockOst:
    """An OST without space is full whether or not its state says so, as the MDS sees it: below
    0.1 % of its size, at least 1 MiB (docs/lustre-interface.md)."""
    low_bytes = max(1 << 20, ost.size_bytes >> 10)
    if ost.available_bytes >= low_bytes:
        return ost
    return replace(ost, states=ost.states | {"full"})
