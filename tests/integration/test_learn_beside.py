"""Applications that run at the same time are planned to fit in with each other."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from iez_run_command import IEZ_RUN
from learn_job import Run

pytest_plugins = ["iez_run_fixtures", "learn_fixtures"]

# So long that both have begun before one has ended.
LONG_WRITER = """
import pathlib, sys, time
pathlib.Path(sys.argv[1]).write_bytes(bytes(8 << 20))
time.sleep(2)
"""


def start(name: str, mock: Path, env: dict[str, str]) -> subprocess.Popen[str]:
    words = ["--mock", str(mock), "--app", name, sys.executable, "-c", LONG_WRITER]
    command = [IEZ_RUN, *words, str(mock / name)]
    return subprocess.Popen(command, env=env, text=True, stderr=subprocess.PIPE)


def test_two_that_run_together_get_different_osts(
    mock: Path, env: dict[str, str], run: Run, tell: Callable[..., dict]
) -> None:
    (mock / "iez-mock.toml").write_text("osts = 2\n")

    def planned(name: str) -> list[int]:
        (row,) = tell("table", name)["allocations"]
        return row["ost_list"]

    # Learned from at the very same moment, they may know of each other from the second time on.
    for says in ("the next run is planned", "1 file placed"):
        for started in [start(name, mock, env) for name in ("one", "two")]:
            _, said = started.communicate(timeout=60)
            assert started.returncode == 0
            assert says in said
        for name in ("one", "two"):
            (mock / name).unlink()
    assert sorted([planned("one"), planned("two")]) == [[0], [1]]
    # Each alone would get the first one.
    for name in ("three", "four"):
        run(
            "--mock",
            str(mock),
            "--app",
            name,
            "sh",
            "-c",
            f"head -c 8388608 /dev/zero > {mock}/{name}",
        )
        assert planned(name) == [0]
