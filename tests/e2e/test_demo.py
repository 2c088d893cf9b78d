"""The demo, as the README has it: one command, and the files lie where the allocator put them."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
NAME = r"restart-Part0000000(\d)-of-00000008\.data"


@pytest.mark.mpi
def test_the_demo_places_one_file_a_rank() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "demo"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "iez: 8 files placed" in done.stderr
    chosen = re.findall(rf"{NAME} +24\.4M +1 +16M +(\d+)$", done.stdout, re.M)
    found = re.findall(rf"^{NAME} .* raid0 +(\d+)$", done.stdout, re.M)
    assert sorted(found) == sorted(chosen)
    assert sorted(rank for rank, _ in found) == [str(rank) for rank in range(8)]
    osts = {int(ost) for _, ost in found}
    # Each on an OST of its own, and the three servers have about as many.
    assert len(osts) == 8
    assert sorted(sum(ost // 5 == server for ost in osts) for server in range(3)) == [2, 3, 3]
