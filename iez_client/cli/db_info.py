"""`iez db info`: where the database is, what it holds, how large it is."""

import argparse

from iez_client.cli.application import memory
from iez_client.cli.commands import Parser, print_json, print_table


def parser(command: str) -> Parser:
    info = Parser(
        command,
        "Says where the interaction database is (without a password), what software and\n"
        "which version of the schema it has, how many rows each table holds, and its size; or\n"
        "where it will be.",
        "  iez db info\n  IEZ_DATABASE=other.db iez db info --json",
    )
    info.add_argument("--json", action="store_true", help="print JSON")
    info.set_defaults(run=run_info)
    return info


def run_info(options: argparse.Namespace) -> int:
    from iez_client.learn.memory import has_memory
    from iez_common import config
    from iez_common.database import DatabaseInfo
    from iez_common.database.address import parse_address
    from iez_common.units import format_about

    settings = config.load()
    if is_there := has_memory(settings):
        with memory() as database:
            info = database.info()
    else:
        place = parse_address(config.database_url(settings)).place
        info = DatabaseInfo(place, kind="", revision="", rows=(), size_bytes=0)
    if options.json:
        print_json(
            {
                "place": info.place,
                "kind": info.kind or None,
                "revision": info.revision or None,
                "rows": dict(info.rows),
                "size_bytes": info.size_bytes,
            }
        )
        return 0
    if not is_there:
        print(f"{info.place}: not there yet; the first run that is learned from makes it")
        return 0
    print(f"{info.place}: {info.kind}, schema {info.revision}, {format_about(info.size_bytes)}")
    print_table(("TABLE", "ROWS"), [(table, str(count)) for table, count in info.rows])
    return 0
