"""Requests, OSTs and policies drawn by hypothesis, and what holds of every allocation of them."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from iez_common.allocate import Policy, allocate
from iez_common.errors import AllocationError
from iez_common.records import AVOIDED, CLOSED, STATES, Ost, Request

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
OBJECTIVES = ("blend", "bandwidth", "space")

_size_bytes = st.one_of(
    st.sampled_from([GIB, 10 * GIB, 100 * GIB]), st.integers(GIB, 100 * GIB), st.just(0)
)
_states = st.one_of(
    st.just(frozenset()), st.just(frozenset()), st.frozensets(st.sampled_from(sorted(STATES)))
)
_write_bytes = st.one_of(
    st.integers(0, 4 * MIB), st.sampled_from([MIB, 64 * MIB, GIB]), st.integers(MIB, 2 * GIB)
)


@st.composite
def osts(draw, least=1, most=9, states=_states):
    count = draw(st.integers(least, most))
    indices = draw(st.lists(st.integers(0, 50), min_size=count, max_size=count, unique=True))
    return [_ost(draw, index, states) for index in indices]


def _ost(draw, index, states):
    size = draw(_size_bytes)
    return Ost(
        index,
        size,
        draw(st.one_of(st.just(size), st.integers(0, size))),
        oss=draw(st.sampled_from(["", "a", "b", "c"])),
        states=draw(states),
        bandwidth_bytes_per_s=draw(st.sampled_from([0.0, 2e8, 5e9])),
        recent_bytes_per_s=draw(st.sampled_from([0.0, 1e8, 1e10])),
        promised_bytes=draw(st.one_of(st.just(0), st.integers(0, 3 * size + GIB))),
    )


@st.composite
def requests(draw, most=10, stripe_count_max=5, named=False):
    files = draw(st.lists(_request(stripe_count_max), max_size=most))
    if named:
        files = [replace(file, name=f"f{number}") for number, file in enumerate(files)]
    return files


def _request(stripe_count_max):
    return st.builds(
        Request,
        _write_bytes,
        stripe_count=st.integers(0, stripe_count_max),
        writers=st.sampled_from([1, 1, 8, 1000]),
        access_bytes=st.sampled_from([0, 1, 4096, 47008, MIB, 100 * MIB]),
        high_bytes=st.sampled_from([0, 0, 3 * GIB]),
        overstripe=st.sampled_from([False, False, False, True]),
    )


policies = st.builds(
    Policy,
    objective=st.sampled_from(OBJECTIVES),
    pfl=st.sampled_from(["auto", "always", "never"]),
    pin_min_bytes=st.sampled_from([0, MIB]),
    split_min_bytes=st.sampled_from([MIB, 256 * MIB]),
    exclude_osts=st.frozensets(st.integers(0, 50), max_size=15),
    headroom=st.sampled_from([0.0, 0.2]),
    drift=st.sampled_from([0.0, 0.1, 1.0]),
)


def allocated(files, targets, policy):
    """The allocation; None where it is refused."""
    try:
        return allocate(files, targets, policy)
    except AllocationError:
        return None


def free_bytes(ost):
    return max(ost.available_bytes - ost.promised_bytes, 0)


def is_open(ost, policy):
    excluded = ost.index in policy.exclude_osts
    return not ost.states & CLOSED and not excluded and ost.size_bytes > 0


def is_avoided(ost):
    return bool(ost.states & AVOIDED)


def lists_of(placement):
    """All lists of OSTs of a file."""
    return [placement.osts, *(part.osts for part in placement.parts)]


def used_by(made):
    return {ost for placement in made for chosen in lists_of(placement) for ost in chosen}


def shares(placement, write_bytes):
    """(bytes, OSTs) of each component that the file's bytes reach."""
    if placement.osts:
        yield write_bytes, placement.osts
    start = 0
    for part in placement.parts:
        end = write_bytes if part.end_bytes is None else min(part.end_bytes, write_bytes)
        if end > start:
            yield end - start, part.osts
        start = max(start, end)


def loads_by_lists(files, made):
    """New bytes of each OST, added up from what each file was told."""
    loads = Counter()
    for file, placement in zip(files, made, strict=True):
        for length, chosen in shares(placement, file.write_bytes):
            for ost in chosen:
                loads[ost] += -(-length // len(chosen))
    return loads


def loads_of(made):
    pairs = zip(made.osts.index.tolist(), made.load_bytes.tolist(), strict=True)
    return {ost: load for ost, load in pairs if load}


def level_of(ost, targets, load, policy):
    """The z of an OST, by the words of docs/allocator.md."""
    taken = ost.size_bytes - ost.available_bytes + ost.promised_bytes
    if policy.objective == "space":
        return (taken + load) / ost.size_bytes
    bandwidth = ost.bandwidth_bytes_per_s or policy.ost_bandwidth_bytes_per_s
    speed = bandwidth * max(1 - ost.recent_bytes_per_s / bandwidth, policy.busy_floor)
    if policy.objective == "bandwidth":
        return load / speed
    used = _used_share(ost)
    mean = np.mean([_used_share(each) for each in targets])
    share = 1 + policy.drift * (mean - used)
    if policy.headroom:
        share *= min(max((1 - used) / policy.headroom, policy.headroom_floor), 1)
    return (load + ost.promised_bytes) / (speed * share)


def _used_share(ost):
    taken = ost.size_bytes - ost.available_bytes + ost.promised_bytes
    return min(taken / max(ost.size_bytes, 1), 1)


def check_promises(files, targets, policy, made):
    """What holds whatever the strategy of iez decides."""
    by_index = {ost.index: ost for ost in targets}
    for file, placement in zip(files, made, strict=True):
        assert placement.stripe_count == file.stripe_count or not file.stripe_count
        pinned = file.write_bytes >= policy.pin_min_bytes
        assert placement.rung == ("list" if pinned else "nothing")
        assert bool(placement.osts) + bool(placement.parts) == pinned
        assert len(placement.osts) in (0, placement.stripe_count)
        for chosen in lists_of(placement):
            assert len(chosen) <= placement.stripe_count
            assert len(chosen) == len(set(chosen)) or file.overstripe
            assert all(is_open(by_index[ost], policy) for ost in chosen)
    loads = loads_of(made)
    assert loads == {ost: load for ost, load in loads_by_lists(files, made).items() if load}
    assert all(load <= free_bytes(by_index[ost]) for ost, load in loads.items())
    check_certificate(targets, policy, made)


def check_certificate(targets, policy, made):
    certificate, loads = made.certificate, loads_of(made)
    by_index = {ost.index: ost for ost in targets}
    levels = [level_of(by_index[ost], targets, load, policy) for ost, load in loads.items()]
    assert certificate.value == pytest.approx(max(levels, default=0))
    assert certificate.ratio >= 1 - 1e-9
    assert certificate.bound <= certificate.value * (1 + 1e-9)
    assert certificate.bound > 0 or not loads
    new = [loads.get(ost.index, 0) / max(ost.size_bytes, 1) for ost in targets]
    assert certificate.ostcost_new == pytest.approx(max(new) / np.mean(new) if any(new) else 1)
    used = [ost.size_bytes - ost.available_bytes + loads.get(ost.index, 0) for ost in targets]
    full = [each / max(ost.size_bytes, 1) for each, ost in zip(used, targets, strict=True)]
    assert certificate.ostcost_total == pytest.approx(max(full) / np.mean(full) if any(full) else 1)
