"""Fixtures of the tests of learning (a plugin of theirs): a job, and what is asked afterwards."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from learn_job import IEZ, WRITER, Run


@pytest.fixture
def writer(tmp_path: Path) -> Path:
    path = tmp_path / "writer.py"
    path.write_text(WRITER)
    return path


@pytest.fixture
def job(run: Run, mock: Path, writer: Path) -> Run:
    """Runs the writer under iez-run, with options for iez-run in front of it if need be."""

    def call(
        *files: str, out: Path | None = None, options: tuple[str, ...] = (), **more: str
    ) -> subprocess.CompletedProcess[str]:
        words = ("--mock", str(mock), *options, sys.executable, str(writer), "--out")
        return run(*words, str(out or mock), FILES=" ".join(files), **more)

    return call


@pytest.fixture
def iez(env: dict[str, str]) -> Run:
    """Runs `iez` as the user of the test."""

    def call(*words: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
        command = [IEZ, *map(str, words)]
        return subprocess.run(command, env=env | more, capture_output=True, text=True, timeout=120)

    return call


@pytest.fixture
def tell(iez: Run) -> Callable[..., dict]:
    """What a command says as JSON."""

    def call(*words: str | Path, **more: str) -> dict:
        done = iez(*words, "--json", **more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


@pytest.fixture
def osts_of(iez: Run) -> Callable[..., dict[str, tuple[int, ...]]]:
    """The OSTs of files, by their names; none: empty."""

    def call(folder: Path) -> dict[str, tuple[int, ...]]:
        files = sorted(path for path in folder.iterdir() if path.is_file())
        done = iez("layout", "--json", *files)
        found = {}
        for each in json.loads(done.stdout)["files"]:
            components = each.get("components") or []
            found[Path(each["path"]).name] = tuple(
                ost for component in components for ost in component["osts"]
            )
        return found

    return call
