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
    """The run directories that are there now."""
    return list((Path(env["HOME"]) / ".local/state/iez/runs").glob("*"))
