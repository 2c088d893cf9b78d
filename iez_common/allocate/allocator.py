"""Allocator: requests, OSTs and a policy in, an Allocation with its certificate out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from iez_common.allocate.allocation import Allocation, Part
from iez_common.allocate.certificate import Certificate, bound_of
from iez_common.allocate.columns import BYTES_MAX, Flags, Ints, Osts, Requests
from iez_common.allocate.drift import drifted
from iez_common.allocate.iez import iez, solve
from iez_common.allocate.lustre_qos import lustre_qos
from iez_common.allocate.lustre_rr import lustre_rr
from iez_common.allocate.objective import Targets, targets_of
from iez_common.allocate.paper import paper, paper_rising
from iez_common.allocate.policy import LIST, Policy
from iez_common.allocate.problem import Choice, Options, Positions, Problem, Strategy
from iez_common.allocate.rungs import pool_members, rungs_of
from iez_common.allocate.simple import greedy, random
from iez_common.allocate.split import split, tails
from iez_common.allocate.striping import check_counts, stripe_counts, stripe_sizes
from iez_common.errors import AllocationError
from iez_common.records import Ost, Request

STRATEGIES: dict[str, Strategy] = {
    "iez": iez,
    "paper": paper,
    "paper-rising": paper_rising,
    "lustre-rr": lustre_rr,
    "lustre-qos": lustre_qos,
    "random": random,
    "greedy": greedy,
}
_LUSTRE = frozenset({"lustre-rr", "lustre-qos"})


def allocate(
    requests: Requests | Sequence[Request], osts: Osts | Sequence[Ost], policy: Policy | None = None
) -> Allocation:
    """Chooses OSTs, stripe counts and sizes for all requests. Raises AllocationError where that
    makes no sense or cannot be done."""
    policy = policy or Policy()
    files = requests if isinstance(requests, Requests) else Requests.of(requests)
    all_osts = osts if isinstance(osts, Osts) else Osts.of(osts)
    if policy.strategy not in STRATEGIES:
        raise AllocationError(
            f"there is no strategy {policy.strategy!r}", f"one of: {', '.join(STRATEGIES)}"
        )
    targets = targets_of(all_osts, policy)
    if not targets.open.any():
        raise AllocationError(
            "no OST can be used: each is closed, excluded or without a size",
            "iez osts tells their states",
        )
    rungs = rungs_of(files, policy)
    has_pools = len(files.pool_names) > 1
    if has_pools:
        placed = _place_pools(files, all_osts, targets, policy, rungs)
    else:
        placed = _place(files, all_osts, targets, policy, rungs)
    base = Problem(
        files.write_bytes, files.stripe_count, files.overstripe, all_osts, targets.open,
        targets.free_bytes, targets.speed, targets.offset,
    )  # fmt: skip
    value = base.value(placed.load_bytes)
    return Allocation(
        strategy=policy.strategy,
        osts=all_osts,
        positions=placed.choice.positions,
        starts=placed.choice.starts,
        list_count=placed.choice.stripe_count,
        stripe_count=placed.stripe_count,
        stripe_size_bytes=stripe_sizes(files, placed.stripe_count, policy),
        rung=rungs,
        overstripe=files.overstripe,
        pools=tuple(files.pool_names[code] for code in files.pool) if has_pools else (),
        parts=placed.parts,
        splits=placed.splits,
        load_bytes=placed.load_bytes,
        certificate=Certificate(
            policy.objective, value, placed.bound, all_osts, placed.load_bytes, targets.bandwidth
        ),
    )


@dataclass(frozen=True, slots=True)
class _Placed:
    """Requests on their OSTs; the choice has no stripes for those that are not pinned to a list."""

    stripe_count: Ints
    choice: Choice
    load_bytes: Ints
    bound: float
    parts: Mapping[int, tuple[Part, ...]] = field(default_factory=dict)
    splits: tuple[int, ...] = ()


def _place(
    requests: Requests, osts: Osts, targets: Targets, policy: Policy, rungs: Ints
) -> _Placed:
    """On OSTs that are well, or on all that are open where those do not suffice."""
    if targets.preferred.any():
        try:
            return _place_on(targets.preferred, requests, osts, targets, policy, rungs)
        except AllocationError:
            if (targets.preferred == targets.open).all():
                raise
    return _place_on(targets.open, requests, osts, targets, policy, rungs)


def _place_on(
    usable: Flags,
    requests: Requests,
    osts: Osts,
    targets: Targets,
    policy: Policy,
    rungs: Ints,
) -> _Placed:
    counts = stripe_counts(requests, targets.free_bytes[usable], policy)
    if policy.strategy not in _LUSTRE:
        check_counts(counts, requests, int(usable.sum()))
    pinned = np.flatnonzero(rungs == LIST)
    files, wanted = requests, counts
    if len(pinned) < len(requests):
        files, wanted = requests.take(pinned), counts[pinned]
    problem = Problem(
        files.write_bytes, wanted, files.overstripe, osts, usable,
        targets.free_bytes, targets.speed, targets.offset, name_order(files),
    )  # fmt: skip
    if policy.strategy == "iez":
        placed = _by_iez(problem, files, policy)
    else:
        placed = _by_other(problem, policy)
    if len(pinned) == len(requests):
        return placed
    starts, listed = np.zeros((2, len(requests)), np.int64)
    starts[pinned], listed[pinned] = placed.choice.starts, placed.choice.stripe_count
    return replace(
        placed,
        stripe_count=counts,
        choice=replace(placed.choice, starts=starts, stripe_count=listed),
        parts={int(pinned[at]): parts for at, parts in placed.parts.items()},
        splits=tuple(int(pinned[at]) for at in placed.splits),
    )


def _by_iez(problem: Problem, requests: Requests, policy: Policy) -> _Placed:
    sizes = stripe_sizes(requests, problem.stripe_count, policy)
    solution = solve(problem)
    if policy.objective == "blend":
        solution = drifted(problem, solution)
    placed = _Placed(problem.stripe_count, solution.choice, solution.load_bytes, solution.bound)
    if policy.pfl == "never":
        return placed
    found = split(problem, solution, requests.writers, sizes, policy)
    if found is not None:
        starts, listed = np.zeros((2, len(problem)), np.int64)
        rest = found.rest.choice
        starts[found.kept], listed[found.kept] = rest.starts, rest.stripe_count
        placed = _Placed(
            problem.stripe_count,
            Choice(rest.positions, starts, listed),
            found.load_bytes,
            found.bound,
            found.parts,
            tuple(found.parts),
        )
    grown = tails(problem, placed.choice, placed.load_bytes, requests.high_bytes, sizes)
    if not grown:
        return placed
    listed = placed.choice.stripe_count.copy()
    listed[list(grown)] = 0
    return replace(
        placed, choice=replace(placed.choice, stripe_count=listed), parts={**placed.parts, **grown}
    )


def _by_other(problem: Problem, policy: Policy) -> _Placed:
    choice = STRATEGIES[policy.strategy](problem, Options(policy.seed, policy.racing))
    loads = choice.loads(problem.write_bytes, len(problem.osts))
    # As in _as_taken.
    open_to_it = replace(
        problem,
        stripe_count=choice.stripe_count,
        free_bytes=np.maximum(problem.free_bytes, loads),
    )
    taken = problem.usable.copy()
    taken[choice.positions] = True
    return _Placed(choice.stripe_count, choice, loads, bound_of(open_to_it, taken))


def _place_pools(
    requests: Requests, osts: Osts, targets: Targets, policy: Policy, rungs: Ints
) -> _Placed:
    """One pool after the other, each on top of those before; the smallest first, as it has the
    least choice."""
    counts, starts, listed = np.zeros((3, len(requests)), np.int64)
    loads = np.zeros(len(osts), np.int64)
    positions: list[Ints] = []
    parts: dict[int, tuple[Part, ...]] = {}
    bound, written = 0.0, 0
    # A part of a file for balance would have to know of the other pools.
    whole = replace(policy, split_min_bytes=BYTES_MAX)
    for numbers, members in pool_groups(requests, osts, policy):
        own = replace(targets, open=targets.open & members, preferred=targets.preferred & members)
        if not own.open.any():
            name = requests.pool_names[requests.pool[numbers[0]]]
            raise AllocationError(f"no OST of the pool {name!r} can be used", "iez osts")
        files = requests.take(numbers)
        if policy.strategy not in _LUSTRE:
            check_counts(files.stripe_count, files, int(own.open.sum()), numbers)
        on_top = replace(own, free_bytes=own.free_bytes - loads, offset=own.offset + loads)
        seen = _within(osts, members) if policy.strategy in _LUSTRE else osts
        placed = _place(files, seen, on_top, whole, rungs[numbers])
        counts[numbers], listed[numbers] = placed.stripe_count, placed.choice.stripe_count
        starts[numbers] = placed.choice.starts + written
        parts |= {int(numbers[at]): made for at, made in placed.parts.items()}
        positions.append(placed.choice.positions.astype(np.int64))
        written += len(placed.choice.positions)
        loads += placed.load_bytes
        own = _as_taken(own, positions[-1], placed.load_bytes)
        bound = max(bound, _bound(files, osts, own, counts[numbers], rungs[numbers]))
    choice = Choice(np.concatenate(positions), starts, listed)
    every = _as_taken(targets, choice.positions, loads)
    bound = max(bound, _bound(requests, osts, every, counts, rungs))
    return _Placed(counts, choice, loads, bound, parts)


def _within(osts: Osts, members: Flags) -> Osts:
    """The OSTs as Lustre's own strategies see them for files of a pool: no others are there."""
    pairs = zip(osts.states, members, strict=True)
    states = tuple(each if member else each | {"inactive"} for each, member in pairs)
    return replace(osts, states=states, closed=osts.closed | ~members)


def _as_taken(targets: Targets, positions: Positions, load_bytes: Ints) -> Targets:
    """What a strategy does against the rules of iez must not make it look better than possible."""
    is_open = targets.open.copy()
    is_open[positions] = True
    free = np.maximum(targets.free_bytes, load_bytes)
    return replace(targets, open=is_open, free_bytes=free)


def pool_groups(requests: Requests, osts: Osts, policy: Policy) -> Iterator[tuple[Ints, Flags]]:
    """Requests of one pool, and its OSTs."""
    groups = [
        (np.flatnonzero(requests.pool == code), pool_members(name, osts, policy))
        for code, name in enumerate(requests.pool_names)
        if (requests.pool == code).any()
    ]
    yield from sorted(groups, key=lambda group: int(group[1].sum()))


def _bound(requests: Requests, osts: Osts, targets: Targets, counts: Ints, rungs: Ints) -> float:
    pinned = np.flatnonzero(rungs == LIST)
    files = requests.take(pinned)
    problem = Problem(
        files.write_bytes, counts[pinned], files.overstripe, osts, targets.open,
        targets.free_bytes, targets.speed, targets.offset,
    )  # fmt: skip
    return bound_of(problem, targets.open)


def name_order(requests: Requests) -> Ints | None:
    return np.argsort(np.array(requests.names), kind="stable") if requests.names else None
