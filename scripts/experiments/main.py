"""The paper's experiments with real I/O, scaled down (docs/experiments.md)."""

import argparse
import sys
import time
from pathlib import Path

from cases import CASES, Case
from measure import run_case
from report import print_json, print_sentences, print_table

EXAMPLE = """  scripts/experiment --figures figures
  scripts/experiment --repeats 3 unequal slow-ost"""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/experiment",
        description="Runs kernels of IOR and HACC-I/O by MPI on a loopback file system, placed by "
        "Lustre's own rules and by iez in turn. Cases: "
        + ", ".join(case.name for case in CASES)
        + ".",
        epilog=f"example:\n{EXAMPLE}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help="default: all")
    parser.add_argument("--repeats", type=int, default=5, metavar="N", help="default 5")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="draw SVG and PNG files there")
    chosen = parser.parse_args()
    unknown = set(chosen.cases) - {case.name for case in CASES}
    if unknown:
        parser.error(f"there is no case {', '.join(sorted(unknown))}")
    if chosen.repeats < 1:
        parser.error("--repeats is a number from 1 on")
    return chosen


def chosen_cases(names: list[str]) -> list[Case]:
    return [case for case in CASES if not names or case.name in names]


def main() -> int:
    options = parse()
    start = time.monotonic()

    def note(text: str) -> None:
        print(f"experiment: {time.monotonic() - start:4.0f} s: {text}", file=sys.stderr, flush=True)

    results = [run_case(case, options.repeats, note) for case in chosen_cases(options.cases)]
    if options.figures:
        from figures import draw_all

        written = draw_all(results, options.figures)
        note(f"{len(written)} files written to {options.figures}")
    if options.json:
        print_json(results)
    else:
        print_table(results)
        print()
        print_sentences(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
