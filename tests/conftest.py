"""What tests share: the built library, plans for a mock file system, programs run under both."""

import csv
import json
import os
import subprocess
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path

import pytest

import iez_client
from iez_client.cli import main as iez

pytest_plugins = ["loopback_fixtures"]

LIBRARY = Path(iez_client.__file__).parent / "libiez_shim.so"
COLUMNS = ("path", "stripe_count", "stripe_size", "ost_list", "pool")
TIMEOUT_S = 60

Row = Sequence[object]


def build_plan(plan: Path, mock: Path | None, rows: Iterable[Row], state: str = "") -> Path:
    """Builds a plan with `iez plan build`; without a mock for what is mounted here. `state` is the
    text of a mock state file."""
    for folder in (plan.parent, mock or plan.parent):
        folder.mkdir(parents=True, exist_ok=True)
    table = plan.with_suffix(".csv")
    with table.open("w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        csv.writer(file).writerows([COLUMNS, *rows])
    command = ["plan", "build", "--from", str(table), "-o", str(plan)]
    if mock:
        command += ["--mock", str(mock)]
    if state:
        state_file = plan.with_suffix(".toml")
        state_file.write_text(state)
        command += ["--mock-state", str(state_file)]
    assert iez.main(command) == 0
    return plan


def shim_environment(plan: Path, **extra: str) -> dict[str, str]:
    """The environment of a process under the plan."""
    return {**os.environ, "LD_PRELOAD": str(LIBRARY), "IEZ_PLAN": str(plan), **extra}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tells scripts/check-report, by the file IEZ_TEST_REPORT, what each test came to."""
    report = yield
    path = os.environ.get("IEZ_TEST_REPORT")
    if path and (report.when == "call" or report.outcome != "passed"):
        markers = sorted({mark.name for mark in item.iter_markers()})
        line = {"name": item.nodeid, "markers": markers, "outcome": report.outcome}
        with Path(path).open("a") as file:
            file.write(json.dumps(line) + "\n")
    return report


@pytest.fixture(scope="session")
def shim_library() -> Path:
    assert LIBRARY.exists(), f"{LIBRARY} was not built"
    return LIBRARY


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """An empty mock directory to work in."""
    work = tmp_path / "mock"
    work.mkdir()
    return work


@pytest.fixture
def mock_plan(tmp_path: Path, shim_library: Path) -> Callable[..., Path]:
    """Makes a plan: mock_plan(mock_directory, [(path, count, size, osts, pool), …])."""
    made = 0

    def make(mock: Path, rows: Iterable[Row] = (), state: str = "") -> Path:
        nonlocal made
        made += 1
        return build_plan(tmp_path / f"plan{made}" / "the.plan", mock, rows, state)

    return make


@pytest.fixture
def run_with_shim() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a command under a plan."""

    def run(
        command: Sequence[str | Path],
        plan: Path,
        env: Mapping[str, str] | None = None,
        **options: object,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            list(map(str, command)),
            env=shim_environment(plan, **(env or {})),
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            **options,
        )

    return run
