"""`iez db prune`: makes the database smaller."""

import argparse
import re

from iez_client.cli.application import memory
from iez_client.cli.commands import Parser, count_of

_DAY_S = 86400
_UNITS_S = {"h": 3600, "d": _DAY_S, "w": 7 * _DAY_S, "y": 365 * _DAY_S}
_AGE = re.compile(r"(\d{1,9})([hdwy])", re.ASCII)


def parser(command: str) -> Parser:
    prune = Parser(
        command,
        "Deletes runs of yours with all their files, and always what processes that died\n"
        "have left. What was learned from the runs in templates and plans stays.",
        "  iez db prune --keep 20\n  iez db prune --older 90d",
    )
    prune.add_argument(
        "--keep", metavar="N", type=_count, help="keep the N newest runs of each application"
    )
    prune.add_argument(
        "--older", dest="older_than_s", metavar="AGE", type=_age_s,
        help="delete runs that ended longer ago, such as 12h, 90d, 8w or 2y",
    )  # fmt: skip
    prune.add_argument(
        "--all-users", action="store_true", help="those of everybody, on a server that users share"
    )
    prune.set_defaults(run=run_prune)
    return prune


def run_prune(options: argparse.Namespace) -> int:
    from iez_client.learn.memory import owner_name
    from iez_common.units import format_about

    with memory() as database:
        owner = None if options.all_users else owner_name()
        pruned = database.prune(options.keep, options.older_than_s, owner)
        info = database.info()
    gone = f"{count_of(pruned.run_count, 'run')} and {count_of(pruned.file_count, 'file')} deleted"
    print(f"{info.place}: {gone}; {format_about(info.size_bytes)} now")
    return 0


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of runs")
    return int(text)


def _age_s(text: str) -> float:
    match = _AGE.fullmatch(text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not an age such as 90d")
    return float(int(match[1]) * _UNITS_S[match[2]])
