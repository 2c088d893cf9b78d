"""Job: what iez-run does around a job, in a process of its own.

python -m iez_client.cli.job prepare RUN_DIR [--plan FILE] [--mock DIR] [--mock-state FILE]
                                 [--trace-dir DIR] [--events yes] [--app NAME] [-- COMMAND…]
python -m iez_client.cli.job prepare RUN_DIR … --again
python -m iez_client.cli.job empty FILE
python -m iez_client.cli.job finish RUN_DIR --status N [--learn WHEN] [--quiet]
python -m iez_client.cli.job learn TRACE_DIR --state-dir DIR

Trouble is one line on standard error and an exit code; iez-run then runs the job without a plan,
or, where one was to be made again, with the one it has.
Arguments are read by hand: argparse alone would take as long as all the rest.
"""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iez_common.errors import IezError, UsageError

if TYPE_CHECKING:
    from iez_client.cli.job_line import Told
    from iez_client.learn.note import JobNote
    from iez_client.learn.ready import Ready
    from iez_client.trace import Tracing
    from iez_common.config import Config

PLAN_NAME = "plan"
_USAGE = "see the first lines of iez_client/cli/job.py"
_OPTIONS = {
    "--plan": "plan",
    "--mock": "mock",
    "--mock-state": "mock_state",
    "--trace-dir": "trace_dir",
    "--events": "events",
    "--app": "app",
    "--status": "status",
    "--learn": "learn",
    "--state-dir": "state_dir",
}
_FLAGS = ("--again", "--quiet")
_NO_PLAN = "the plan of earlier runs could not be used"


def main(arguments: Sequence[str]) -> int:
    try:
        return _run(arguments)
    except IezError as error:
        _say(error.message + _hint(error) + _consequence(arguments))
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


def _hint(error: IezError) -> str:
    return f" (try: {error.hint})" if error.hint else ""


def _say(text: str) -> None:
    print(f"iez: {text}".replace("\n", " "), file=sys.stderr)


def _run(arguments: Sequence[str]) -> int:
    words = list(arguments)
    at = words.index("--") if "--" in words else len(words)
    own, command = words[:at], words[at + 1 :]
    if len(own) < 2:
        raise UsageError("job: something is missing", _USAGE)
    options = _options([word for word in own[2:] if word not in _FLAGS])
    if own[0] == "prepare":
        prepare(Path(own[1]), options, command)
    elif own[0] == "empty" and not options:
        empty(Path(own[1]))
    elif own[0] == "finish":
        finish(Path(own[1]), options, quiet="--quiet" in own)
    elif own[0] == "learn":
        learn_pending(Path(own[1]), options)
    else:
        raise UsageError(f"job: {own[0]} is not known", _USAGE)
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


# Before the job


def prepare(run_dir: Path, options: dict[str, str], command: Sequence[str]) -> None:
    """Writes the job's plan into its run directory, and makes the directory of its traces."""
    from iez_client import trace
    from iez_client.plan.bind import write_plan
    from iez_client.plan.build import plan_for_job
    from iez_client.plan.read import Plan, read_plan
    from iez_common import config

    settings = config.load(
        {name: options.get(name) for name in ("mock", "mock_state", "trace_dir")}
        | {"state_dir": _state(run_dir)}
    )
    path = run_dir / PLAN_NAME
    file = options.get("plan")
    image = plan_for_job(Path(file) if file else None, settings)
    if path.exists():  # made again: the traces stay where they are
        image = trace.Tracing.of(read_plan(path), path).stamp(image)
    elif Plan(image, "the plan").is_bound:
        if command:
            image = _note_job(run_dir, command, options, settings, image)
        image = trace.begin(run_dir, settings, "events" in options).stamp(image)
    elif "trace_dir" in options or "events" in options:
        _say("no Lustre is mounted here, so nothing is traced (try: --mock DIR)")
    write_plan(path, image, keep_old=True)


def _state(run_dir: Path) -> str | None:
    from iez_client.trace import state_of

    state = state_of(run_dir.absolute())
    return str(state) if state else None


def _note_job(
    run_dir: Path,
    command: Sequence[str],
    options: dict[str, str],
    settings: "Config",
    image: bytes | bytearray,
) -> bytes | bytearray:
    """Writes down what the job is; gives the plan that earlier runs of it led to, where the user
    named none and there is one. Nothing that goes wrong here is in the job's way."""
    from dataclasses import replace

    from iez_client.learn.note import RUN_NOTE, note_of

    note = note_of(command, options.get("app", ""), os.environ)
    mock, state = settings.path("mock"), settings.path("mock_state")
    note = replace(note, mock=str(mock or ""), mock_state=str(state or ""))
    if "plan" in options:
        note = replace(note, plan="given")
    else:
        ready = _ready_plan(note, settings)
        note = replace(note, trouble=ready.trouble)
        if ready.image:
            note, image = replace(note, plan="learned"), ready.image
    note.write(run_dir / RUN_NOTE)
    return image


def _ready_plan(note: "JobNote", settings: "Config") -> "Ready":
    """What goes wrong here is told at the end of the job, with what came of it."""
    from iez_client.learn.ready import Ready, ready_plan

    try:
        return ready_plan(note, settings)
    except IezError as error:
        return Ready(trouble=f"{_NO_PLAN}: {error.message}{_hint(error)}")
    except Exception as error:  # the job matters more
        return Ready(trouble=f"{_NO_PLAN}: {type(error).__name__}: {error}")


def empty(file: Path) -> None:
    """Writes a plan without entries or prefixes."""
    from iez_client.plan.bind import write_plan
    from iez_client.plan.build import empty_plan

    write_plan(file, empty_plan())


# After the job


def finish(run_dir: Path, options: dict[str, str], quiet: bool) -> None:
    """Learns from the run, and says what was placed and seen."""
    from dataclasses import replace

    from iez_client import trace
    from iez_client.cli import job_line
    from iez_client.plan.read import read_plan
    from iez_common import config

    path = run_dir / PLAN_NAME
    plan = read_plan(path)
    tracing = trace.Tracing.of(plan, path)
    note = _ended_note(run_dir, tracing, int(options.get("status", "0")))
    trace.tidy(tracing, run_dir)
    settings = config.load({"learn": options.get("learn"), "state_dir": _state(run_dir)})
    when = settings["learn"].value
    told = job_line.Told(before=note.trouble if note else "")
    if note is not None and when != "off" and trace.has_any(tracing):
        told = replace(_learn(note, tracing, settings, when), before=note.trouble)
    if quiet and not told.trouble:
        return
    line = job_line.summary(plan, tracing, told, settings)
    if line:
        _say(line)


def _ended_note(run_dir: Path, tracing: "Tracing", status: int) -> "JobNote | None":
    from iez_client.learn.note import RUN_NOTE, read_note

    if not (run_dir / RUN_NOTE).exists():
        return None
    return read_note(run_dir / RUN_NOTE).ended(tracing.run, status, time.time())


def _learn(note: "JobNote", tracing: "Tracing", settings: "Config", when: str) -> "Told":
    """The note stays beside the traces until all is well: nothing is lost meanwhile."""
    from iez_client.cli.job_line import Told
    from iez_client.learn.note import pending_path

    pending = pending_path(tracing.directory, note.run)
    try:
        note.write(pending)
        if when == "later":
            _start_learner(tracing.directory, settings)
            return Told(is_later=True)
        from iez_client.learn.lesson import learn_abandoned, learn_from

        lesson = learn_from(pending, settings)
        learn_abandoned(settings, time.time())
        return Told(lesson=lesson)
    except IezError as error:
        return Told(trouble=f"{error.message}{_hint(error)}")
    except Exception as error:  # the job has ended well: this is no reason to say otherwise
        return Told(trouble=f"{type(error).__name__}: {error} (try: iez learn)")


def _start_learner(directory: Path, settings: "Config") -> None:
    from iez_client import helpers

    words = ["learn", str(directory), "--state-dir", settings["state_dir"].value]
    helpers.start(str(Path(__file__).parent.parent), words, silent=True, detached=True)


def learn_pending(directory: Path, options: dict[str, str]) -> None:
    """In the background: learns from the runs of `directory` and from those that were left."""
    from iez_client.learn.lesson import learn_all
    from iez_common import config

    learn_all(config.load({"state_dir": options.get("state_dir")}), directory)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
