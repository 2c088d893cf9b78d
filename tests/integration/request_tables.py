"""Tables of files to be written, for the tests of commands that allocate, and what they print."""

import re
import subprocess
from pathlib import Path

FROM = ["--from", "files.csv", "--mock", "mock"]
SICK = """
osts = 15
[[ost]]
index = 2
state = ["degraded"]
[[ost]]
index = 5
state = ["read-only"]
"""


def files(home: Path, *rows: str, header: str = "path,write_bytes,writers,stripe_count") -> Path:
    path = home / "files.csv"
    path.write_text("\n".join([header, *rows, ""]))
    return path


def rows(text: str) -> list[list[str]]:
    return [re.split("  +", line) for line in text.splitlines()]


def assert_one_line(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert done.stdout == ""
    first, *more = done.stderr.splitlines()
    assert first.startswith("iez: ")
    assert message in first
    assert len(more) == 1
    assert more[0].startswith("  try: ")
