"""`iez db upgrade`: makes the tables, or brings them to the newest version."""

import argparse

from iez_client.cli.commands import Parser
from iez_client.cli.db import made_database


def parser(command: str) -> Parser:
    upgrade = Parser(
        command,
        "Makes the tables of the interaction database, or brings older ones to the version\n"
        "of this iez. On a server this is the only way; a file is upgraded when it is opened.\n"
        "Older versions of iez cannot use the database afterwards.",
        "  iez db upgrade",
    )
    upgrade.set_defaults(run=run_upgrade)
    return upgrade


def run_upgrade(_: argparse.Namespace) -> int:
    with made_database(upgrade=True) as database:
        info = database.info()
    print(f"{info.place}: schema {info.revision}")
    return 0
