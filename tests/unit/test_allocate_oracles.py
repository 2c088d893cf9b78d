"""The allocator against solvers that are slow and right, and against the paper's set-ups."""

from collections import Counter

import numpy as np
import pytest
from allocate_cases import often
from allocate_oracles import OBJECTIVES, flow_optimum, instance_of, level_of, optimum
from hypothesis import given
from hypothesis import strategies as st

from iez_common.allocate import Osts, Policy, Requests, allocate
from iez_common.errors import AllocationError
from iez_sim.place.paper_setups import paper_setups

SEEDS = st.integers(0, 1 << 32)
ELEVEN = [setup for setup in paper_setups() if setup.paper]
BY_OBJECTIVE = pytest.mark.parametrize("objective", OBJECTIVES)
SAMPLE = pytest.mark.parametrize(
    "count", [pytest.param(400, id="few"), pytest.param(2000, id="many", marks=pytest.mark.full)]
)


def solved(instance):
    try:
        return allocate(instance.requests, instance.osts, instance.policy)
    except AllocationError:
        return None


@often
@given(SEEDS)
def test_the_bound_is_never_above_the_optimum_nor_the_value_below_it(seed):
    instance = instance_of(seed)
    best, made = optimum(instance.columns()), solved(instance)
    if made is None:
        return
    assert best is not None  # what does not fit is not placed
    assert made.certificate.bound <= best * (1 + 1e-9)
    assert made.certificate.value >= best * (1 - 1e-5)
    assert made.certificate.value == pytest.approx(level_of(instance.columns(), made.load_bytes))


@often
@given(SEEDS)
def test_with_one_stripe_size_the_objective_is_that_of_the_convex_flow(seed):
    instance = instance_of(seed, equal_stripes=True)
    best, made = flow_optimum(instance.columns()), solved(instance)
    assert (best is None) == (made is None)
    if made is not None:
        assert made.certificate.value == pytest.approx(best, rel=1e-9)
        assert made.certificate.ratio == pytest.approx(1, rel=1e-9)


@SAMPLE
def test_small_instances_are_nearly_always_at_the_optimum(count):
    """Few large stripes on few OSTs with little space are the hard case. Of 6000, 97 to 99 in a
    hundred are at the optimum, the mean is 1.001 of it and the worst 1.35; 4 that would just fit
    are refused."""
    over = {objective: [] for objective in OBJECTIVES}
    refused = 0
    for seed in range(count):
        instance = instance_of(seed)
        best, made = optimum(instance.columns()), solved(instance)
        if made is not None:
            over[instance.policy.objective].append(made.certificate.value / best)
        else:
            refused += best is not None
    for objective, ratios in over.items():
        assert np.mean(np.array(ratios) < 1 + 1e-5) >= 0.96, objective
        assert np.mean(ratios) <= 1.003, objective
        assert max(ratios) <= 1.4, objective
    assert refused <= 0.005 * count


@pytest.mark.parametrize("setup", ELEVEN, ids=lambda setup: setup.name)
@BY_OBJECTIVE
def test_the_papers_set_ups_reach_their_optimum(setup, objective):
    whole = allocate(setup.requests, setup.osts, Policy(objective=objective, pfl="never"))
    assert whole.certificate.ostcost_new == pytest.approx(setup.optimum, abs=0.0006)
    assert whole.certificate.ostcost_total == whole.certificate.ostcost_new
    # Our own bound proves ten of them; that of the mixed one falls short by half a percent.
    assert whole.certificate.ratio <= (1.006 if setup.name == "ior-hacc" else 1.0001)


@pytest.mark.parametrize("setup", ELEVEN, ids=lambda setup: setup.name)
def test_two_split_files_at_most_even_the_papers_set_ups_out(setup):
    split = allocate(setup.requests, setup.osts, Policy(pfl="always"))
    assert split.certificate.ostcost_new <= 1.005
    assert len(split.splits) <= 2


def mixed(seed):
    """100 to 400 OSTs, filled by up to 80 %, of four capacities, for files of four orders."""
    chance = np.random.default_rng(seed)
    count, files = chance.integers(100, 401), chance.integers(50, 3000)
    written = (10 ** chance.uniform(6.5, 10.5, files)).astype(int)
    counts = np.minimum(chance.choice([1, 1, 2, 4, 8, 16, 64], files), count)
    capacity = 20 * int(written.sum()) // count + 10**11
    sizes = capacity * chance.choice([1, 2, 4, 8], count)
    used = (sizes * chance.uniform(0, 0.8, count)).astype(int)
    bandwidths = chance.choice([1e9, 2e9], count)
    osts = Osts.make(sizes, sizes - used, bandwidth_bytes_per_s=bandwidths)
    return Requests.make(written, counts), osts


@BY_OBJECTIVE
@pytest.mark.parametrize(
    "count", [pytest.param(12, id="few"), pytest.param(150, id="many", marks=pytest.mark.full)]
)
def test_on_a_hundred_osts_and_more_every_certificate_is_close_to_one(objective, count):
    policy = Policy(objective=objective, pfl="never")
    ratios = [allocate(*mixed(seed), policy).certificate.ratio for seed in range(count)]
    assert np.mean(ratios) <= 1.01
    assert max(ratios) <= 1.05


def test_every_stripe_of_the_eleven_is_on_its_own_ost():
    for setup in ELEVEN:
        for placement in allocate(setup.requests, setup.osts, Policy(pfl="never")):
            assert max(Counter(placement.osts).values()) == 1
