"""Allocate: how long the allocator takes and how near it comes to its bound, beside networkx
(the paper's algorithm) and OR-tools (a convex flow), all in this process."""

import statistics
import time
from collections.abc import Callable, Iterator

import networkx  # noqa: F401 - its import is no part of what is measured
import numpy as np
from bench import note, report
from ortools.graph.python import min_cost_flow

from iez_common.allocate import Allocation, Osts, Policy, Requests, allocate

GIB = 1 << 30
ROUNDS = 9
COUNTS = np.array([1, 2, 4, 8, 16, 32, 64])
COUNT_SHARES = np.array([0.2, 0.2, 0.2, 0.2, 0.1, 0.05, 0.05])  # 8.5 stripes a file, about
MIXED = 320
BANDWIDTH = Policy(objective="bandwidth", pfl="never")


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def median_s(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    work()
    return statistics.median(timed(work) for _ in range(rounds))


def files(draw: np.random.Generator, count: int) -> Requests:
    """2 MiB to 20 GiB, as many in each power of ten."""
    sizes = (2 << 20) * 10 ** draw.uniform(0, 4, count)
    return Requests.make(sizes.astype(np.int64), draw.choice(COUNTS, count, p=COUNT_SHARES))


def osts(draw: np.random.Generator, count: int, room_bytes: int) -> Osts:
    """Of three sizes, filled by 0 to 80 %, together with five times the room that is needed."""
    sizes = draw.choice([1, 2, 4], count) * (5 * room_bytes // count)
    used = (sizes * draw.uniform(0, 0.8, count)).astype(np.int64)
    return Osts.make(sizes, sizes - used, oss=[ost // 10 for ost in range(count)])


def scale() -> None:
    """Requests from 10^3 to 10^6 for 2000 OSTs."""
    times = {}
    for power in (3, 4, 5, 6):
        draw = np.random.default_rng(power)
        requests = files(draw, 10**power)
        targets = osts(draw, 2000, int(requests.write_bytes.sum()))
        note(f"10^{power} requests, {int(requests.stripe_count.sum())} stripes, 2000 OSTs")
        times[power] = median_s(lambda: allocate(requests, targets))  # noqa: B023
        report(f"allocate.us_per_request_1e{power}x2000", times[power] / 10**power * 1e6, "us")
    found = allocate(requests, targets)
    report("allocate.gap_1e6x2000", found.certificate.ratio - 1, "relative")
    report("allocate.growth_1e3_to_1e6", times[6] / times[3] / 1000, "ratio")
    report("allocate.growth_1e5_to_1e6", times[6] / times[5] / 10, "ratio")


def against_networkx() -> None:
    draw = np.random.default_rng(1)
    requests = files(draw, 1000)
    # The paper counts every stripe as the largest: it needs as much room.
    size = (
        int((requests.write_bytes // requests.stripe_count).max() * requests.stripe_count.sum())
        // 20
    )
    targets = Osts.make([size] * 100, [size] * 100, oss=[ost // 10 for ost in range(100)])
    ours_s = median_s(lambda: allocate(requests, targets, BANDWIDTH), 101)
    ours = allocate(requests, targets, BANDWIDTH)
    report("allocate.ms_1e3x100", ours_s * 1e3, "ms")
    report("allocate.ostcost_1e3x100", ours.certificate.ostcost_new, "ratio")
    for strategy, name in (("paper", "networkx"), ("paper-rising", "networkx_rising")):
        note(f"{strategy}: 10^3 requests, 100 OSTs")
        theirs: list[Allocation] = []
        policy = Policy(strategy=strategy, objective="bandwidth")
        theirs_s = timed(lambda: theirs.append(allocate(requests, targets, policy)))  # noqa: B023
        report(f"allocate.vs_{name}_1e3x100", theirs_s / ours_s, "times")
        report(f"allocate.ostcost_{name}_1e3x100", theirs[0].certificate.ostcost_new, "ratio")


def flow(requests: Requests, targets: Osts) -> tuple[float, int]:
    """The flow with the least sum of squares of stripes an OST, which makes the most loaded one
    least: the time of the solver alone, and that number."""
    files_count, ost_count = len(requests), len(targets)
    source, sink = files_count + ost_count, files_count + ost_count + 1
    stripes = int(requests.stripe_count.sum())
    most = 2 * stripes // ost_count
    files_at, osts_at = np.arange(files_count), np.arange(files_count, source)
    tails = (
        np.full(files_count, source), np.repeat(files_at, ost_count), np.repeat(osts_at, most)
    )  # fmt: skip
    heads = (files_at, np.tile(osts_at, files_count), np.full(ost_count * most, sink))
    room = (requests.stripe_count, np.ones((files_count + most) * ost_count, np.int64))
    costs = (
        np.zeros(files_count * (1 + ost_count), np.int64),
        np.tile(2 * np.arange(most) + 1, ost_count),
    )
    solver = min_cost_flow.SimpleMinCostFlow()
    arcs = solver.add_arcs_with_capacity_and_unit_cost(
        *(np.concatenate(parts) for parts in (tails, heads, room, costs))
    )
    solver.set_node_supply(source, stripes)
    solver.set_node_supply(sink, -stripes)
    taken_s = timed(solver.solve)
    used = solver.flows(arcs[-ost_count * most :]).reshape(ost_count, most)
    return taken_s, int(used.sum(axis=1).max())


def against_ortools() -> None:
    """One stripe size, for which the flow is exact: from requests to OSTs, both ways in turn."""
    draw = np.random.default_rng(2)
    counts = draw.choice(COUNTS, 1000, p=COUNT_SHARES)
    requests = Requests.make(counts * GIB, counts)
    targets = Osts.make([1 << 50] * 100, [1 << 50] * 100, oss=[ost // 10 for ost in range(100)])
    note("OR-tools: 10^3 requests, 100 OSTs")
    whole, solver, ours = [], [], []
    for _ in range(25):
        start = time.perf_counter()
        taken_s, most = flow(requests, targets)
        whole.append(time.perf_counter() - start)
        solver.append(taken_s)
        ours.append(median_s(lambda: allocate(requests, targets, BANDWIDTH)))
    found = allocate(requests, targets, BANDWIDTH)
    assert int(found.load_bytes.max()) == most * GIB, "the flow is better"
    ours_s = statistics.median(ours)
    report("allocate.vs_ortools_1e3x100", statistics.median(whole) / ours_s, "times")
    report("allocate.vs_ortools_solver_1e3x100", statistics.median(solver) / ours_s, "times")


def mixes(requests_low: int, requests_high: int) -> Iterator[tuple[Requests, Osts, Policy]]:
    """Any mix of prefill, capacity, size and count, 100 OSTs and more."""
    draw = np.random.default_rng(requests_low)
    for number in range(MIXED):
        count = int(requests_low * (requests_high / requests_low) ** draw.random())
        ost_count = int(draw.choice([100, 120, 200, 400]))
        stripe_count = (
            np.full(count, draw.choice(COUNTS[:5])),
            draw.choice(COUNTS, count),
            draw.integers(1, 65, count),
        )[draw.integers(3)]
        size = (
            np.full(count, 8 * GIB),
            (2 << 20) * 10 ** draw.uniform(0, 4, count),
            8 * GIB * draw.uniform(0.5, 1.5, count),
            draw.choice([GIB, 3 * GIB, 10 * GIB], count),
        )[draw.integers(4)].astype(np.int64)
        room = int(draw.choice([2, 5, 20]) * size.sum() // ost_count)
        room += 3 * int((size // stripe_count).max())
        capacity = draw.choice([1, 2, 4], ost_count) if draw.random() < 0.5 else 1
        capacity = np.broadcast_to(capacity, ost_count) * room
        used = (capacity * draw.uniform(0, draw.choice([0, 0.3, 0.8]), ost_count)).astype(np.int64)
        speed = 1e9 * (draw.choice([0.25, 0.5, 1], ost_count) if draw.random() < 0.5 else 1.0)
        targets = Osts.make(
            capacity, capacity - used, oss=[ost // 10 for ost in range(ost_count)],
            bandwidth_bytes_per_s=speed,
        )  # fmt: skip
        objective = ("bandwidth", "space", "blend")[number % 3]
        yield Requests.make(size, stripe_count), targets, Policy(objective=objective, pfl="never")


def certificates(low: int, high: int, end: str) -> None:
    note(f"{MIXED} mixes of {low} to {high} requests")
    ratios = [allocate(*mix).certificate.ratio for mix in mixes(low, high)]
    report(f"allocate.certificate_mean{end}", statistics.fmean(ratios), "ratio")
    report(f"allocate.certificate_worst{end}", max(ratios), "ratio")


def main() -> None:
    scale()
    against_networkx()
    against_ortools()
    certificates(100, 3000, "")
    certificates(10, 100, "_few")


if __name__ == "__main__":
    main()
