"""Striping: how many stripes a file gets where it does not say, and how large they are."""

import numpy as np

from iez_common.allocate.columns import STRIPE_COUNT_MAX, Flags, Ints, Requests
from iez_common.allocate.policy import KIB, MIB, Policy
from iez_common.errors import AllocationError

UNIT_BYTES = 64 * KIB  # Lustre takes only multiples of it
SIZE_MIN_BYTES = MIB
SIZE_MAX_BYTES = 16 * MIB


def stripe_counts(requests: Requests, free_bytes: Ints, policy: Policy) -> Ints:
    """The count that was asked for, or one that suits size and writers; `free_bytes` are those of
    the OSTs that can be used."""
    auto = requests.stripe_count == 0
    if not auto.any():
        return requests.stripe_count
    osts = len(free_bytes)
    counts = np.where(auto, _suited(requests, osts, policy), requests.stripe_count)
    return _wide_enough(counts, auto, requests.write_bytes, free_bytes)


def _suited(requests: Requests, osts: int, policy: Policy) -> Ints:
    """A shared file is as wide as its writers and its size call for. Files with one writer share
    the OSTs."""
    single = requests.writers == 1
    for_single = np.minimum(
        policy.stripe_count_max_single, requests.write_bytes // policy.single_stripe_bytes
    )
    among = sharing(requests, policy)
    for_single[among] = _shared_out(requests.write_bytes[among], for_single[among], osts)
    for_shared = np.minimum(requests.writers, requests.write_bytes // policy.shared_stripe_bytes)
    most = max(1, min(policy.stripe_count_max, osts, STRIPE_COUNT_MAX))
    return np.clip(np.where(single, for_single, for_shared), 1, most)


def _shared_out(write_bytes: Ints, most: Ints, osts: int) -> Ints:
    """Stripe counts that make the largest stripe as small as can be, while together the files want
    each OST about once. Where there are more files than OSTs, no stripe is larger than half of what
    an OST gets on average: whole files of that size could not be laid out evenly."""
    if not len(write_bytes) or osts < 1:
        return most
    most = np.maximum(most, 1)

    def counts(stripe_bytes: int) -> Ints:
        return np.minimum(-(-write_bytes // max(1, stripe_bytes)), most)

    if len(write_bytes) > osts:
        return counts(-(-int(write_bytes.sum()) // (2 * osts)))
    # The largest stripe is a whole part of some file.
    parts = np.unique(-(-write_bytes[:, None] // np.arange(1, int(most.max()) + 1)))
    low, high = 0, len(parts) - 1
    while low < high:
        middle = (low + high) // 2
        is_enough = int(counts(int(parts[middle])).sum()) <= osts
        low, high = (low, middle) if is_enough else (middle + 1, high)
    return counts(int(parts[low]))


def sharing(requests: Requests, policy: Policy) -> Flags:
    """Files with one writer and no count of their own; small ones, which are left to Lustre, take
    no OST from the others."""
    is_sharing: Flags = (requests.stripe_count == 0) & (requests.writers == 1)
    is_sharing &= requests.write_bytes >= policy.pin_min_bytes
    return is_sharing


def _wide_enough(counts: Ints, auto: Flags, write_bytes: Ints, free_bytes: Ints) -> Ints:
    """A file whose stripes would be larger than the free space gets more of them."""
    widest = np.sort(free_bytes)[::-1][:STRIPE_COUNT_MAX]
    if not len(widest):
        return counts
    counts = counts.copy()
    tight = auto & (-(-write_bytes // counts) > widest[np.minimum(counts, len(widest)) - 1])
    for request in np.flatnonzero(tight):
        needed = -(-int(write_bytes[request]) // np.arange(1, len(widest) + 1))
        fits = np.flatnonzero(
            (needed <= widest) & (np.arange(1, len(widest) + 1) > counts[request])
        )
        if len(fits):
            counts[request] = int(fits[0]) + 1
    return counts


def check_counts(counts: Ints, requests: Requests, osts: int, numbers: Ints | None = None) -> None:
    """`numbers` are those of the requests, where they are not all."""
    too_wide = (counts > osts) & ~requests.overstripe
    if too_wide.any():
        row = int(too_wide.argmax())
        name = requests.names[row] if requests.names else ""
        who = name or f"request {row if numbers is None else numbers[row]}"
        raise AllocationError(
            f"{who} asks for {counts[row]} stripes, and {osts} OSTs can be used",
            "ask for fewer stripes, or for overstriping",
        )


def stripe_sizes(requests: Requests, counts: Ints, policy: Policy) -> Ints:
    """A write should fall into one stripe: a stripe holds one, or a whole number of smaller ones,
    and a larger one a whole number of stripes; 1 to 16 MiB, as far as multiples of 64 KiB allow.
    The writes of a file's only writer come one after the other: each goes to all its OSTs at
    once."""
    access_bytes = requests.access_bytes
    if not access_bytes.any():
        return np.full(len(requests), policy.stripe_size_bytes)
    access = np.maximum(access_bytes, 1)
    several = -(-SIZE_MIN_BYTES // access) * access
    several = np.where(several % UNIT_BYTES == 0, several, SIZE_MIN_BYTES)
    parts = np.maximum(-(-access // SIZE_MAX_BYTES), np.where(requests.writers == 1, counts, 1))
    one = _aligned(-(-access // np.maximum(parts, 1)))
    sizes = np.where(access < SIZE_MIN_BYTES, several, one)
    sizes = np.clip(sizes, SIZE_MIN_BYTES, SIZE_MAX_BYTES)
    return np.where(access_bytes == 0, policy.stripe_size_bytes, sizes)


def _aligned(size_bytes: Ints) -> Ints:
    aligned: Ints = -(-size_bytes // UNIT_BYTES) * UNIT_BYTES
    return aligned
