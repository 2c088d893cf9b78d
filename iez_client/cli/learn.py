"""`iez learn`: learns from runs that nobody has learned from yet."""

import argparse
import sys
from pathlib import Path

from iez_client.cli.commands import Parser, count_of, shown
from iez_common.errors import IezError


def parser(command: str) -> Parser:
    learn = Parser(
        command,
        "Learns from runs whose traces are kept and that nobody has learned from. iez-run does\n"
        "this by itself; this is for runs that ended while the database was out of reach, and,\n"
        "with --again, for a new database in place of one that was lost.",
        "  iez learn\n  iez learn traces\n  iez learn --again",
    )
    learn.add_argument(
        "directory", metavar="TRACE_DIR", nargs="?", help="also those of this trace directory"
    )
    learn.add_argument(
        "--again", action="store_true",
        help="also from runs that this database does not know, though they were learned from "
        "before",
    )  # fmt: skip
    learn.set_defaults(run=run_learn)
    return learn


def run_learn(options: argparse.Namespace) -> int:
    from iez_client.learn.lesson import learn_all
    from iez_client.parse.traces import find_traces
    from iez_common import config

    directory = Path(options.directory) if options.directory is not None else None
    if directory:
        find_traces(directory)  # a wrong name must not pass for one that has been learned from
    lessons = learn_all(config.load(), directory, options.again)
    for lesson in lessons:
        if isinstance(lesson, IezError):
            hint = f" (try: {lesson.hint})" if lesson.hint else ""
            print(f"iez: {lesson.message}{hint}", file=sys.stderr)
        elif lesson.trouble:
            print(f"iez: {shown(lesson.application.name)}: {lesson.trouble}", file=sys.stderr)
        else:
            files = count_of(lesson.file_count, "file")
            have = "has" if lesson.planned_count == 1 else "have"
            planned = f"{lesson.planned_count} of the next run {have} a place"
            print(f"{shown(lesson.application.name)}: {files}, {planned}")
    if not lessons:
        print("there is no run left to learn from")
    failed = [lesson for lesson in lessons if isinstance(lesson, IezError)]
    return failed[0].exit_code if failed else 0
