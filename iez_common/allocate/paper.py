"""The paper's algorithm: stripe sizes by its two methods, and OSTs by min-cost max-flow.

It is kept as it was printed, for comparison, but for what the paper leaves open: it has no word on
stripe sizes that differ (the largest counts for all), on overstriping, or on what an OSS's load is
without CPU and memory (here, recent bytes/s as a share of bandwidth).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from iez_common.allocate.problem import Choice, Options, Problem
from iez_common.errors import AllocationError

if TYPE_CHECKING:
    import networkx as nx

    Graph = nx.MultiDiGraph[tuple[str, int]]

_SOURCE, _SINK = ("source", 0), ("sink", 0)

# The paper reads "even multiple of 64k" as a multiple of 128 KiB; Lustre means any multiple.
ALIGNMENT_BYTES = 2 * 65536
# The network simplex is exact only in whole numbers: costs are counted in 10^-12.
COST_UNITS = 10**12
# The paper does not say what its weights are: an OSS at full speed counts as a tenth of a full OST.
LOAD_WEIGHT = 0.1


@dataclass(frozen=True, slots=True)
class MethodOne:
    """All stripes but the last are equal."""

    multiple: int  # N
    stripe_size_bytes: int
    remaining_bytes: int
    last_multiple: int  # X
    last_stripe_size_bytes: int
    over_bytes: int  # allocated beyond what is written


@dataclass(frozen=True, slots=True)
class MethodTwo:
    """All stripes are equal."""

    multiple: int  # N
    stripe_size_bytes: int
    over_bytes: int


def method_one(write_bytes: int, stripe_count: int) -> MethodOne:
    """Eqs. 1 to 4, with the N that Eq. 3 lacks. A single stripe is the last one."""
    equal = ALIGNMENT_BYTES * (stripe_count - 1)
    multiple = write_bytes // equal if equal else 0
    remaining = write_bytes - multiple * equal
    last = -(-remaining // ALIGNMENT_BYTES)
    return MethodOne(
        multiple=multiple,
        stripe_size_bytes=ALIGNMENT_BYTES * multiple,
        remaining_bytes=remaining,
        last_multiple=last,
        last_stripe_size_bytes=ALIGNMENT_BYTES * last,
        over_bytes=ALIGNMENT_BYTES * last - remaining,
    )


def method_two(write_bytes: int, stripe_count: int) -> MethodTwo:
    """Eqs. 5 and 6, in bytes where `calculateStripeSize` returns N."""
    multiple = -(-write_bytes // (ALIGNMENT_BYTES * stripe_count))
    stripe_size = ALIGNMENT_BYTES * multiple
    return MethodTwo(multiple, stripe_size, stripe_size * stripe_count - write_bytes)


def paper(problem: Problem, options: Options) -> Choice:
    """Algorithm 2 as printed. A cost stays the same however many stripes an OST gets, so every
    request takes the same cheapest OSTs."""
    return _solve(problem, rising=False)


def paper_rising(problem: Problem, options: Options) -> Choice:
    """The same graph, but each further stripe on an OST costs what it fills of it."""
    return _solve(problem, rising=True)


def _solve(problem: Problem, rising: bool) -> Choice:
    import networkx as nx

    counts: list[int] = problem.stripe_count.tolist()
    if not counts:
        return Choice.in_order(np.zeros(0, np.int64), problem.stripe_count.copy())
    targets: list[int] = np.flatnonzero(problem.usable).tolist()
    stripe_bytes = max(
        method_two(*each).stripe_size_bytes
        for each in zip(problem.write_bytes.tolist(), counts, strict=True)
    )
    graph = _build_graph(problem, targets, stripe_bytes, rising)
    try:
        _, flow = nx.network_simplex(graph)
    except nx.NetworkXUnfeasible:
        raise AllocationError(
            f"the flow cannot be met: {sum(counts)} stripes, counted as {stripe_bytes} bytes each, "
            f"do not fit on {len(targets)} usable OSTs",
            "ask for smaller stripe counts or fewer bytes",
        ) from None
    positions = [
        ost
        for request in range(len(counts))
        for ost in targets
        for _ in range(sum(flow["request", request]["ost", ost].values()))
    ]
    return Choice.in_order(np.array(positions, np.int64), problem.stripe_count.copy())


def _build_graph(problem: Problem, targets: list[int], stripe_bytes: int, rising: bool) -> "Graph":
    import networkx as nx

    graph: Graph = nx.MultiDiGraph()
    counts: list[int] = problem.stripe_count.tolist()
    graph.add_node(_SOURCE, demand=-sum(counts))
    graph.add_node(_SINK, demand=sum(counts))
    reach = _costs_to_reach(problem)
    often_most = 0
    for request, count in enumerate(counts):
        graph.add_edge(_SOURCE, ("request", request), weight=0, capacity=count)
        # An overstriped file may go round the OSTs as many times as it must.
        often = -(-count // max(1, len(targets))) if problem.overstripe[request] else 1
        often_most += often
        for ost in targets:
            graph.add_edge(("request", request), ("ost", ost), weight=reach[ost], capacity=often)
    for ost in targets:
        size = max(1, int(problem.osts.size_bytes[ost]))
        used = int(problem.osts.used_bytes[ost])
        # What iez lets an OST take stands for what is available.
        room = int(problem.free_bytes[ost]) // max(1, stripe_bytes)
        capacity = max(0, min(room if stripe_bytes else often_most, often_most))
        if not rising:
            cost = used * COST_UNITS // size
            graph.add_edge(("ost", ost), _SINK, weight=cost, capacity=capacity)
            continue
        for j in range(capacity):
            cost = (used + j * stripe_bytes) * COST_UNITS // size
            graph.add_edge(("ost", ost), _SINK, weight=cost, capacity=1)
    return graph


def _costs_to_reach(problem: Problem) -> list[int]:
    """The load of each OST's server; 0 where its bandwidth is unknown."""
    osts = problem.osts
    servers = len(osts.oss_names)
    recent = np.bincount(osts.oss, osts.recent_bytes_per_s, servers)
    bandwidth = np.bincount(osts.oss, osts.bandwidth_bytes_per_s, servers)
    load = np.divide(recent, bandwidth, out=np.zeros(servers), where=bandwidth > 0)
    return [int(each * LOAD_WEIGHT * COST_UNITS) for each in load[osts.oss].tolist()]
