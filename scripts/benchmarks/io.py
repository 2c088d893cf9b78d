"""I/O: the cases of scripts/experiment, placed by Lustre's own rules and by iez in turn."""

import sys
from pathlib import Path

from bench import note, report

sys.path.append(str(Path(__file__).resolve().parents[1] / "experiments"))

from cases import CASES
from measure import run_case

REPEATS = 3


def main() -> None:
    fractions = []
    for case in CASES:
        result = run_case(case, REPEATS, note)
        name = case.name.replace("-", "_")
        report(f"io.write_ratio_{name}", result.write_ratio, "ratio")
        report(f"io.read_ratio_{name}", result.read_ratio, "ratio")
        fractions.append(result.limit_fraction)
    report("io.limit_fraction", max(fractions), "ratio")


if __name__ == "__main__":
    main()
