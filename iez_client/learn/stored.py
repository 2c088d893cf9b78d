"""Stored: the plan that was made for an application's next run, and whether it fits that run."""

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iez_client.filesystems import FileSystem
from iez_client.names import Roots
from iez_client.plan.bind import write_plan
from iez_client.plan.read import Plan, read_plan
from iez_common.atomic import replacing
from iez_common.config import Config
from iez_common.errors import IezError, OutputError, reason

PLANS = "plans"  # in the state directory
_SCHEMA = 1
_FRESH_S = 3600.0  # older than this, the OSTs are looked at again


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """What was made last."""

    plan: Plan | None  # None: there was nothing to place
    made_s: float
    roots: tuple[tuple[str, str], ...]
    rank_count: int

    def fits(self, roots: Roots, rank_count: int, file_systems: Sequence[FileSystem]) -> bool:
        """Whether it was made for the same directories, ranks and file systems."""
        if rank_count not in (0, self.rank_count) or _pairs(roots) != self.roots:
            return False
        prefixes = {each.prefix for each in file_systems}
        planned = self.plan.file_systems() if self.plan else []
        return prefixes.issuperset(each.prefix for each in planned)

    def is_fresh(self, now_s: float) -> bool:
        # A time to come means that the clock was set back.
        return 0 <= now_s - self.made_s < _FRESH_S


def store(
    config: Config,
    key: str,
    image: bytes | bytearray | None,  # None: there is nothing to place
    roots: Roots,
    rank_count: int,
    made_s: float,
) -> Path:
    path = plan_path(config, key)
    values = {
        "schema": _SCHEMA,
        "generation": Plan(image, "the plan").generation if image else 0,
        "made_s": made_s,
        "roots": _pairs(roots),
        "rank_count": rank_count,
    }
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{path.parent} cannot be made: {reason(error)}") from None
    if image:
        write_plan(path, image)
    with replacing(_facts_path(path), 0o600) as file:
        file.write(json.dumps(values).encode())
    return path


def find(config: Config, key: str) -> StoredPlan | None:
    """None where there is none that can be used."""
    path = plan_path(config, key)
    try:
        values = json.loads(_facts_path(path).read_bytes())
        plan = read_plan(path) if values["generation"] else None
        # Two runs that end at once may each have put one of the two files there.
        if values["schema"] != _SCHEMA or (plan and values["generation"] != plan.generation):
            return None
        roots = tuple((str(symbol), str(root)) for symbol, root in values["roots"])
        return StoredPlan(plan, float(values["made_s"]), roots, int(values["rank_count"]))
    except (OSError, IezError, ValueError, LookupError, TypeError, RecursionError):
        return None


def exists(config: Config, key: str) -> bool:
    """Whether something was stored, usable or not."""
    return _facts_path(plan_path(config, key)).exists()


def remove(config: Config, key: str) -> None:
    path = plan_path(config, key)
    for each in (path, _facts_path(path)):
        with contextlib.suppress(OSError):
            each.unlink()


def plan_path(config: Config, key: str) -> Path:
    state = config.path("state_dir") or Path("/")
    return state / PLANS / f"{key[:32]}.plan"


def _facts_path(path: Path) -> Path:
    return path.with_suffix(".json")


def _pairs(roots: Roots) -> tuple[tuple[str, str], ...]:
    """Each root's symbol and its path."""
    return tuple(sorted(roots.items()))
