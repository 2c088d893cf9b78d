"""Rungs: how far iez goes with each file: nothing, count and size, pool, list."""

import numpy as np

from iez_common.allocate.columns import Flags, Ints, Osts, Requests
from iez_common.allocate.policy import COUNT, NOTHING, POOL, Policy
from iez_common.errors import AllocationError


def rungs_of(requests: Requests, policy: Policy) -> Ints:
    """Small files are left alone; others get what the site allows. Without a pool there is nothing
    between count and list."""
    if len(requests.pool_names) == 1:
        rung = COUNT if policy.rung == POOL else policy.rung
        return np.where(requests.write_bytes < policy.pin_min_bytes, NOTHING, rung)
    for name in requests.pool_names[1:]:
        if not _is_allowed(name, policy):
            allowed = ", ".join(sorted(policy.pools_allowed or policy.pools)) or "none"
            raise AllocationError(
                f"the pool {name!r} is not allowed here", f"pools that are: {allowed}"
            )
    highest = np.full(len(requests), policy.rung)
    if policy.rung == POOL:
        highest = np.where(requests.pool > 0, POOL, COUNT)
    unknown = np.array([name not in policy.pools for name in requests.pool_names])
    unknown[0] = False
    if unknown.any():
        # A pool whose OSTs are not known can be named, but not pinned to.
        highest = np.where(unknown[requests.pool], np.minimum(highest, POOL), highest)
    return np.where(requests.write_bytes < policy.pin_min_bytes, NOTHING, highest)


def _is_allowed(name: str, policy: Policy) -> bool:
    return policy.pools_allowed is None or name in policy.pools_allowed


def pool_members(name: str, osts: Osts, policy: Policy) -> Flags:
    """Which OSTs are in the pool; all, without a pool or where its members are not known."""
    if name not in policy.pools:
        return np.ones(len(osts), np.bool_)
    return np.isin(osts.index, list(policy.pools[name]))
