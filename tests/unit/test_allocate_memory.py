"""The allocator's C code touches only memory of its own."""

from pathlib import Path

import pytest
from fuzz_programs import run_fuzzer

SOURCES = tuple(f"allocate_{part}" for part in ("order", "bound", "place", "fit", "polish"))


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 600), pytest.param(2, 15000, marks=pytest.mark.full)]
)
def test_the_kernel_runs_clean_under_the_sanitizers(tmp_path: Path, seed: int, count: int) -> None:
    reached = run_fuzzer(tmp_path, "fuzz_allocate", SOURCES, str(seed), str(count))
    assert reached["bounds"] > count
    assert reached["placed"] > count // 4
    assert reached["fitted"] > count // 20
