"""Runs `iez` and the helper of iez-run as processes, where no setting of this machine counts."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEADER = "path,stripe_count,stripe_size,ost_list,pool\n"
IEZ = [sys.executable, "-m", "iez_client.cli.main"]
JOB = [sys.executable, "-m", "iez_client.cli.job"]
Run = Callable[..., subprocess.CompletedProcess[str]]


def clean_env(home: Path) -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith("IEZ_")}
    python = {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    return ours | python | {"HOME": str(home), "XDG_CONFIG_HOME": "", "COLUMNS": "120"}


def runner(program: list[str], home: Path) -> Run:
    """A function that runs `program WORDS…` in `home`; named arguments are variables."""

    def run(*words: str | Path, **extra: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*program, *map(str, words)],
            cwd=home,
            env=clean_env(home) | extra,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            check=False,
        )

    return run


def write_csv(home: Path, rows: str, name: str = "f.csv") -> Path:
    path = home / name
    path.write_text(HEADER + rows)
    return path
