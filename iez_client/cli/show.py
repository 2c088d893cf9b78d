"""`iez show`: what a job did with its files, for a person."""

import argparse
from pathlib import Path

from iez_client.cli.commands import Parser
from iez_client.cli.parse import add_run_options, number
from iez_common.errors import InputError, reason

_TOP = 10
TRACES_FOLDER = "traces"  # below the state directory; a folder a run


def parser(command: str) -> Parser:
    show = Parser(
        command,
        "Prints what a job did with its files: what ran, how much was written, the biggest\n"
        "files, file per process (FPP) or single shared file (SSF), the sizes of writes, and\n"
        "anything that the traces lack.",
        "  iez show\n  iez show traces --top 20",
    )
    show.add_argument(
        "target", metavar="RUN", nargs="?",
        help="trace directory, or the name of one that iez keeps; default: the newest of those",
    )  # fmt: skip
    show.add_argument(
        "--top", metavar="N", type=number, default=_TOP,
        help=f"print the N biggest files; default {_TOP}",
    )  # fmt: skip
    show.add_argument("--json", action="store_true", help="print JSON")
    add_run_options(show)
    show.set_defaults(run=run_show)
    return show


def run_show(options: argparse.Namespace) -> int:
    from iez_client.cli import parse_report, show_report
    from iez_client.parse.table import read_table

    table = read_table(find_run(options.target), options.run_number)
    parse_report.print_notes(table, options.run_number)
    summary = show_report.summarise(table, options.top, options.stat)
    if options.json:
        show_report.print_summary_json(table, summary)
    else:
        show_report.print_summary(table, summary)
    return 0


def find_run(target: str | None) -> Path:
    """The trace directory that is meant."""
    from iez_common import config

    state = config.load().path("state_dir")
    kept = state / TRACES_FOLDER if state else Path(TRACES_FOLDER)
    if target is None:
        return _newest(kept)
    below = kept / target
    if not Path(target).exists() and below.is_dir():
        return below
    return Path(target)


def _newest(kept: Path) -> Path:
    try:
        runs = [each for each in kept.iterdir() if each.is_dir()]
        newest = max(runs, key=lambda each: (each.stat().st_mtime_ns, each.name), default=None)
    except FileNotFoundError:
        newest = None
    except OSError as error:
        raise InputError(f"{kept}: {reason(error)}", "iez show TRACE_DIR") from None
    if newest is None:
        raise InputError(f"no run has been traced yet below {kept}", "iez show TRACE_DIR")
    return newest
