"""`iez loopback clean`: removes what daemons that died have left behind."""

import argparse

from iez_client.cli.commands import Parser


def parser(command: str) -> Parser:
    clean = Parser(
        command,
        "Removes the mounts and stores of loopback file systems whose daemon is gone, with their\n"
        "files; also those that `down --keep` kept. What is up stays.",
        "  iez loopback clean",
    )
    clean.set_defaults(run=run_clean)
    return clean


def run_clean(options: argparse.Namespace) -> int:
    from iez_client.loopback.down import clean

    for what in clean():
        print(f"removed {what}")
    return 0
