"""The demo, as the README has it: one command, and the files lie where the plan says."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.mpi
def test_the_demo_places_one_file_a_rank() -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "demo"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "iez: 8 files placed" in done.stderr
    rows = re.findall(
        r"restart-Part0000000(\d)-of-00000008\.data .* raid0 +([\d ]+)$", done.stdout, re.M
    )
    expected = {str(rank): [(4 * rank + k) % 15 for k in range(4)] for rank in range(8)}
    assert {rank: [int(ost) for ost in osts.split()] for rank, osts in rows} == expected
