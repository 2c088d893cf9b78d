"""The examples run as their help says."""

import subprocess
import sys
from pathlib import Path

import pytest
from job_compare import assert_same_and_placed

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("build") / "checkpoint"
    source = str(EXAMPLES / "checkpoint.c")
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", source, "-o", str(program)], check=True)
    return program


def test_checkpoints_keep_their_layout_when_renamed(tmp_path: Path, checkpoint: Path) -> None:
    """The plan knows the temporary name; the layout goes with the file."""
    plan = {"ckpt_#.dat.tmp": [5, 6], "ckpt_#.dat": [5, 6]}
    outcomes = assert_same_and_placed(
        tmp_path, lambda data: [str(checkpoint), "3", "1", str(data)], plan
    )
    assert outcomes.placed == 3


def test_checkpoint_says_what_is_wrong(tmp_path: Path, checkpoint: Path) -> None:
    usage = subprocess.run([str(checkpoint), "x"], capture_output=True, text=True, check=False)
    assert (usage.returncode, usage.stdout) == (2, "")
    missing = [str(checkpoint), "1", "1", str(tmp_path / "a" / "b")]
    failed = subprocess.run(missing, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert "No such file" in failed.stderr


@pytest.mark.parametrize("name", ["ior_like.py", "hacc_like.py", "checkpoint"])
def test_help_ends_with_an_example(checkpoint: Path, name: str) -> None:
    python = [sys.executable, str(EXAMPLES / name)]
    command = [*(python if name.endswith(".py") else [str(checkpoint)]), "--help"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "example:" in text.splitlines()[-2]
    assert name.split(".", maxsplit=1)[0] in text.splitlines()[-1]
