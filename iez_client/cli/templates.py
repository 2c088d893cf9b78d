"""`iez templates`: the names behind an application's files."""

import argparse

from iez_client.cli.application import add_application, memory_of
from iez_client.cli.commands import Parser, print_json, print_table


def parser(command: str) -> Parser:
    templates = Parser(
        command,
        "Prints the templates of an application's file names: # is a number, * letters and\n"
        "digits, {…} a word of its command line or its working directory. Beside each: what\n"
        "its fields are, how many files and runs matched it, and an example.",
        "  iez templates hacc_like.py",
    )
    add_application(templates)
    templates.add_argument("--json", action="store_true", help="print JSON")
    templates.set_defaults(run=run_templates)
    return templates


def run_templates(options: argparse.Namespace) -> int:
    from iez_client.names import show

    with memory_of(options.application) as (database, application):
        found = sorted(database.templates(application), key=lambda each: -each.file_count)
    if options.json:
        print_json(
            {
                "application": application.name,
                "templates": [
                    {
                        "template": each.text,
                        "shown": show(each),
                        "fields": [
                            {
                                "kind": field.kind,
                                "width": field.width,
                                "first": field.first,
                                "stride": field.stride,
                            }
                            for field in each.fields
                        ],
                        "files": each.file_count,
                        "runs": each.run_count,
                        "example": each.example,
                    }
                    for each in found
                ],
            }
        )
        return 0
    print_table(
        ("TEMPLATE", "FIELDS", "FILES", "RUNS", "EXAMPLE"),
        [
            (
                show(each),
                " ".join(field.kind for field in each.fields if field.kind != "constant") or "-",
                str(each.file_count),
                str(each.run_count),
                each.example,
            )
            for each in found
        ],
    )
    return 0
