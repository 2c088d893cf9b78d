"""`iez apps`: the applications that iez has learned from."""

import argparse

from iez_client.cli.application import format_time, memory_if_any
from iez_client.cli.commands import Parser, print_json, print_table


def parser(command: str) -> Parser:
    apps = Parser(
        command,
        "Lists the applications that iez knows, the one that ran last first. An application\n"
        "is a program with the shape of its arguments, or what iez-run --app named so.",
        "  iez apps\n  iez apps --json",
    )
    apps.add_argument("--json", action="store_true", help="print JSON")
    apps.set_defaults(run=run_apps)
    return apps


def run_apps(options: argparse.Namespace) -> int:
    from iez_client.learn.memory import owner_name
    from iez_common.units import format_about

    with memory_if_any() as database:
        found = database.applications(owner_name()) if database else []
    if options.json:
        print_json(
            {
                "applications": [
                    {
                        "name": each.application.name,
                        "program": each.application.program,
                        "arguments": each.application.shape,
                        "key": each.application.key,
                        "runs": each.run_count,
                        "files": each.file_count,
                        "write_bytes": each.write_bytes,
                        "last_run_s": each.last_run_s,
                    }
                    for each in found
                ]
            }
        )
        return 0
    if database is None:
        return 0
    print_table(
        ("APPLICATION", "PROGRAM", "ARGUMENTS", "RUNS", "FILES", "WRITTEN", "LAST RUN"),
        [
            (
                each.application.name,
                each.application.program,
                each.application.shape or "-",
                str(each.run_count),
                str(each.file_count),
                format_about(each.write_bytes),
                format_time(each.last_run_s),
            )
            for each in found
        ],
    )
    return 0
