"""Plots: the figures of a study as SVG and PNG, byte for byte the same for the same study."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iez_sim.drawing import BLUE, GREEN, ORANGE, PURPLE, STYLE, save
from iez_sim.place.figures import FIGURES, Figure, utilisation_percent
from iez_sim.place.setup import SetUp
from iez_sim.place.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_COLOURS = {"lustre-rr": ORANGE, "iez": BLUE, "iez-pfl": GREEN}
_COMPARED = (
    ("lustre-rr", ORANGE, "o"),
    ("lustre-qos", PURPLE, "s"),
    ("greedy", "#56B4E9", "^"),
    ("paper-rising", "#000000", "v"),
    ("random", "#999999", "D"),
)
_MARKERS = ("o", "s", "^")
_SHADES = (1.0, 0.75, 0.5)


def draw_all(
    study: Study, setups: Mapping[str, SetUp], folder: Path
) -> tuple[list[Path], dict[str, list[str]]]:
    """Writes every figure whose results are there. What was written, and of each figure that was
    not, what it lacks."""
    import matplotlib

    written: list[Path] = []
    lacking: dict[str, list[str]] = {}
    with matplotlib.rc_context(STYLE):
        for figure in FIGURES:
            missing = figure.missing(study)
            if missing:
                lacking[figure.name] = missing
            else:
                written += save(_draw(figure, study, setups), folder, figure.name)
        rows = [each.setup for each in study.results if each.strategy == "iez"]
        if rows:
            written += save(_overview(study, rows), folder, "overview")
    return written, lacking


def _draw(figure: Figure, study: Study, setups: Mapping[str, SetUp]) -> "Canvas":
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(7.2, 3.9), layout="constrained")
    axes = canvas.subplots()
    values = [utilisation_percent(figure, each, study, setups) for each in figure.series]
    kind = "OSS" if figure.by_oss else "OST"
    if figure.bars:
        _bars(axes, figure, values)
    else:
        _lines(axes, figure, values)
    axes.set_xticks(range(len(values[0])), [f"{kind}{n + 1}" for n in range(len(values[0]))])
    axes.tick_params(axis="x", length=0, labelsize=8)
    axes.set_ylabel(f"{kind} utilisation (%)")
    axes.set_ylim(0, 1.08 * max(map(max, values)))
    axes.set_title(figure.title, fontsize=10, loc="left")
    strategies = len({each.strategy for each in figure.series})
    # A column a strategy: legends are filled from top to bottom.
    columns = strategies if strategies > 1 else len(figure.series)
    canvas.legend(loc="outside lower center", ncols=columns)
    return canvas


def _lines(axes: "Axes", figure: Figure, values: Sequence[Sequence[float]]) -> None:
    order: dict[str, int] = {}
    for series, heights in zip(figure.series, values, strict=True):
        turn = order[series.strategy] = order.get(series.strategy, -1) + 1
        ours = series.strategy != "lustre-rr"
        axes.plot(
            heights,
            label=series.label,
            color=_COLOURS[series.strategy],
            alpha=_SHADES[turn],
            linestyle="-" if ours else "--",
            marker=_MARKERS[turn],
            markersize=4.5,
            markerfacecolor=None if ours else "white",
            linewidth=1.4,
        )


def _bars(axes: "Axes", figure: Figure, values: Sequence[Sequence[float]]) -> None:
    width = 0.8 / len(values)
    for turn, (series, heights) in enumerate(zip(figure.series, values, strict=True)):
        shift = (turn - (len(values) - 1) / 2) * width
        drawn = axes.bar(
            [at + shift for at in range(len(heights))],
            heights,
            width,
            label=series.label,
            color=_COLOURS[series.strategy],
            hatch="///" if series.strategy == "lustre-rr" else None,
            edgecolor="white",
            linewidth=0.5,
        )
        if figure.by_oss:
            axes.bar_label(drawn, fmt="{:.1f}", padding=2)


def _overview(study: Study, rows: Sequence[str]) -> "Canvas":
    """How long each strategy would take, against iez with plain layouts."""
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(7.2, 1.6 + 0.3 * len(rows)), layout="constrained")
    axes = canvas.subplots()
    for turn, (strategy, colour, marker) in enumerate(_COMPARED):
        points = []
        for at, setup in enumerate(rows):
            ours, theirs = study.find(setup, "iez"), study.find(setup, strategy)
            if ours and theirs:
                # Side by side, so that equal ones do not hide each other.
                points.append((theirs.predicted_s / ours.predicted_s, at + 0.17 * (turn - 2)))
        if points:
            across, down = zip(*points, strict=True)
            axes.plot(across, down, marker, color=colour, markersize=4, label=strategy)
    for at in range(0, len(rows), 2):
        axes.axhspan(at - 0.5, at + 0.5, color="#f3f3f3", zorder=0)
    axes.axvline(1, color=BLUE, linewidth=1.4, label="iez", zorder=1)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.grid(visible=True, axis="x")
    axes.set_xscale("log")
    axes.set_xlabel("predicted time, as a multiple of that of iez (left of 1: better than iez)")
    _number_ticks(axes)
    canvas.legend(loc="outside upper center", ncols=6)
    return canvas


def _number_ticks(axes: "Axes") -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    steps = (0.5, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50)
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(FixedLocator([each for each in steps if low <= each <= high]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
