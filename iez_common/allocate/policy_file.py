"""Policy file: a site's TOML file in, a Policy out. docs/policy.md documents every key."""

from pathlib import Path
from typing import get_args

from iez_common import tomlfile
from iez_common.allocate.allocator import STRATEGIES
from iez_common.allocate.columns import BYTES_MAX, STRIPE_COUNT_MAX
from iez_common.allocate.policy import OBJECTIVES, PFL, Policy, Rung
from iez_common.allocate.striping import UNIT_BYTES
from iez_common.config import Config
from iez_common.errors import InputError
from iez_common.units import format_size

KEYS = (
    "strategy", "objective", "ladder", "pin_min", "pfl", "split_min", "exclude_osts", "pools",
    "pools_allowed", "stripe_count_max", "stripe_count_max_single", "single_stripe",
    "shared_stripe", "stripe_size", "ost_bandwidth", "busy_floor", "headroom", "headroom_floor",
    "drift",
)  # fmt: skip
_SHARE_MIN = 1e-6  # bandwidths are divided by it
_STRIPE_SIZE_LIMIT_BYTES = 4 << 30  # it must be below


def policy_of(config: Config) -> Policy:
    """The policy that the settings name; the default one where they name none."""
    file = config.path("policy")
    return read_policy(file) if file else Policy()


def read_policy(path: Path) -> Policy:
    """What the file says, and the defaults for the rest. Raises ConfigError, or InputError for a
    file that cannot be read."""
    try:
        table = tomlfile.read(path)
    except InputError as error:
        raise InputError(error.message, "iez config show tells who names it") from None
    table.allow(KEYS)
    usual = Policy()
    return Policy(
        strategy=table.choice("strategy", usual.strategy, STRATEGIES),
        objective=table.choice("objective", usual.objective, OBJECTIVES),
        ladder=table.choice("ladder", usual.ladder, get_args(Rung)),
        pin_min_bytes=_size(table, "pin_min", usual.pin_min_bytes, 0),
        pfl=table.choice("pfl", usual.pfl, PFL),
        split_min_bytes=_size(table, "split_min", usual.split_min_bytes, 0),
        exclude_osts=table.index_set("exclude_osts"),
        pools=_pools(table.table("pools")),
        pools_allowed=_pools_allowed(table),
        stripe_count_max=_count(table, "stripe_count_max", usual.stripe_count_max),
        stripe_count_max_single=_count(
            table, "stripe_count_max_single", usual.stripe_count_max_single
        ),
        single_stripe_bytes=_size(table, "single_stripe", usual.single_stripe_bytes),
        shared_stripe_bytes=_size(table, "shared_stripe", usual.shared_stripe_bytes),
        stripe_size_bytes=_stripe_size(table, usual.stripe_size_bytes),
        ost_bandwidth_bytes_per_s=float(
            _size(table, "ost_bandwidth", int(usual.ost_bandwidth_bytes_per_s))
        ),
        busy_floor=table.real("busy_floor", usual.busy_floor, _SHARE_MIN, 1),
        headroom=table.real("headroom", usual.headroom, 0, 1),
        headroom_floor=table.real("headroom_floor", usual.headroom_floor, _SHARE_MIN, 1),
        drift=table.real("drift", usual.drift, 0, 1),
    )


def _size(table: tomlfile.Table, key: str, default_bytes: int, low_bytes: int = 1) -> int:
    size_bytes = table.size_bytes(key, default_bytes)
    if not low_bytes <= size_bytes <= BYTES_MAX:
        what = f"{size_bytes} is not between {low_bytes} and {format_size(BYTES_MAX)}"
        raise table.trouble(key, what, f'{key} = "{format_size(default_bytes)}"')
    return size_bytes


def _stripe_size(table: tomlfile.Table, default_bytes: int) -> int:
    size_bytes = table.size_bytes("stripe_size", default_bytes)
    if size_bytes % UNIT_BYTES or not 0 < size_bytes < _STRIPE_SIZE_LIMIT_BYTES:
        what = f"{format_size(size_bytes)} is not a multiple of 64K below 4G"
        raise table.trouble("stripe_size", what, 'stripe_size = "4M"')
    return size_bytes


def _count(table: tomlfile.Table, key: str, default: int) -> int:
    return table.integer(key, default, 1, STRIPE_COUNT_MAX)


def _pools(table: tomlfile.Table) -> dict[str, frozenset[int]]:
    pools = {name: table.index_set(name) for name in table.values}
    for name, members in pools.items():
        if not members:
            raise table.trouble(name, "the pool has no OST", f'{name} = "0-7"')
    return pools


def _pools_allowed(table: tomlfile.Table) -> frozenset[str] | None:
    """None where nothing is said: then each is; an empty list: none is."""
    if "pools_allowed" not in table.values:
        return None
    return frozenset(table.strings("pools_allowed"))
