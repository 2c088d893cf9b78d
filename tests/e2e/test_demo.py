"""The demo, as the README has it: one command, the whole story."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
NAME = r"restart\.000(\d)-Part0000000(\d)-of-00000008\.data"


@pytest.mark.mpi
def test_the_demo_observes_two_jobs_and_then_places_them() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "demo"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    said = re.findall(r"^iez: (.*)$", done.stderr, re.M)
    assert said == [
        "24 files seen, 67.5M written; the next run is planned (try: iez table hacc_like.py)",
        "1 file seen, 256.0M written; the next run is planned (try: iez table ior_like.py)",
        "24 files placed (try: iez table hacc_like.py)",
        "1 file placed (try: iez table ior_like.py)",
    ]
    requests, allocations = done.stdout.split("Table II", 1)
    sizes = re.findall(rf"{NAME} +(\d+) +1 +(\d)$", requests, re.M)
    assert len(sizes) == 24
    assert all(part == rank for _, part, _, rank in sizes)
    osts = re.findall(rf"{NAME} +1048576 +1 +\d +(\d+)$", allocations, re.M)
    # What is written at the same time lies on OSTs of its own.
    for step in "012":
        assert len({ost for at, _, ost in osts if at == step}) == 8
    # And so it was placed: the table of the plan, and the files themselves.
    placed = re.findall(rf"^lustre/hacc/{NAME} .* raid0 +(\d+)$", done.stdout, re.M)
    assert len(placed) == 4
    assert set(placed) <= set(osts)
    # More even than round robin, as planned and as placed.
    costs = re.findall(
        r"^OSTCost ([\d.]+) (placed in the last run|planned) \(\d+ files?\), ([\d.]+) by Lustre",
        done.stdout, re.M,
    )  # fmt: skip
    assert [what for _, what, _ in costs] == ["planned", "placed in the last run"] * 2
    assert all(1 <= float(ours) < float(theirs) for ours, _, theirs in costs)
