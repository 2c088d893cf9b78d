"""Explain a file: how far iez went with it; where its stripe count, size and parts come from."""

from dataclasses import dataclass

from iez_common.allocate.allocation import Allocation, Placement
from iez_common.allocate.columns import Requests
from iez_common.allocate.policy import Policy
from iez_common.allocate.replay import Group

# Why it was given that much.
SMALL = "small"  # below pin_min
LADDER = "ladder"  # the site allows no more
NO_POOL = "no-pool"  # the site allows pools, and the file has none
UNKNOWN_POOL = "unknown-pool"  # whose OSTs the policy does not tell
ALLOWED = "allowed"
# Where its stripe count comes from.
GIVEN = "given"
SHARE = "share"  # files with one writer share the OSTs
SINGLE_CAP = "stripe_count_max_single"
SINGLE_SIZE = "single_stripe"
WRITERS = "writers"
SHARED_SIZE = "shared_stripe"
CAP = "stripe_count_max"
ALL_OSTS = "osts"
SPACE = "space"  # larger stripes would not fit
BY_STRATEGY = "strategy"
# Where its stripe size comes from.
ACCESS = "access"
DEFAULT = "default"
# Why it has parts.
BALANCE = "balance"
UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True)
class FileReason:
    name: str
    write_bytes: int
    writers: int
    access_bytes: int
    high_bytes: int
    placement: Placement
    stripe_bytes: int  # that one stripe holds
    rung_why: str
    count_why: str
    size_why: str
    parts_why: str  # empty: it has none
    usable_osts: int  # when its count was chosen
    sharing_files: int  # with one writer and no count of their own, that are not too small


def file_reason(
    number: int, requests: Requests, policy: Policy, allocation: Allocation, group: Group
) -> FileReason:
    placement = allocation.placement(number)
    usable = int(group.usable.sum())
    parts_why = ""
    if placement.parts:
        parts_why = BALANCE if number in allocation.splits else UNCERTAIN
    return FileReason(
        name=requests.names[number] if requests.names else f"request {number}",
        write_bytes=int(requests.write_bytes[number]),
        writers=int(requests.writers[number]),
        access_bytes=int(requests.access_bytes[number]),
        high_bytes=int(requests.high_bytes[number]),
        placement=placement,
        stripe_bytes=-(-int(requests.write_bytes[number]) // max(1, placement.stripe_count)),
        rung_why=_rung_why(number, requests, policy, placement),
        count_why=_count_why(number, requests, policy, allocation, usable, group.sharing_files),
        size_why=ACCESS if requests.access_bytes[number] else DEFAULT,
        parts_why=parts_why,
        usable_osts=usable,
        sharing_files=group.sharing_files,
    )


def _rung_why(number: int, requests: Requests, policy: Policy, placement: Placement) -> str:
    if requests.write_bytes[number] < policy.pin_min_bytes:
        return SMALL
    if placement.rung == "list":
        return ALLOWED
    if placement.rung == policy.ladder:
        return LADDER
    return UNKNOWN_POOL if requests.pool[number] else NO_POOL


def _count_why(
    number: int,
    requests: Requests,
    policy: Policy,
    allocation: Allocation,
    usable: int,
    sharing: int,
) -> str:
    """The tightest of the limits of striping.py."""
    if requests.stripe_count[number]:
        return GIVEN
    size, writers = int(requests.write_bytes[number]), int(requests.writers[number])
    if writers == 1:
        limits = {
            SINGLE_SIZE: size // policy.single_stripe_bytes,
            SHARE: usable // max(1, sharing),
            SINGLE_CAP: policy.stripe_count_max_single,
        }
    else:
        limits = {SHARED_SIZE: size // policy.shared_stripe_bytes, WRITERS: writers}
    limits |= {ALL_OSTS: usable, CAP: policy.stripe_count_max}
    tightest = min(limits, key=lambda name: max(1, limits[name]))
    suited, count = max(1, limits[tightest]), int(allocation.stripe_count[number])
    if count == suited:
        return tightest
    return SPACE if count > suited else BY_STRATEGY
