"""Bench: what the suites need: a place to work in, the C programs, and how a result is printed."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
CSRC = HERE.parent.parent / "csrc"
BIN = Path(sys.executable).parent
LIBRARY = Path(sysconfig.get_path("purelib"), "iez_client", "libiez_shim.so")
C_FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", f"-I{CSRC}"]
CORE = [CSRC / name for name in ("plan.c", "template.c", "layout.c")]

started = time.monotonic()


def report(metric: str, value: float, unit: str) -> None:
    """One result, on standard output."""
    rounded = float(f"{value:.3g}") if abs(value) < 0.01 else round(value, 3 if value < 100 else 1)
    print(json.dumps({"metric": metric, "value": rounded, "unit": unit}), flush=True)


def note(text: str) -> None:
    print(f"bench: {time.monotonic() - started:4.0f} s: {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """A directory for the suite's files. Others may pass through it, as the database server does,
    which does not run as root."""
    directory = Path(tempfile.mkdtemp(prefix="iez-bench-", dir=os.environ.get("IEZ_BENCH_DIR")))
    directory.chmod(0o711)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def compile_program(
    name: str, directory: Path, *extra: str | Path, compiler: str = os.environ.get("CC", "cc")
) -> Path:
    program = directory / name
    source = HERE / f"{name}.c"
    subprocess.run([*compiler.split(), *C_FLAGS, source, *extra, "-o", program], check=True)
    return program


def preloaded(plan: Path) -> dict[str, str]:
    """The environment in which a job's processes run."""
    return {"LD_PRELOAD": str(LIBRARY), "IEZ_PLAN": str(plan)}
