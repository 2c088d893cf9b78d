"""`iez plan make`: the plan of an application's next run, made again from what is known."""

import argparse
import sys
from pathlib import Path

from iez_client.cli.application import add_application, memory_of
from iez_client.cli.commands import Parser, count_of
from iez_client.cli.parse import number


def parser(command: str) -> Parser:
    make = Parser(
        command,
        "Predicts what the next run of an application will write, chooses OSTs for it as they\n"
        "are now, and stores the plan that iez-run will use. iez-run does this by itself after\n"
        "each run; this is for when the OSTs or the policy have changed.",
        "  iez plan make hacc_like.py\n  iez plan make hacc_like.py --ranks 64 -o my.plan",
    )
    add_application(make)
    make.add_argument(
        "--ranks", metavar="N", type=number, help="for N ranks; default: as last time"
    )
    make.add_argument("-o", dest="output", metavar="PLAN", help="also write the plan to PLAN")
    make.add_argument("--mock", metavar="DIR", help="directory to treat as Lustre")
    make.add_argument("--mock-state", metavar="FILE", help="state of the mock's OSTs")
    make.add_argument("--policy", metavar="FILE", help="what the site allows (TOML)")
    make.set_defaults(run=run_make)
    return make


def run_make(options: argparse.Namespace) -> int:
    from iez_client.learn.planning import like_the_last, make_plan
    from iez_common import config

    settings = config.load(
        {"mock": options.mock, "mock_state": options.mock_state, "policy": options.policy}
    )
    with memory_of(options.application) as (database, application):
        next_run = like_the_last(database, application, options.ranks)
        made = make_plan(database, application, next_run, settings)
    if made.path is None:
        print(f"{application.name}: there is nothing to place ({made.file_count} files)")
        return 0
    if options.output:
        _copy(made.path, Path(options.output))
    paths, templates = count_of(made.entry_count, "path"), count_of(made.rule_count, "template")
    print(f"{made.path}: {made.planned_count} of {made.file_count} files, {paths}, {templates}")
    print(f"next: iez table {application.name}", file=sys.stderr)
    return 0


def _copy(source: Path, target: Path) -> None:
    from iez_common.atomic import replacing

    with replacing(target, 0o600) as file:
        file.write(source.read_bytes())
