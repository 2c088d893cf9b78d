"""What the file system refuses: the program sees a plain open, and one counter says why."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import shim_environment
from differential import CASES, XATTR, compile_case, patch_plan, run_case, section

from iez_client.place import read_outcomes

INJECTIONS = {
    "EINVAL": "IEZ_REFUSED_EINVAL",
    "ENOSPC": "IEZ_REFUSED_ENOSPC",
    "EROFS": "IEZ_REFUSED_EROFS",
    "ENOBUFS": "IEZ_REFUSED_ENOBUFS",
    "EREMOTEIO": "IEZ_REFUSED_EREMOTEIO",
    "EEXIST": "IEZ_REFUSED_EEXIST",
    "EACCES": "IEZ_REFUSED_EACCES",
    "ENOTTY": "IEZ_REFUSED_ENOTTY",
    "EIO": "IEZ_REFUSED_OTHER",
    "silent": "IEZ_SILENT",
}
STATES = {
    "full": "IEZ_REFUSED_ENOSPC",
    "read-only": "IEZ_REFUSED_EROFS",
    "no-create": "IEZ_REFUSED_ENOBUFS",
    "inactive": "IEZ_REFUSED_EREMOTEIO",
}
MakePlan = Callable[..., Path]
NAMES = ("data_is_written_and_read_back", "open_creates_and_opens_again")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_case(CASES / "open_calls.c", tmp_path_factory.mktemp("program"))


def rows(work: Path, osts: str = "3 1") -> list[tuple[object, ...]]:
    return [(f"{work}/**", len(osts.split()), "1M", osts, "")]


def assert_plain(program: Path, work: Path, plan: Path, outcome: str) -> None:
    """One new file in each case: as without the library, without a layout, and counted."""
    for name in NAMES:
        plain = run_case(program, name, work, os.environ)
        assert run_case(program, name, work, shim_environment(plan)) == plain
        assert not any(XATTR in os.listxattr(file) for file in work.iterdir())
    outcomes = read_outcomes(plan.parent)
    assert outcomes["IEZ_PLACED"] == 0
    assert outcomes[outcome] >= len(NAMES)


@pytest.mark.parametrize(("injection", "outcome"), INJECTIONS.items())
def test_a_refused_file_is_created_plainly(
    injection: str, outcome: str, program: Path, tmp_path: Path, mock_plan: MakePlan
) -> None:
    work = tmp_path / "mock"
    work.mkdir()
    plan = mock_plan(work, rows(work), f'inject = "{injection}"\n')
    assert_plain(program, work, plan, outcome)


@pytest.mark.parametrize(("state", "outcome"), STATES.items())
def test_a_bad_ost_refuses_the_whole_list(
    state: str, outcome: str, program: Path, tmp_path: Path, mock_plan: MakePlan
) -> None:
    work = tmp_path / "mock"
    work.mkdir()
    plan = mock_plan(work, rows(work), f'[[ost]]\nindex = 1\nstate = ["{state}"]\n')
    assert_plain(program, work, plan, outcome)


def name_unknown_ost(image: bytearray, header: object) -> None:
    """The plan's live set loses OST 3, as if it had been taken out of service since."""
    osts = section(image, header, "osts", "struct iez_ost")
    assert osts[3].index == 3
    osts[3].index = 60000


def test_an_unknown_ost_is_never_sent_and_switches_the_library_off(
    program: Path, tmp_path: Path, mock_plan: MakePlan
) -> None:
    """Twenty processes: one line for all of them."""
    work = tmp_path / "mock"
    work.mkdir()
    plan = patch_plan(mock_plan(work, rows(work)), name_unknown_ost)
    script = "for i in 1 2 3 4 5 6 7 8 9 10; do (echo $i > a$i; echo $i > b$i) & done; wait"
    trace = tmp_path / "trace"
    done = subprocess.run(
        ["strace", "-f", "-o", str(trace), "-e", "trace=ioctl,fsetxattr", "sh", "-c", script],
        cwd=work,
        env=shim_environment(plan),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("iez: ")
    assert "OST" in lines[0]
    assert "fsetxattr" not in trace.read_text()
    assert len(list(work.iterdir())) == 20
    assert not any(XATTR in os.listxattr(file) for file in work.iterdir())
    outcomes = read_outcomes(plan.parent)
    assert outcomes["IEZ_PLACED"] == 0
    assert outcomes["IEZ_UNKNOWN_OST"] == outcomes.process_count == 10
