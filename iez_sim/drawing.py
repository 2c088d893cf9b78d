"""Drawing: what figures have in common: colours, style, and how they are saved."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from iez_common.errors import OutputError, reason

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

FORMATS = ("svg", "png")
# Okabe and Ito's colours: told apart by people who do not see red or green.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "iez",  # else the names inside the file are random
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "legend.frameon": False,
}
_DPI = 150


def save(canvas: "Canvas", folder: Path, name: str) -> list[Path]:
    """As each of FORMATS, byte for byte the same for the same figure."""
    paths = [folder / f"{name}.{kind}" for kind in FORMATS]
    plain: dict[str, dict[str, str | None]] = {"svg": {"Date": None}, "png": {"Software": None}}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, kind in zip(paths, FORMATS, strict=True):
            canvas.savefig(path, dpi=_DPI, metadata=plain[kind])
    except OSError as error:
        raise OutputError(f"{folder}: {reason(error)}") from None
    return paths
