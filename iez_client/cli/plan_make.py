"""`iez plan make`: the plan of an application's next run, made again from what is known."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from iez_client.cli.application import add_application, memory_of, word_for
from iez_client.cli.commands import Parser, count_of, shown
from iez_client.cli.parse import number

if TYPE_CHECKING:
    from iez_client.learn.planning import Made
    from iez_common.allocate import Policy
    from iez_common.database import Database
    from iez_common.knowledge import Application


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
    from iez_client.learn import stored
    from iez_client.learn.planning import like_the_last, make_plan
    from iez_common import config
    from iez_common.allocate.policy_file import policy_of

    settings = config.load(
        {"mock": options.mock, "mock_state": options.mock_state, "policy": options.policy}
    )
    with memory_of(options.application) as (database, application):
        next_run = like_the_last(database, application, options.ranks)
        made = make_plan(database, application, next_run, settings)
        if made.image is None:
            why = _why_nothing(database, application, made, policy_of(settings))
            print(f"{shown(application.name)}: there is nothing to place: {why}")
            return 0
    if options.output:
        _write(Path(options.output), made.image)
    files, paths = count_of(made.file_count, "file"), count_of(made.entry_count, "path")
    templates = count_of(made.rule_count, "template")
    path = stored.plan_path(settings, application.key)
    print(f"{path}: {made.planned_count} of {files}, {paths}, {templates}")
    print(f"next: iez table {word_for(application)}", file=sys.stderr)
    return 0


def _why_nothing(
    database: "Database", application: "Application", made: "Made", policy: "Policy"
) -> str:
    from iez_common.units import format_size

    newest = database.newest_planning(application)
    if not made.file_count or newest is None:
        return "no file on Lustre is expected"
    files = count_of(made.file_count, "file")
    whole = f"{files} is" if made.file_count == 1 else f"all {files} are"
    least_bytes = policy.pin_min_bytes
    if all(each.write_bytes < least_bytes for each in database.predictions(newest.id)):
        return f"{whole} smaller than {format_size(least_bytes)} (pin_min)"
    return f"{whole} left to Lustre by the policy"


def _write(path: Path, image: bytearray) -> None:
    from iez_common.atomic import replacing

    with replacing(path, 0o600) as file:
        file.write(image)
