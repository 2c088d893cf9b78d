"""What the tests of iez-run know of it: where it is, what it says, what it leaves."""

import subprocess
import sys
from pathlib import Path

IEZ_RUN = str(Path(sys.executable).parent / "iez-run")
# Where iez-run finds it, which need not be where this process would.
WHERE = [sys.executable, "-P", "-c", "import iez_client; print(iez_client.__path__[0])"]
PACKAGES = Path(subprocess.run(WHERE, capture_output=True, text=True).stdout.strip()).parent
SHIM = PACKAGES / "iez_client" / "libiez_shim.so"
SHOW = 'printf "%s\\n" "$LD_PRELOAD" "$IEZ_PLAN"'


def iez_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("iez")]


def runs(env: dict[str, str]) -> list[Path]:
    """The run directories that are there now, but for the marks of launches that have ended."""
    found = (Path(env["HOME"]) / ".local/state/iez/runs").glob("*")
    return [path for path in found if not is_marks(path)]


def is_marks(path: Path) -> bool:
    """Whether only the marks of the last round of ranks are left."""
    names = {file.name for file in path.glob("*/*")}
    return "spoken" in names and all(name == "spoken" or name.endswith(".here") for name in names)
