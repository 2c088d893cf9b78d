"""`iez forget`: what was learned of an application goes, and its plan with it."""

import argparse

from iez_client.cli.application import add_application, memory_of
from iez_client.cli.commands import Parser, count_of, shown


def parser(command: str) -> Parser:
    forget = Parser(
        command,
        "Removes all that is known of an application: runs, files, templates, predictions and\n"
        "its plan. Its traces stay; its next run is observed as if it were the first.",
        "  iez forget hacc_like.py",
    )
    add_application(forget)
    forget.set_defaults(run=run_forget)
    return forget


def run_forget(options: argparse.Namespace) -> int:
    from iez_client.learn import stored
    from iez_common import config

    with memory_of(options.application) as (database, application):
        runs = len(database.runs(application))
        database.forget(application)
    stored.remove(config.load(), application.key)
    print(f"{shown(application.name)}: {count_of(runs, 'run')} forgotten")
    return 0
