"""`iez runs`: the runs that iez has learned from, and what came of their plans."""

import argparse
import sys

from iez_client.cli.application import add_application, format_time, memory
from iez_client.cli.commands import Parser, print_json, print_table
from iez_client.cli.parse import number

_SHOWN = 20


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
    from iez_client.learn.memory import find_application, owner_name
    from iez_common.units import format_about

    with memory() as database:
        chosen = find_application(database, options.application) if options.application else None
        found = database.runs(chosen, owner_name(), options.last)
        names = {each.application.id: each.application.name for each in database.applications()}
        outcomes = {each.run.id: database.outcomes(each.run.id) for each in found}
    _note_waiting()
    if options.json:
        print_json(
            {
                "runs": [
                    {
                        "application": names.get(each.application_id),
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
                        "outcomes": {
                            outcome.outcome: outcome.file_count for outcome in outcomes[each.run.id]
                        },
                    }
                    for each in found
                ]
            }
        )
        return 0
    print_table(
        ("STARTED", "APPLICATION", "RANKS", "EXIT", "FILES", "WRITTEN", "NEW", "OUTCOME"),
        [
            (
                format_time(each.run.started_s),
                names.get(each.application_id, "-"),
                str(each.run.rank_count or "-"),
                str(each.run.status),
                str(each.run.file_count),
                format_about(each.run.write_bytes),
                str(each.run.unknown_count),
                ", ".join(f"{o.file_count} {o.why}" for o in outcomes[each.run.id]) or "observed",
            )
            for each in found
        ],
    )
    return 0


def _note_waiting() -> None:
    from iez_client.learn.note import kept_folders, notes_in
    from iez_client.trace import TRACES
    from iez_common import config

    state = config.load().path("state_dir")
    waiting = len(notes_in(kept_folders(state / TRACES))) if state else 0
    if waiting:
        runs = "1 run is" if waiting == 1 else f"{waiting} runs are"
        print(f"iez: note: {runs} not learned from yet (try: iez learn)", file=sys.stderr)
