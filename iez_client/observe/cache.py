"""Cache: what was last seen, so that a second look within seconds costs nothing and an OST that
does not answer keeps its last good sizes. It can be lost at any time, and is never in the way."""

import contextlib
import json
import math
import os
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from iez_client.observe.speed import NO_RPCS, Rpcs
from iez_common.atomic import replacing
from iez_common.config import xdg_home
from iez_common.errors import OutputError
from iez_common.records import STATES

FRESH_S = 5.0  # younger than this, nothing is asked again
_SCHEMA = 2
_FILE_BYTES_MAX = 64 << 20


@dataclass(frozen=True, slots=True)
class SeenOst:
    """An OST as it was last seen."""

    index: int
    size_bytes: int
    available_bytes: int
    used_bytes: int
    time_s: float | None  # when the sizes were told, of the wall clock; None: never
    oss: str
    states: tuple[str, ...]
    source: str
    is_silent: bool = False  # it was asked and did not answer
    rpcs: Rpcs = NO_RPCS  # counted when its speed was last told
    bytes_per_s: float = 0.0  # of this client's writes; 0: not known


@dataclass(frozen=True, slots=True)
class SeenFileSystem:
    """All OSTs of a file system, seen in one look."""

    time_s: float  # when the look ended: one that waits for a sick OST is fresh at its end, too
    osts: tuple[SeenOst, ...]
    trouble: str = ""  # why the OSTs are not all there

    def is_fresh(self, now_s: float) -> bool:
        # A time to come means that the clock was set back.
        return 0 <= now_s - self.time_s < FRESH_S


def cache_file(environ: Mapping[str, str] = os.environ) -> Path:
    return xdg_home(environ, "XDG_CACHE_HOME", ".cache") / "iez" / "osts.json"


def load(path: Path) -> dict[str, SeenFileSystem]:
    """What the file holds, by file system; nothing if it is missing, damaged or not ours."""
    try:
        values = json.loads(_read(path))
        if values["schema"] != _SCHEMA:
            return {}
        # Homes are shared: another machine's sizes are good as the last ones, but it may have
        # switched off other OSTs.
        is_ours = values["host"] == os.uname().nodename
        return {
            str(name): _file_system(value, is_ours)
            for name, value in values["file_systems"].items()
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}


def store(path: Path, seen: Mapping[str, SeenFileSystem]) -> None:
    """Keeps it if it can."""
    values = {
        "schema": _SCHEMA,
        "host": os.uname().nodename,
        "file_systems": {name: asdict(each) for name, each in seen.items()},
    }
    with contextlib.suppress(OSError, OutputError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(path, 0o600) as file:
            file.write(json.dumps(values).encode())


def _read(path: Path) -> bytes:
    # A pipe in its place must not hang the command.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return b""
        return file.read(_FILE_BYTES_MAX)


def _file_system(value: dict[str, object], is_ours: bool) -> SeenFileSystem:
    time_s, osts, trouble = value["time_s"], value["osts"], value["trouble"]
    if not isinstance(osts, list) or not isinstance(trouble, str):
        raise TypeError
    return SeenFileSystem(
        _number(time_s) if is_ours else 0.0, tuple(_ost(each) for each in osts), trouble
    )


def _ost(value: dict[str, object]) -> SeenOst:
    numbers = [value[name] for name in ("index", "size_bytes", "available_bytes", "used_bytes")]
    words = [value["oss"], value["source"]]
    states, is_silent = value["states"], value["is_silent"]
    index, size_bytes, available_bytes, used_bytes = (
        number for number in numbers if type(number) is int and number >= 0
    )
    oss, source = (word for word in words if isinstance(word, str))
    if not isinstance(states, list) or not STATES.issuperset(states):
        raise TypeError
    if not isinstance(is_silent, bool):
        raise TypeError
    return SeenOst(
        index,
        size_bytes,
        available_bytes,
        used_bytes,
        None if value["time_s"] is None else _number(value["time_s"]),
        oss,
        tuple(states),
        source,
        is_silent,
        Rpcs(*(_count(value["rpcs"], name) for name in ("count", "bytes", "usecs", "in_flight"))),
        _number(value["bytes_per_s"]),
    )


def _count(values: object, name: str) -> int:
    value = values[name] if isinstance(values, dict) else None
    if type(value) is not int:
        raise TypeError
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError
    return float(value)
