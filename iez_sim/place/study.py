"""Study: set-ups in, what each strategy comes to on each out."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from iez_common.allocate import STRATEGIES, Allocation, Policy, allocate
from iez_common.allocate.policy import Objective, Pfl
from iez_common.errors import AllocationError
from iez_sim.place.paper_setups import table_ii
from iez_sim.place.setup import SetUp

SEEDS = 20


@dataclass(frozen=True, slots=True)
class Variant:
    """A strategy as the study runs it."""

    name: str
    strategy: str
    pfl: Pfl = "never"
    racing: bool = True  # else one create at a time
    chance: bool = False  # the seed matters: means over several are given

    def policy(self, setup: SetUp, objective: Objective, seed: int) -> Policy:
        return Policy(
            strategy=self.strategy,
            objective=objective,
            seed=seed,
            racing=setup.racing if self.racing else 1,
            pfl=self.pfl,
        )


_CHANCE = frozenset({"lustre-rr", "lustre-qos", "random"})
_EXTRA = {
    "iez": Variant("iez-pfl", "iez", pfl="always"),
    "lustre-rr": Variant("lustre-rr-1", "lustre-rr", racing=False, chance=True),
}


def variants() -> dict[str, Variant]:
    """Every strategy, and beside two of them another way to run it, in the order of the table."""
    known: dict[str, Variant] = {}
    for name in STRATEGIES:
        known[name] = Variant(name, name, chance=name in _CHANCE)
        if name in _EXTRA:
            known[_EXTRA[name].name] = _EXTRA[name]
    return known


@dataclass(frozen=True, slots=True)
class Result:
    """What a strategy comes to on a set-up: means, where the seed matters."""

    setup: str
    strategy: str
    objective: str
    paper: bool
    optimum: float  # 0: not known
    seeds: int
    ostcost_new: float
    ostcost_new_max: float
    ostcost_total: float
    oss_imbalance: float
    predicted_s: float
    value: float
    bound: float
    certificate: float
    files_split: int
    load_bytes: tuple[int, ...]  # new bytes of each OST, with the first seed


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A strategy that has no result on a set-up."""

    setup: str
    strategy: str
    reason: str


@dataclass(frozen=True, slots=True)
class Study:
    results: tuple[Result, ...]
    left_out: tuple[LeftOut, ...]
    table_ii_counts: tuple[int, ...]  # stripes of each OST in rising order; empty: not run

    def find(self, setup: str, strategy: str) -> Result | None:
        for each in self.results:
            if (each.setup, each.strategy) == (setup, strategy):
                return each
        return None


def run_study(
    setups: Sequence[SetUp],
    chosen: Sequence[Variant],
    objective: Objective,
    seeds: int = SEEDS,
    progress: Callable[[str, str], None] = lambda setup, strategy: None,
) -> Study:
    """`progress` hears of each set-up and strategy before it is run."""
    results: list[Result] = []
    left_out: list[LeftOut] = []
    for setup in setups:
        for variant in chosen:
            progress(setup.name, variant.name)
            try:
                results.append(run_one(setup, variant, objective, seeds))
            except AllocationError as error:
                left_out.append(LeftOut(setup.name, variant.name, error.message))
    return Study(tuple(results), tuple(left_out), _table_ii_counts(setups, chosen))


def run_one(setup: SetUp, variant: Variant, objective: Objective, seeds: int) -> Result:
    runs = [
        allocate(setup.requests, setup.osts, variant.policy(setup, objective, seed))
        for seed in range(seeds if variant.chance else 1)
    ]
    ends = [run.certificate for run in runs]
    return Result(
        setup=setup.name,
        strategy=variant.name,
        objective=objective,
        paper=setup.paper,
        optimum=setup.optimum,
        seeds=len(runs),
        ostcost_new=fmean(end.ostcost_new for end in ends),
        ostcost_new_max=max(end.ostcost_new for end in ends),
        ostcost_total=fmean(end.ostcost_total for end in ends),
        oss_imbalance=fmean(end.oss_imbalance for end in ends),
        predicted_s=fmean(end.predicted_s for end in ends),
        value=fmean(end.value for end in ends),
        bound=ends[0].bound,
        certificate=fmean(end.ratio for end in ends),
        files_split=max(len(run.splits) for run in runs),
        load_bytes=tuple(int(load) for load in runs[0].load_bytes),
    )


def stripes_per_ost(allocation: Allocation, ost_count: int) -> tuple[int, ...]:
    """How many stripes each OST got, in rising order."""
    counts = Counter(int(index) for index in allocation.ost_indices)
    return tuple(sorted(counts[index] for index in range(ost_count)))


def _table_ii_counts(setups: Sequence[SetUp], chosen: Sequence[Variant]) -> tuple[int, ...]:
    setup = table_ii()
    if setup.name not in {each.name for each in setups}:
        return ()
    if "paper-rising" not in {each.name for each in chosen}:
        return ()
    policy = Policy(strategy="paper-rising", racing=setup.racing, pfl="never")
    return stripes_per_ost(allocate(setup.requests, setup.osts, policy), len(setup.osts))
