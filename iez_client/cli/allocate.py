"""`iez allocate`: what will be written in, a layout for each file out."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from iez_client.cli.commands import Parser
from iez_client.cli.request import add_request_options, decide_as_asked
from iez_common.errors import UsageError

if TYPE_CHECKING:
    from iez_client.request.decide import Decision


def parser(command: str) -> Parser:
    allocate = Parser(
        command,
        "Chooses stripe count, stripe size and OSTs for files that will be written, so that\n"
        "the OSTs are loaded evenly, and says how close that is to the best there is.\n"
        "FILE has the columns path and write_bytes, and if you like stripe_count, writers,\n"
        "access_bytes, high_bytes, pool and overstripe; or it is the table of iez parse.\n"
        "docs/allocate.md explains both, docs/policy.md what a site can set.",
        "  iez allocate --from files.csv -o layouts.json\n"
        "  iez parse traces --csv seen.csv && iez allocate --from seen.csv -o layouts.json\n"
        "  iez plan build --from layouts.json -o my.plan",
    )
    add_request_options(allocate)
    allocate.add_argument(
        "-o", dest="output", metavar="LAYOUTS",
        help="file to write for iez plan build: JSON (.json) or CSV",
    )  # fmt: skip
    allocate.set_defaults(run=run_allocate)
    return allocate


def run_allocate(options: argparse.Namespace) -> int:
    from iez_client.cli import allocate_report as report

    decision = decide_as_asked(options)
    output = Path(options.output) if options.output else None
    if output is not None:
        decision = _as_rows_if_csv(decision, output)
    if options.json:
        report.print_decision_json(decision)
    else:
        report.print_decision(decision)
    if output is not None:
        from iez_client.request.layouts import write_layouts

        count = write_layouts(output, decision.groups)
        if not options.json:
            report.print_written(output, count)
    return 0


def _as_rows_if_csv(decision: "Decision", output: Path) -> "Decision":
    """A row of a CSV file cannot say parts: then no file gets any."""
    from iez_client.request.layouts import is_json, needs_json

    if is_json(output):
        return decision
    if any(group.allocation.parts for group in decision.groups):
        note = "a CSV file cannot say layouts of several parts, so no file is split"
        print(f"iez: note: {note} (a name that ends in .json can)", file=sys.stderr)
        groups = tuple(group.without_parts() for group in decision.groups)
        decision = replace(decision, groups=groups)
    for group in decision.groups:
        if group.requests.overstripe.any() and any(map(needs_json, group.allocation)):
            raise UsageError(
                "a CSV file cannot say overstriping without a list of OSTs", "-o LAYOUTS.json"
            )
    return decision
