"""`iez table`: the interaction database as the paper prints it: requests, and their allocation."""

import argparse

from iez_client.cli.application import add_application, memory_of, word_for
from iez_client.cli.commands import Parser, shown


def parser(command: str) -> Parser:
    table = Parser(
        command,
        "Prints what the next run of an application is expected to write (Table I: file name,\n"
        "write bytes, stripe count, MPI rank) and where it is planned to go (Table II: file\n"
        "name, stripe size, stripe count, MPI rank, OST list), and how even that is beside\n"
        "Lustre's own round robin.",
        "  iez table hacc_like.py\n  iez table hacc_like.py --csv",
    )
    add_application(table)
    form = table.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--csv", action="store_true", help="print both tables as one, as CSV")
    table.set_defaults(run=run_table)
    return table


def run_table(options: argparse.Namespace) -> int:
    from iez_client.cli import table_report as report
    from iez_common.errors import InputError

    with memory_of(options.application) as (database, application):
        newest = database.newest_planning(application)
        if newest is None:
            raise InputError(
                f"{shown(application.name)}: nothing has been planned yet",
                f"iez plan make {word_for(application)}",
            )
        rows = report.rows_of(database.predictions(newest.id), database.layouts(newest.id))
        balance = report.balance_of(database, application, newest.planning, rows)
    if options.csv:
        report.print_csv(rows)
    elif options.json:
        report.print_tables_json(application, newest.planning, rows, balance)
    else:
        report.print_tables(rows, balance)
    return 0
