"""The examples run as their help says."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from job_compare import assert_same_and_placed

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
MPIEXEC = Path(sys.executable).parent / "mpiexec"
RANKS = 3
KERNELS = {
    "ior_like.py": ["--block", "192K", "--transfer", "64K", "--segments", "2"],
    "hacc_like.py": ["--particles", "5001", "--header", "64K", "--spread", "0.7", "--steps", "2"],
}
OTHER_BYTES = """
import sys
import time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from kernel_files import Part, Share, Variable, read_posix
parts = iter([Part("a", 0, b"head"), Part("b", 0, b"word")])
read_posix(None, Share(Path(sys.argv[2]), [Variable("a", 4), Variable("b", 4)], parts))
"""


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


def run_kernel(name: str, out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    kernel = [sys.executable, str(EXAMPLES / name), *KERNELS[name], *words, "--out", str(out)]
    command = [str(MPIEXEC), "-n", str(RANKS), *kernel]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.mpi
@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("api", ["posix", "mpiio", "hdf5"])
@pytest.mark.parametrize("mode", ["--fpp", "--ssf"])
def test_kernels_read_what_they_wrote(tmp_path: Path, name: str, api: str, mode: str) -> None:
    plain = run_kernel(name, tmp_path / "plain", "--api", api, mode)
    both = run_kernel(name, tmp_path / "both", "--api", api, mode, "--fsync", "--read")
    assert (plain.returncode, both.returncode) == (0, 0), plain.stderr + both.stderr

    def lines(text: str) -> list[str]:
        return re.findall(r"^(.*bytes \d+ files \d+) seconds \d+\.\d{3}$", text, re.M)

    wrote = lines(plain.stdout)
    assert len(wrote) == (2 if "--steps" in KERNELS[name] else 1)
    assert lines(both.stdout) == [said for line in wrote for said in (line, f"read {line}")]


@pytest.mark.mpi
def test_a_kernel_that_reads_other_bytes_says_so_and_fails(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"headwoRd")
    command = [sys.executable, "-c", OTHER_BYTES, str(EXAMPLES), str(tmp_path / "file")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "file: 4 bytes at 4 are not what was written" in done.stderr


@pytest.mark.mpi
def test_jobs_that_meet_wait_for_each_other(tmp_path: Path) -> None:
    meeting = tmp_path / "meeting"
    meeting.mkdir()
    kernel = [sys.executable, str(EXAMPLES / "ior_like.py"), *KERNELS["ior_like.py"], "--read"]
    command = [str(MPIEXEC), "-n", "1", *kernel, "--meet", "2", str(meeting), "--out"]
    first = subprocess.Popen([*command, str(tmp_path / "a")], stdout=subprocess.PIPE, text=True)
    while not list(meeting.glob("write.*")):
        assert first.poll() is None
        time.sleep(0.05)
    assert not (tmp_path / "a" / "testFile.00000000").exists()
    second = subprocess.run([*command, str(tmp_path / "b")], timeout=60, check=False)
    first.communicate(timeout=60)
    assert (first.returncode, second.returncode) == (0, 0)
    assert len(list(meeting.glob("read.*"))) == 2
