"""What the tests of learning know: a job that writes files, and the command that tells of it."""

import subprocess
from collections.abc import Callable
from pathlib import Path

from iez_run_command import IEZ_RUN

IEZ = str(Path(IEZ_RUN).with_name("iez"))
Run = Callable[..., subprocess.CompletedProcess[str]]
MIB = 1 << 20
# Writes files of some MiB, as FILES says (NAME=MIB …), in the directory that --out names.
WRITER = """\
import argparse, os, pathlib, sys
options = argparse.ArgumentParser()
options.add_argument("--out", type=pathlib.Path, required=True)
options.add_argument("--exit", type=int, default=0)
chosen = options.parse_args()
chosen.out.mkdir(parents=True, exist_ok=True)
for word in os.environ["FILES"].split():
    name, _, size = word.partition("=")
    (chosen.out / name).write_bytes(bytes(int(float(size) * (1 << 20))))
sys.exit(chosen.exit)
"""
