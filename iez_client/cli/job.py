"""Job: what iez-run does around a job, in a process of its own.

python -m iez_client.cli.job prepare RUN_DIR [--plan FILE] [--mock DIR] [--mock-state FILE]
                                             [--trace-dir DIR] [--events yes] [--again]
python -m iez_client.cli.job empty FILE
python -m iez_client.cli.job finish RUN_DIR [--quiet]

Trouble is one line on standard error and an exit code; iez-run then runs the job without a plan,
or, where one was to be made again, with the one it has.
Arguments are read by hand: argparse alone would take as long as all the rest.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iez_common.errors import IezError, UsageError

if TYPE_CHECKING:
    from iez_client.trace import Tracing

PLAN_NAME = "plan"
_USAGE = (
    "iez_client.cli.job prepare RUN_DIR [--plan FILE] [--mock DIR] [--mock-state FILE] "
    "[--trace-dir DIR] [--events yes] [--again] | empty FILE | finish RUN_DIR [--quiet]"
)
_OPTIONS = {
    "--plan": "plan",
    "--mock": "mock",
    "--mock-state": "mock_state",
    "--trace-dir": "trace_dir",
    "--events": "events",
}
_FLAGS = ("--again", "--quiet")


def main(arguments: Sequence[str]) -> int:
    try:
        return _run(arguments)
    except IezError as error:
        hint = f" (try: {error.hint})" if error.hint else ""
        _say(error.message + hint + _consequence(arguments))
        return error.exit_code
    except Exception as error:  # part of iez-run: one line, and the job runs
        _say(f"{arguments[0]}: {type(error).__name__}: {error}" + _consequence(arguments))
        return IezError.exit_code


def _consequence(arguments: Sequence[str]) -> str:
    if "prepare" not in arguments:
        return ""
    if "--again" in arguments:
        return "; the job keeps the plan that it has"
    return "; the job runs without iez"


def _say(text: str) -> None:
    print(f"iez: {text}".replace("\n", " "), file=sys.stderr)


def _run(arguments: Sequence[str]) -> int:
    if len(arguments) < 2:
        raise UsageError("job: something is missing", _USAGE)
    command, target = arguments[0], Path(arguments[1])
    options = _options([word for word in arguments[2:] if word not in _FLAGS])
    if command == "prepare":
        prepare(target, options)
    elif command == "empty" and not options:
        empty(target)
    elif command == "finish" and not options:
        finish(target, quiet="--quiet" in arguments)
    else:
        raise UsageError(f"job: {command} is not known", _USAGE)
    return 0


def _options(words: Sequence[str]) -> dict[str, str]:
    found = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name not in _OPTIONS or (not equals and not rest):
            raise UsageError(f"job: {word} makes no sense here", _USAGE)
        found[_OPTIONS[name]] = value if equals else rest.pop(0)
    return found


def prepare(run_dir: Path, options: dict[str, str]) -> None:
    """Writes the job's plan into its run directory, and makes the directory of its traces."""
    from iez_client import trace
    from iez_client.plan.bind import write_plan
    from iez_client.plan.build import plan_for_job
    from iez_client.plan.read import Plan, read_plan
    from iez_common import config

    file = options.get("plan")
    settings = config.load(
        {name: options.get(name) for name in ("mock", "mock_state", "trace_dir")}
    )
    image = plan_for_job(Path(file) if file else None, settings)
    path = run_dir / PLAN_NAME
    if path.exists():  # made again: the traces stay where they are
        image = trace.Tracing.of(read_plan(path), path).stamp(image)
    elif Plan(image, "the plan").is_bound:
        image = trace.begin(run_dir, settings, "events" in options).stamp(image)
    elif "trace_dir" in options or "events" in options:
        _say("no Lustre is mounted here, so nothing is traced (try: --mock DIR)")
    write_plan(path, image, keep_old=True)


def empty(file: Path) -> None:
    """Writes a plan without entries or prefixes."""
    from iez_client.plan.bind import write_plan
    from iez_client.plan.build import empty_plan

    write_plan(file, empty_plan())


def finish(run_dir: Path, quiet: bool) -> None:
    """Says what was placed, or what was seen where there was nothing to place."""
    from iez_client import place, trace
    from iez_client.plan.read import read_plan

    path = run_dir / PLAN_NAME
    plan = read_plan(path)
    tracing = trace.Tracing.of(plan, path)
    trace.tidy(tracing, run_dir)
    if quiet:
        return
    outcomes = place.read_outcomes(tracing.directory, tracing.run)
    line = place.summary(outcomes) if plan.has_entries else _seen(tracing)
    if line:
        _say(line)


def _seen(tracing: "Tracing") -> str:
    from iez_client.cli.show_report import summarise
    from iez_client.parse.merge import merge_traces
    from iez_client.parse.table import FileTable
    from iez_client.parse.traces import traces_of
    from iez_client.trace import TRACES
    from iez_common import config
    from iez_common.units import format_about

    traces = traces_of(tracing.directory, tracing.run)
    if not traces.processes:
        return ""
    totals = summarise(FileTable(merge_traces(traces)), top=0, stat=False).totals
    if not totals.files:
        return ""
    state = config.load().path("state_dir")
    is_newest = state is not None and tracing.directory.parent == state / TRACES
    where = "" if is_newest else f" {tracing.directory}"
    files = f"{totals.files} file{'' if totals.files == 1 else 's'}"
    return f"{files} seen, {format_about(totals.write_bytes)} written (try: iez show{where})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
