"""Place: the traces of a job in, one line about what was placed out."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iez_common._core import ffi, lib

# What each outcome means to a user, for N files. Order: as in the line.
PHRASES: dict[str, str] = {
    "IEZ_PLACED": "placed",
    "IEZ_SHARED": "placed by another process",
    "IEZ_MISSED": "not in the plan",
    "IEZ_EXISTED": "there already",
    "IEZ_DIFFERS": "with another layout than planned",
    "IEZ_SILENT": "ignored by the MDS (this site does not let users set layouts)",
    "IEZ_READONLY_MODE": "created without read and write permission (the MDS would refuse)",
    "IEZ_SYMLINK": "created through a symbolic link",
    "IEZ_UNSUPPORTED": "created by a call that cannot carry a layout",
    "IEZ_BUSY": "created while no scratch memory was free",
    "IEZ_UNKNOWN_OST": "planned on an OST that does not exist",
    "IEZ_REFUSED_EINVAL": "refused as not valid (EINVAL)",
    "IEZ_REFUSED_ENOSPC": "OST full (ENOSPC)",
    "IEZ_REFUSED_EROFS": "OST read-only (EROFS)",
    "IEZ_REFUSED_ENOBUFS": "OST closed for new files (ENOBUFS)",
    "IEZ_REFUSED_EREMOTEIO": "OST inactive (EREMOTEIO)",
    "IEZ_REFUSED_EEXIST": "laid out by someone else first (EEXIST)",
    "IEZ_REFUSED_EACCES": "refused for lack of permission (EACCES)",
    "IEZ_REFUSED_ENOTTY": "not on Lustre after all (ENOTTY)",
    "IEZ_REFUSED_OTHER": "refused by another error",
}
_NUMBER_OF: dict[str, int] = {
    name: int(number) for number, name in ffi.typeof("enum iez_outcome").elements.items()
}
_NOT_FAILURES = ("IEZ_PLACED", "IEZ_SHARED")
_HEADER_BYTES: int = ffi.sizeof("struct iez_trace_header")


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What all processes of a job did."""

    counts: tuple[int, ...]  # by enum iez_outcome
    process_count: int
    damaged: tuple[str, ...] = ()  # names of trace files that could not be read

    def __getitem__(self, name: str) -> int:
        return self.counts[_NUMBER_OF[name]]


def read_outcomes(directory: Path, run: int | None = None) -> Outcomes:
    """Sums over the traces in `directory`, of all runs or of one."""
    return sum_outcomes(sorted(directory.glob("*.trace")), run)


def sum_outcomes(files: Iterable[Path], run: int | None = None) -> Outcomes:
    counts = [0] * lib.IEZ_OUTCOMES
    damaged = []
    process_count = 0
    for path in files:
        header = _header(path)
        if header is None:
            damaged.append(path.name)
            continue
        if run is not None and header.run != run:
            continue
        own = [int(header.outcomes[number]) for number in range(lib.IEZ_OUTCOMES)]
        process_count += 1
        for number, count in enumerate(own):
            counts[number] += count
    return Outcomes(tuple(counts), process_count, tuple(damaged))


def _header(path: Path) -> Any:
    """The header of a trace file; None if it is not one."""
    try:
        with path.open("rb") as file:
            data = file.read(_HEADER_BYTES)
    except OSError:
        return None
    if len(data) < _HEADER_BYTES:
        return None
    header = ffi.from_buffer("struct iez_trace_header *", data)
    known = header.magic == lib.IEZ_TRACE_MAGIC and header.version == lib.IEZ_TRACE_VERSION
    return header if known and header.header_bytes >= _HEADER_BYTES else None


def summary(outcomes: Outcomes, missed: str = "") -> str:
    """What was placed and what was not; empty if there is nothing to say. `missed` tells more about
    the files that are not in the plan."""
    placed = outcomes["IEZ_PLACED"]
    reasons = [
        missed if missed and name == "IEZ_MISSED" else f"{outcomes[name]} {phrase}"
        for name, phrase in PHRASES.items()
        if name not in _NOT_FAILURES and outcomes[name]
    ]
    failed = sum(outcomes[name] for name in PHRASES if name not in _NOT_FAILURES)
    parts = []
    if placed or failed or outcomes["IEZ_SHARED"]:
        parts.append(f"{placed} file{'' if placed == 1 else 's'} placed")
    if failed:
        parts.append(f"{failed} not: {', '.join(reasons)}")
    if outcomes["IEZ_UNKNOWN_OST"]:
        parts.append(
            "switched off at the first unknown OST: make the plan anew with iez plan build"
        )
    if outcomes.damaged:
        many = len(outcomes.damaged)
        named = ", ".join(outcomes.damaged[:3]) + (", …" if many > 3 else "")
        parts.append(f"{many} trace{'' if many == 1 else 's'} not readable ({named})")
    return "; ".join(parts)
