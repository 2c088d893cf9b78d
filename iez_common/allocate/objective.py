"""Objective: OSTs and a policy in, what each OST may be asked to take out.

An OST takes new bytes ≤ min(free, z · speed − offset), for the least z: with `bandwidth`, z is the
time until the last OST is done; with `space`, how full the fullest OST gets.
"""

from dataclasses import dataclass

import numpy as np

from iez_common.allocate.columns import Flags, Floats, Ints, Osts
from iez_common.allocate.policy import Policy


@dataclass(frozen=True, slots=True)
class Targets:
    """The OSTs as the objective sees them, by position."""

    open: Flags  # can be used if it must
    preferred: Flags  # is used first
    free_bytes: Ints
    bandwidth: Floats  # bytes/s, as far as it is known
    speed: Floats
    offset: Floats


def targets_of(osts: Osts, policy: Policy) -> Targets:
    is_open = ~osts.closed & (osts.size_bytes > 0)
    if policy.exclude_osts:
        is_open &= ~np.isin(osts.index, list(policy.exclude_osts))
    known = osts.bandwidth_bytes_per_s
    bandwidth = np.where(known > 0, known, policy.ost_bandwidth_bytes_per_s)
    return Targets(
        is_open,
        is_open & ~osts.avoided,
        np.maximum(osts.available_bytes - osts.promised_bytes, 0),
        bandwidth,
        *_speed_and_offset(osts, bandwidth, policy),
    )


def _speed_and_offset(osts: Osts, bandwidth: Floats, policy: Policy) -> tuple[Floats, Floats]:
    if policy.objective == "space":
        size = np.maximum(osts.size_bytes, 1).astype(np.float64)
        return size, (osts.used_bytes + osts.promised_bytes).astype(np.float64)
    # What an OST has left beside the work of others.
    speed = np.maximum(bandwidth - osts.recent_bytes_per_s, policy.busy_floor * bandwidth)
    if policy.objective == "bandwidth":
        return speed, np.zeros(len(osts))
    # Bytes that others were promised keep the OST busy as well.
    return speed * space_share(osts, policy), osts.promised_bytes.astype(np.float64)


def space_share(osts: Osts, policy: Policy) -> Floats:
    """A little more for emptier OSTs, so that utilisation grows equal in time, and ever less for
    those that are about to be full."""
    if not len(osts):
        return np.ones(0)
    size = np.maximum(osts.size_bytes, 1)
    # It may have promised more than it has.
    used = np.minimum((osts.used_bytes + osts.promised_bytes) / size, 1)
    share: Floats = 1 + policy.drift * (used.sum() / len(used) - used)
    if policy.headroom > 0:
        share *= np.clip((1 - used) / policy.headroom, policy.headroom_floor, 1)
    return share
