"""`iez learn`: learns from runs that nobody has learned from yet."""

import argparse
import sys
from pathlib import Path

from iez_client.cli.commands import Parser
from iez_common.errors import IezError


def parser(command: str) -> Parser:
    learn = Parser(
        command,
        "Learns from runs whose traces are there and that nobody has learned from: those of\n"
        "iez-run --learn=off is not among them. iez-run does this by itself; this is for runs\n"
        "that ended while the database was out of reach.",
        "  iez learn\n  iez learn traces",
    )
    learn.add_argument(
        "directory", metavar="TRACE_DIR", nargs="?", help="also those of this trace directory"
    )
    learn.set_defaults(run=run_learn)
    return learn


def run_learn(options: argparse.Namespace) -> int:
    from iez_client.learn.lesson import learn_all
    from iez_common import config

    directory = Path(options.directory) if options.directory else None
    lessons = learn_all(config.load(), directory)
    for lesson in lessons:
        if isinstance(lesson, IezError):
            hint = f" (try: {lesson.hint})" if lesson.hint else ""
            print(f"iez: {lesson.message}{hint}", file=sys.stderr)
        elif lesson.trouble:
            print(f"iez: {lesson.application.name}: {lesson.trouble}", file=sys.stderr)
        else:
            planned = f"{lesson.planned_count} files of the next run have a place"
            print(f"{lesson.application.name}: {lesson.file_count} files, {planned}")
    if not lessons:
        print("there is no run left to learn from")
    failed = [lesson for lesson in lessons if isinstance(lesson, IezError)]
    return failed[0].exit_code if failed else 0
