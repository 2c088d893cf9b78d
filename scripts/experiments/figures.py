"""Figures: in the manner of the paper's Figures 7 to 14."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cases import OST_BYTES, OST_COUNT, OSTS_PER_OSS
from measure import Result, by_server, cost_of, rate
from stage import Sample

from iez_sim.drawing import BLUE, ORANGE, STYLE, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

LABELS = (("Lustre's own placement", ORANGE, "--"), ("iez", BLUE, "-"))
MIB = 1 << 20


def draw_all(results: Sequence[Result], folder: Path) -> list[Path]:
    import matplotlib

    with matplotlib.rc_context(STYLE):
        written = save(_rates(results), folder, "rates")
        for result in results:
            written += save(_case(result), folder, result.case.name)
    return written


def _typical(result: Result, samples: Sequence[Sample]) -> Sample:
    """The run whose OSTCost is the median."""
    ordered = sorted(samples, key=lambda each: cost_of(each.load_bytes, result.case.speeds))
    return ordered[len(ordered) // 2]


def _case(result: Result) -> "Canvas":
    """How full the new bytes make each OST and each OSS; where some are slow, how long each of them
    takes."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(7.2, 3.6), layout="constrained")
    osts, servers = canvas.subplots(1, 2, width_ratios=(3, 1))
    is_slow = bool(result.case.slow_osts or result.case.slow_osss)
    for turn, ((label, colour, line), samples) in enumerate(
        zip(LABELS, (result.lustre, result.iez), strict=True)
    ):
        loads = _typical(result, samples).load_bytes
        if is_slow:
            values = [load / speed for load, speed in zip(loads, result.case.speeds, strict=True)]
            of_servers = [max(values[at : at + OSTS_PER_OSS]) for at in range(0, OST_COUNT, 5)]
        else:
            values = [100 * load / OST_BYTES for load in loads]
            of_servers = [100 * load / OST_BYTES / OSTS_PER_OSS for load in by_server(loads)]
        osts.plot(values, label=label, color=colour, linestyle=line, marker="o", markersize=4)
        at = [server + 0.4 * (turn - 0.5) for server in range(len(of_servers))]
        bars = servers.bar(at, of_servers, 0.4, color=colour, edgecolor="white")
        servers.bar_label(bars, fmt="{:.1f}", padding=2, fontsize=7)
    what = "seconds for its bytes" if is_slow else "utilisation (%)"
    _finish(osts, "OST", OST_COUNT, what)
    _finish(servers, "OSS", OST_COUNT // OSTS_PER_OSS, what)
    canvas.suptitle(result.case.title, fontsize=10)
    canvas.legend(loc="outside lower center", ncols=2)
    return canvas


def _finish(axes: "Axes", kind: str, count: int, what: str) -> None:
    axes.set_xticks(range(count), [f"{kind}{n}" for n in range(count)], rotation=60, fontsize=7)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel(f"{kind} {what}")
    axes.set_ylim(bottom=0)


def _rates(results: Sequence[Result]) -> "Canvas":
    """Write and read rate of each case, as the paper's Figure 10."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(7.2, 5.4), layout="constrained")
    for axes, what in zip(canvas.subplots(2, 1, sharex=True), ("write", "read"), strict=True):
        for turn, (label, colour, _) in enumerate(LABELS):
            samples = [result.iez if turn else result.lustre for result in results]
            values = [rate(each, what) / MIB for each in samples]
            at = [place + 0.4 * (turn - 0.5) for place in range(len(results))]
            name = label if what == "write" else None
            bars = axes.bar(at, values, 0.4, label=name, color=colour, edgecolor="white")
            axes.bar_label(bars, fmt="{:.0f}", padding=2, fontsize=7)
        limits = [sum(result.case.speeds) / MIB for result in results]
        axes.hlines(
            limits,
            [place - 0.45 for place in range(len(results))],
            [place + 0.45 for place in range(len(results))],
            colors="#555555",
            linestyles=":",
            label="sum of the OSTs" if what == "write" else None,
        )
        axes.set_ylabel(f"{what} rate (MB/s)")
        names = [result.case.name for result in results]
        axes.set_xticks(range(len(results)), names, rotation=30, fontsize=8)
    canvas.legend(loc="outside upper center", ncols=3)
    return canvas
