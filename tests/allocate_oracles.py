"""Solvers that are slow and right: the least z of a small instance, for tests of the allocator."""

from dataclasses import dataclass

import numpy as np
from ortools.graph.python import min_cost_flow
from ortools.sat.python import cp_model

from iez_common.allocate import Osts, Policy, Requests
from iez_common.allocate.objective import targets_of

COST_UNITS = 10**6
OBJECTIVES = ("blend", "bandwidth", "space")


@dataclass(frozen=True, slots=True)
class Instance:
    """A few files of some hundred bytes for a few OSTs."""

    requests: Requests
    osts: Osts
    policy: Policy

    def columns(self):
        """Of each OST its free bytes, speed and offset; of each file the bytes and number of its
        stripes."""
        targets = targets_of(self.osts, self.policy)
        counts = self.requests.stripe_count
        stripes = -(-self.requests.write_bytes // counts)
        columns = targets.free_bytes, targets.speed, targets.offset, stripes, counts
        return tuple(column.tolist() for column in columns)


def instance_of(seed, equal_stripes=False):
    """Of 1 to 7 files and 2 to 6 OSTs: from hardly enough space to plenty, empty or filled, of one
    size and speed or of several."""
    chance = np.random.default_rng(seed)
    files, count = chance.integers(1, 8), chance.integers(2, 7)
    counts = chance.integers(1, chance.integers(1, count + 1) + 1, files)
    largest = chance.choice([1, 3, 20, 500])
    stripes = largest if equal_stripes else chance.integers(1, largest + 1, files)
    written = stripes * counts
    size = (int(written.sum()) // count + largest) * chance.choice([1, 1.2, 2, 10])
    uneven = chance.random() < 0.5
    sizes = (size * (chance.choice([1, 1.5, 4], count) if uneven else np.ones(count))).astype(int)
    used = (sizes * chance.uniform(0, 0.8, count) * chance.choice([0, 1])).astype(int)
    osts = Osts.make(
        sizes,
        sizes - used,
        bandwidth_bytes_per_s=chance.choice([1e8, 2e8, 3e8], count) if uneven else 1e8,
        promised_bytes=(used * chance.choice([0, 0, 0.1])).astype(int),
    )
    policy = Policy(objective=OBJECTIVES[seed % 3], pfl="never", pin_min_bytes=0)
    return Instance(Requests.make(written, counts), osts, policy)


def level_of(columns, loads):
    """The largest z."""
    _, speed, offset, *_ = columns
    levels = [(n + o) / s for n, o, s in zip(loads, offset, speed, strict=True) if n]
    return max(levels, default=0.0)


def optimum(columns):
    """The least z that whole stripes on different OSTs can have, within a millionth, by CP-SAT;
    None where they do not fit."""
    free, speed, offset, stripes, counts = columns
    model = cp_model.CpModel()
    on = [[model.new_bool_var("") for _ in free] for _ in stripes]
    for row, count in zip(on, counts, strict=True):
        model.add(sum(row) == count)
    scale = COST_UNITS * min(speed)
    most = round(scale * max((f + o) / s for f, o, s in zip(free, offset, speed, strict=True))) + 2
    # As a cost is not a whole number of units, it is counted in millionths of the cost of a byte.
    z = model.new_int_var(0, max(most, 1) * 2, "z")
    for ost, space in enumerate(free):
        load = sum(size * row[ost] for size, row in zip(stripes, on, strict=True))
        model.add(load <= space)
        cost, before = round(scale / speed[ost]), round(scale * offset[ost] / speed[ost])
        # An OST that gets nothing does not count, however full it is. (With a condition on the
        # constraint instead, the presolve of OR-tools 9.15 loses solutions.)
        is_used = model.new_bool_var("")
        for row in on:
            model.add_implication(row[ost], is_used)
        model.add(cost * load + before * is_used <= z)
    model.minimize(z)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    assert status == cp_model.OPTIMAL, solver.status_name(status)
    loads = [
        sum(size * solver.value(row[ost]) for size, row in zip(stripes, on, strict=True))
        for ost in range(len(free))
    ]
    return level_of(columns, loads)


def flow_optimum(columns):
    """The same where all stripes are of one size, by a flow of least convex cost; it is exact. The
    sets of stripes that OSTs can take together form a matroid, so the cheapest set also has the
    lowest highest cost, and only the order of costs matters."""
    free, speed, offset, stripes, counts = columns
    size, files, osts = stripes[0], len(counts), len(free)
    places = [
        ((n * size + offset[ost]) / speed[ost], ost, n)
        for ost in range(osts)
        for n in range(1, min(free[ost] // size, files) + 1)
    ]
    rank = {z: at for at, z in enumerate(sorted({place[0] for place in places}))}
    flow = min_cost_flow.SimpleMinCostFlow()
    source, sink = files + osts, files + osts + 1
    for file, count in enumerate(counts):
        flow.add_arc_with_capacity_and_unit_cost(source, file, count, 0)
        for ost in range(osts):
            flow.add_arc_with_capacity_and_unit_cost(file, files + ost, 1, 0)
    arcs = {
        flow.add_arc_with_capacity_and_unit_cost(files + ost, sink, 1, rank[z]): z
        for z, ost, _ in places
    }
    flow.set_node_supply(source, sum(counts))
    flow.set_node_supply(sink, -sum(counts))
    if flow.solve() != flow.OPTIMAL:
        return None
    return max(z for arc, z in arcs.items() if flow.flow(arc))
