"""`iez parse`: the trace files of a job in, one record a file out."""

import argparse
from pathlib import Path

from iez_client.cli.commands import Parser


def parser(command: str) -> Parser:
    parse = Parser(
        command,
        "Merges the trace files of a job's processes into one record a file, and prints\n"
        "them as CSV. Sizes and layouts are those of the files where they still exist.\n"
        "docs/tracing.md tells what each column means.",
        "  iez parse traces --csv files.csv\n  iez parse traces --json",
    )
    parse.add_argument("directory", metavar="TRACE_DIR", help="directory with trace files")
    parse.add_argument("--csv", metavar="FILE", help="write the CSV to FILE")
    parse.add_argument("--events", metavar="FILE", help="write every recorded write to FILE (CSV)")
    parse.add_argument("--json", action="store_true", help="print JSON")
    add_run_options(parse)
    parse.set_defaults(run=run_parse)
    return parse


def add_run_options(command: Parser) -> None:
    command.add_argument(
        "--run", dest="run_number", metavar="N", type=number,
        help="which run of a directory that holds several; 1: the oldest; default: the newest",
    )  # fmt: skip
    command.add_argument(
        "--no-stat", dest="stat", action="store_false",
        help="do not look at the files themselves, only at the traces",
    )  # fmt: skip


def number(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return int(text)


def run_parse(options: argparse.Namespace) -> int:
    from iez_client.cli import parse_report as report
    from iez_client.parse.table import read_table

    table = read_table(Path(options.directory), options.run_number)
    report.print_notes(table, options.run_number)
    if options.events:
        report.write_events(table, Path(options.events))
    if options.csv:
        report.write_csv(table, Path(options.csv), options.stat)
    if options.json:
        report.print_records_json(table, options.stat)
    elif not options.csv and not options.events:
        report.print_csv(table, options.stat)
    return 0
