"""`iez osts`: the OSTs that this machine sees, as `lfs df` lists them, with servers and states."""

import argparse
import math
import sys

from iez_client.cli.commands import Parser

_DEADLINE_MAX_S = 3600.0


def parser(command: str) -> Parser:
    osts = Parser(
        command,
        "Lists the OSTs of every Lustre file system that is mounted here: server, space and\n"
        "state, as the client itself knows them; root is not needed. An OST that does not\n"
        "answer by the deadline is marked, and shown with its last known space.\n"
        "Exit code 1 if there is no file system, or one whose OSTs cannot be told.",
        "  iez osts\n  iez osts --mock /tmp/lustre --json",
    )
    osts.add_argument("--json", action="store_true", help="print JSON")
    osts.add_argument("--mock", metavar="DIR", help="directory to treat as Lustre")
    osts.add_argument("--mock-state", metavar="FILE", help="state of the mock's OSTs")
    osts.add_argument(
        "--refresh", action="store_true", help="ask again, even if it was done a moment ago"
    )
    osts.add_argument(
        "--deadline", dest="deadline_s", metavar="SECONDS", type=_seconds,
        help="how long to wait for OSTs that do not answer; default 5",
    )  # fmt: skip
    osts.set_defaults(run=run_osts)
    return osts


def run_osts(options: argparse.Namespace) -> int:
    from iez_client.cli import osts_report
    from iez_client.observe.osts import DEADLINE_S, observe
    from iez_common import config

    settings = config.load({"mock": options.mock, "mock_state": options.mock_state})
    found = observe(settings, options.refresh, options.deadline_s or DEADLINE_S)
    if options.json:
        osts_report.print_osts_json(found)
    else:
        osts_report.print_osts(found)
    if not found:
        print("iez: no Lustre file system is mounted here", file=sys.stderr)
        print("  try: iez osts --mock DIR", file=sys.stderr)
    for each in found:
        if each.trouble:
            print(f"iez: {each.prefix}: {each.trouble}", file=sys.stderr)
    return 0 if found and not any(each.trouble for each in found) else 1


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value <= _DEADLINE_MAX_S:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds up to an hour")
    return value
