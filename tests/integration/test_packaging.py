"""One command builds and installs everything: a wheel, a copy, an editable tree."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_SOURCE = {".git", "build", "dist", "__pycache__"}


def leave_out(folder: str, names: list[str]) -> set[str]:
    """What a fresh clone would not have: products of builds, caches, virtual environments."""
    return {
        name
        for name in names
        if name in NOT_SOURCE
        or name.endswith((".so", ".egg-info", "_cache"))
        or (Path(folder) / name / "pyvenv.cfg").exists()
    }


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command that must succeed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= {"HOME": str(cwd), "XDG_STATE_HOME": str(cwd / "state")}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def new_environment(folder: Path) -> Path:
    """The directory of programs of a new virtual environment."""
    run(sys.executable, "-m", "venv", folder, cwd=folder.parent)
    return folder / "bin"


def assert_places_a_file(programs: Path, folder: Path) -> None:
    mock = folder / "mock"
    mock.mkdir()
    rows = folder / "plan.csv"
    rows.write_text(f'path,stripe_count,stripe_size,ost_list,pool\n{mock}/**,2,1M,"1 0",\n')
    assert run(programs / "iez", "--version", cwd=folder).startswith("iez ")
    build = ["plan", "build", "--from", rows, "-o", folder / "plan", "--mock", mock]
    run(programs / "iez", *build, cwd=folder)
    job = ["--mock", mock, "--plan", folder / "plan", "tee", mock / "file"]
    run(programs / "iez-run", *job, cwd=folder)
    answer = json.loads(run(programs / "iez", "layout", "--json", mock / "file", cwd=folder))
    assert answer["files"][0]["components"][0]["osts"] == [1, 0]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the source tree, in a path with a space in it."""
    target = tmp_path / "a tree" / "iez"
    shutil.copytree(ROOT, target, ignore=leave_out, symlinks=True)
    return target


def test_wheel_works_in_a_new_environment(source: Path, tmp_path: Path) -> None:
    programs = new_environment(tmp_path / "new")
    run(programs / "pip", "wheel", "--no-deps", "-w", tmp_path, source, cwd=tmp_path)
    (wheel,) = tmp_path.glob("iez-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "iez_client/libiez_shim.so" in names
    assert [name for name in names if name.startswith("iez_common/_core.") and ".so" in name]
    assert not [name for name in names if name.startswith(("tests/", "csrc/", "build/"))]
    shutil.rmtree(source)
    run(programs / "pip", "install", wheel, cwd=tmp_path)
    assert_places_a_file(programs, tmp_path)


@pytest.mark.parametrize("options", [[], ["-e"]], ids=["copied", "editable"])
def test_installs_from_and_into_a_path_with_a_space(
    options: list[str], source: Path, tmp_path: Path
) -> None:
    programs = new_environment(tmp_path / "new environment")
    run(programs / "pip", "install", *options, ".", cwd=source)
    if not options:
        shutil.rmtree(source)
    assert_places_a_file(programs, tmp_path)
