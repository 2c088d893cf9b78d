"""`iez config show`: every setting, its value and where it comes from."""

import argparse

from iez_client.cli.commands import Parser, print_json, print_table


def parser(command: str) -> Parser:
    show = Parser(
        command,
        "Prints every setting with its origin. A flag beats a variable IEZ_…, that beats\n"
        "~/.config/iez/config.toml, that beats /etc/iez/site.toml, that beats the default.",
        "  IEZ_MOCK=/tmp/lustre iez config show",
    )
    show.add_argument("--json", action="store_true", help="print JSON")
    show.set_defaults(run=run_show)
    return show


def run_show(options: argparse.Namespace) -> int:
    from iez_common import config

    settings = config.load().settings
    if options.json:
        values = [
            {"name": each.name, "value": each.shown or None, "origin": each.origin}
            for each in settings
        ]
        print_json({"settings": values})
        return 0
    helps = {known.name: known.help for known in config.KNOWN}
    print_table(
        ("SETTING", "VALUE", "ORIGIN", "MEANING"),
        [(each.name, each.shown or "-", each.origin, helps[each.name]) for each in settings],
    )
    return 0
