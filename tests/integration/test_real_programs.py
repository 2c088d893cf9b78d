"""Real programs do the same with the library as without it, where all their files are placed.

Each case is a script in scripts/. Comments at its head tell what cannot be compared:
`# varying: GLOB…` names files whose contents differ from run to run, `# unplaced: GLOB…` files
that get no layout because of how they are created.
"""

from pathlib import Path

import pytest
from side_by_side import SideBySide

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.sh"))
IDS = [script.stem for script in SCRIPTS]
NOTHING_PLACED = "# places nothing"


def globs(script: Path, what: str) -> list[str]:
    """The patterns of the comments `# WHAT: GLOB…` at the head of a script."""
    mark = f"# {what}: "
    lines = [line for line in script.read_text().splitlines() if line.startswith(mark)]
    return [glob for line in lines for glob in line.removeprefix(mark).split()]


def compare(script: Path, side_by_side: SideBySide) -> None:
    result = side_by_side.compare(
        ["bash", "-eu", script], globs(script, "varying"), globs(script, "unplaced")
    )
    assert result.status == 0, result.stderr.decode()
    assert side_by_side.outcome("IEZ_PLACED") > 0


@pytest.mark.parametrize("script", SCRIPTS, ids=IDS)
def test_script_does_the_same(script: Path, tmp_path: Path) -> None:
    compare(script, SideBySide(tmp_path))


@pytest.mark.parametrize("script", SCRIPTS, ids=IDS)
def test_script_does_the_same_when_symbols_are_bound_at_start(
    script: Path, tmp_path: Path, smoke: bool
) -> None:
    compare(script, SideBySide(tmp_path, env={"LD_BIND_NOW": "1"}))
