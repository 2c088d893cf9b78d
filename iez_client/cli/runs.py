"""`iez runs`: the runs that iez has learned from, and what came of their plans."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iez_client.cli.application import add_application, format_time, memory, memory_if_any
from iez_client.cli.commands import Parser, print_json, print_table
from iez_client.cli.parse import number
from iez_common.knowledge import Outcome, Run

if TYPE_CHECKING:
    from iez_common.database import Database

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class _Told:
    """A run, and whose."""

    run: Run
    application: str
    outcomes: Sequence[Outcome]


def parser(command: str) -> Parser:
    runs = Parser(
        command,
        "Lists the runs that iez has learned from, the newest first: files, bytes, how many\n"
        "files were new to it, and what came of the plan.",
        "  iez runs\n  iez runs hacc_like.py --last 5",
    )
    add_application(runs, many=True)
    runs.add_argument(
        "--last", metavar="N", type=number, default=_SHOWN, help=f"the last N; default {_SHOWN}"
    )
    runs.add_argument("--json", action="store_true", help="print JSON")
    runs.set_defaults(run=run_runs)
    return runs


def run_runs(options: argparse.Namespace) -> int:
    with memory() if options.application else memory_if_any() as database:
        found = _find(database, options.application, options.last) if database else []
    _note_waiting()
    if options.json:
        _print_json(found)
    elif database:
        _print(found)
    return 0


def _find(database: "Database", word: str | None, last: int) -> list[_Told]:
    from iez_client.learn.memory import find_application, owner_name

    chosen = find_application(database, word) if word else None
    names = {each.application.id: each.application.name for each in database.applications()}
    return [
        _Told(each.run, names.get(each.application_id, "-"), database.outcomes(each.run.id))
        for each in database.runs(chosen, owner_name(), last)
    ]


def _print_json(found: Sequence[_Told]) -> None:
    print_json(
        {
            "runs": [
                {
                    "application": each.application,
                    "started_s": each.run.started_s,
                    "ended_s": each.run.ended_s,
                    "command": list(each.run.command),
                    "directory": each.run.directory,
                    "ranks": each.run.rank_count,
                    "hosts": each.run.host_count,
                    "exit_code": each.run.status,
                    "trace_dir": each.run.trace_dir,
                    "files": each.run.file_count,
                    "write_bytes": each.run.write_bytes,
                    "unknown_files": each.run.unknown_count,
                    "outcomes": {outcome.outcome: outcome.file_count for outcome in each.outcomes},
                }
                for each in found
            ]
        }
    )


def _print(found: Sequence[_Told]) -> None:
    from iez_common.units import format_about

    print_table(
        ("STARTED", "APPLICATION", "RANKS", "EXIT", "FILES", "WRITTEN", "NEW", "OUTCOME"),
        [
            (
                format_time(each.run.started_s),
                each.application,
                str(each.run.rank_count or "-"),
                str(each.run.status),
                str(each.run.file_count),
                format_about(each.run.write_bytes),
                str(each.run.unknown_count),
                ", ".join(f"{o.file_count} {o.why}" for o in each.outcomes) or "observed",
            )
            for each in found
        ],
    )


def _note_waiting() -> None:
    from iez_client.learn.note import kept_folders, notes_in
    from iez_client.trace import TRACES
    from iez_common import config

    state = config.load().path("state_dir")
    waiting = len(notes_in(kept_folders(state / TRACES))) if state else 0
    if waiting:
        runs = "1 run is" if waiting == 1 else f"{waiting} runs are"
        print(f"iez: note: {runs} not learned from yet (try: iez learn)", file=sys.stderr)
