"""Figures: which series each shows, in the manner of the paper's Figures 2, 3, 7–9 and 11–14."""

from collections.abc import Mapping
from dataclasses import dataclass

from iez_sim.place.setup import SetUp
from iez_sim.place.study import Study


@dataclass(frozen=True, slots=True)
class Series:
    """One strategy on one set-up: how full each OST or OSS gets with new bytes."""

    label: str
    setup: str
    strategy: str


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    title: str
    series: tuple[Series, ...]
    by_oss: bool = False
    bars: bool = False

    def missing(self, study: Study) -> list[str]:
        """What must be run too before this can be drawn."""
        wanted = [(each.setup, each.strategy) for each in self.series]
        return [f"{name} under {kind}" for name, kind in wanted if not study.find(name, kind)]


_NAMES = {"lustre-rr": "round robin", "iez": "iez", "iez-pfl": "iez, composite layout"}


def _sweep(pattern: str, processes: tuple[int, ...], *strategies: str) -> tuple[Series, ...]:
    """A line for each number of processes under each strategy."""
    return tuple(
        Series(f"{count} processes, {_NAMES[strategy]}", pattern.format(count), strategy)
        for strategy in strategies
        for count in processes
    )


def _beside(setup: str, *strategies: str) -> tuple[Series, ...]:
    """The strategies on one set-up."""
    return tuple(Series(_NAMES[strategy], setup, strategy) for strategy in strategies)


_BOTH = ("lustre-rr", "iez")
_SSF = (*_BOTH, "iez-pfl")
FIGURES = (
    Figure(
        "fig02",
        "IOR under Lustre's round robin: file per process, stripe count 8",
        _sweep("ior-{}p-sc8", (8, 16, 64), "lustre-rr"),
    ),
    Figure(
        "fig03",
        "HACC-I/O under Lustre's round robin: file per process, stripe count 8",
        _sweep("hacc-{}p", (8, 16, 32), "lustre-rr"),
    ),
    Figure(
        "fig07",
        "IOR: file per process, stripe count 8",
        _sweep("ior-{}p-sc8", (8, 16, 64), *_BOTH),
    ),
    Figure(
        "fig08",
        "IOR: file per process, stripe count 4",
        _sweep("ior-{}p-sc4", (8, 16, 64), *_BOTH),
    ),
    Figure(
        "fig09",
        "HACC-I/O: file per process, stripe count 8",
        _sweep("hacc-{}p", (8, 16, 32), *_BOTH),
    ),
    Figure(
        "fig11",
        "IOR, 64 processes, stripe count 8: the servers",
        _beside("ior-64p-sc8", *_BOTH),
        by_oss=True,
        bars=True,
    ),
    Figure(
        "fig12", "IOR: one file shared by 16 processes, 32 GB", _beside("ior-ssf", *_SSF), bars=True
    ),
    Figure(
        "fig13",
        "IOR: one file shared by 32 processes, 64 GB",
        _beside("ior-ssf-32p", *_SSF),
        bars=True,
    ),
    Figure("fig14", "IOR and HACC-I/O at the same time", _beside("ior-hacc", *_BOTH)),
)


def utilisation_percent(
    figure: Figure, series: Series, study: Study, setups: Mapping[str, SetUp]
) -> list[float]:
    """New bytes of each OST, or of each OSS, against its size."""
    result, osts = study.find(series.setup, series.strategy), setups[series.setup].osts
    assert result is not None, "ask missing() first"
    if not figure.by_oss:
        pairs = zip(result.load_bytes, osts.size_bytes.tolist(), strict=True)
        return [100 * load / size for load, size in pairs]
    loads, sizes = [0] * len(osts.oss_names), [0] * len(osts.oss_names)
    rows = zip(osts.oss.tolist(), result.load_bytes, osts.size_bytes.tolist(), strict=True)
    for oss, load, size in rows:
        loads[oss] += load
        sizes[oss] += size
    return [100 * load / size for load, size in zip(loads, sizes, strict=True)]
