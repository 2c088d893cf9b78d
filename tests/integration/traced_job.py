"""Runs a job without and with iez and compares; then reads what the trace says of its files.

A job is a function from its output directory to its command, as in job_compare.
"""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from job_compare import BIN, TIMEOUT_S, Job, read_files, run
from side_by_side import is_any_of

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Traced:
    """What `iez parse --json` says of a run: its files by their names below `data`."""

    data: Path
    run: Record
    files: dict[str, Record]
    helpers: dict[str, Record]
    dropped: int

    def sizes(self) -> dict[str, int]:
        """What really lies there."""
        files = (path for path in self.data.rglob("*") if path.is_file() and not path.is_symlink())
        return {str(path.relative_to(self.data)): path.stat().st_size for path in files}

    def written(self) -> dict[str, int]:
        return {name: record["write_bytes"] for name, record in self.files.items()}


def run_both(
    folder: Path,
    job: Job,
    env: Mapping[str, str] | None = None,
    varying: Sequence[str] = (),
    options: Sequence[str] = (),
) -> Traced:
    """Runs the job twice, asserts that it did the same, and parses its trace. Of the files of
    `varying`, whose contents differ from run to run anyway, only the names are compared."""
    plain, traced = folder / "plain", folder / "trace"
    environ = {**os.environ, **(env or {}), "IEZ_STATE_DIR": str(folder / "state")}
    plain.mkdir(parents=True)
    traced.mkdir()
    front = [str(BIN / "iez-run"), "-q", "--trace-dir", str(folder / "traces")]

    plain_text = run(job(plain), plain, environ)
    traced_text = run([*front, "--mock", str(traced), *options, *job(traced)], traced, environ)

    assert traced_text == plain_text
    assert contents(traced, varying) == contents(plain, varying)
    return parse(folder / "traces", traced)


def contents(data: Path, varying: Sequence[str]) -> dict[str, tuple[int, str] | None]:
    found = read_files(data)
    assert found, "the job left no file"
    return {name: None if is_any_of(name, varying) else one for name, one in found.items()}


def parse(traces: Path, data: Path, *options: str) -> Traced:
    told = iez_json("parse", str(traces), *options)
    assert told["schema"] == 1
    assert told["damaged"] == []
    files: dict[str, Record] = {}
    helpers: dict[str, Record] = {}
    for record in told["files"]:
        name = str(Path(record["file_name"]).relative_to(data))
        (helpers if record["helper"] else files)[name] = record
    return Traced(data, told["run"], files, helpers, told["dropped"])


def iez_json(*words: str) -> Record:
    """What an `iez` command prints with --json."""
    command = [str(BIN / "iez"), *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    told: Record = json.loads(done.stdout)
    return told
