"""Fixtures of the tests of iez-run (a plugin of theirs): a user with a home, and iez-run itself."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from iez_run_command import IEZ_RUN


@pytest.fixture(scope="session")
def used_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which iez-run has run before: the first run makes the empty plan."""
    home = tmp_path_factory.mktemp("home")
    done = subprocess.run([IEZ_RUN, "true"], env={"HOME": str(home)}, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    return home


@pytest.fixture
def env(used_home: Path, tmp_path: Path) -> dict[str, str]:
    """A user without settings."""
    shutil.copytree(used_home, tmp_path / "home")
    return {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


@pytest.fixture
def run(env: dict[str, str], tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs iez-run in an empty directory that must stay empty."""
    here = tmp_path / "here"
    here.mkdir()

    def call(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [IEZ_RUN, *words]
        done = subprocess.run(
            command, env=env | more, cwd=here, capture_output=True, text=True, timeout=60
        )
        assert list(here.iterdir()) == []
        return done

    return call


@pytest.fixture
def mock(tmp_path: Path) -> Path:
    folder = tmp_path / "mock"
    folder.mkdir()
    return folder
