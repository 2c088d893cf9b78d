"""`iez loopback down`: unmounts a loopback file system, and removes all of it."""

import argparse
import os
from pathlib import Path

from iez_client.cli.commands import Parser


def parser(command: str) -> Parser:
    down = Parser(
        command,
        "Unmounts a loopback file system and removes it with all its files; with --keep they\n"
        "stay, and `iez loopback up DIR` brings them back.",
        "  iez loopback down /tmp/lustre",
    )
    down.add_argument("dir", metavar="DIR", type=Path, nargs="?", help="which one, if several")
    down.add_argument("--keep", action="store_true", help="keep the files")
    down.set_defaults(run=run_down)
    return down


def run_down(options: argparse.Namespace) -> int:
    from iez_client.loopback.down import take_down
    from iez_client.loopback.store import store_of

    store = store_of(options.dir)
    os.chdir("/")  # it may be the current directory of this very process
    take_down(store, options.keep)
    return 0
