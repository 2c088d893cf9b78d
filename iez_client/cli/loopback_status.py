"""`iez loopback status`: the loopback file systems of this user and what they are set to."""

import argparse
import sys
from pathlib import Path

from iez_client.cli.commands import Parser


def parser(command: str) -> Parser:
    status = Parser(
        command,
        "Lists the loopback file systems that were brought up, with the settings of their OSTs.\n"
        "`iez osts` tells their space. Exit code 1 if there is none, or one that is dead.",
        "  iez loopback status\n  iez loopback status --json /tmp/lustre",
    )
    status.add_argument("dir", metavar="DIR", type=Path, nargs="?", help="only the one there")
    status.add_argument("--json", action="store_true", help="print JSON")
    status.set_defaults(run=run_status)
    return status


def run_status(options: argparse.Namespace) -> int:
    from iez_client.cli import loopback_report
    from iez_client.loopback.store import store_of, stores

    found = [store_of(options.dir)] if options.dir else list(stores())
    if options.json:
        loopback_report.print_stores_json(found)
    else:
        loopback_report.print_stores(found)
    if not found:
        print("iez: there is no loopback file system", file=sys.stderr)
        print("  try: iez loopback up DIR", file=sys.stderr)
    return 0 if found and all(store.pid for store in found) else 1
