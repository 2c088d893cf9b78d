"""Job: what iez-run does around a job, in a process of its own.

python -m iez_client.cli.job prepare RUN_DIR [--plan FILE] [--mock DIR] [--mock-state FILE]
                                             [--again]
python -m iez_client.cli.job empty FILE
python -m iez_client.cli.job finish RUN_DIR

Trouble is one line on standard error and an exit code; iez-run then runs the job without a plan,
or, where one was to be made again, with the one it has.
Arguments are read by hand: argparse alone would take as long as all the rest.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from iez_common.errors import IezError, UsageError

PLAN_NAME = "plan"
_USAGE = (
    "iez_client.cli.job prepare RUN_DIR [--plan FILE] [--mock DIR] [--mock-state FILE] [--again] | "
    "empty FILE | finish RUN_DIR"
)
_OPTIONS = {"--plan": "plan", "--mock": "mock", "--mock-state": "mock_state"}


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
    options = _options([word for word in arguments[2:] if word != "--again"])
    if command == "prepare":
        prepare(target, options)
    elif command == "empty" and not options:
        empty(target)
    elif command == "finish" and not options:
        finish(target)
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
    """Writes the job's plan into its run directory."""
    from iez_client.plan.bind import write_plan
    from iez_client.plan.build import plan_for_job
    from iez_common import config

    file = options.get("plan")
    flags = {name: options.get(name) for name in ("mock", "mock_state")}
    image = plan_for_job(Path(file) if file else None, config.load(flags))
    write_plan(run_dir / PLAN_NAME, image, keep_old=True)


def empty(file: Path) -> None:
    """Writes a plan without entries or prefixes."""
    from iez_client.plan.bind import write_plan
    from iez_client.plan.build import empty_plan

    write_plan(file, empty_plan())


def finish(run_dir: Path) -> None:
    """Says what was placed."""
    from iez_client.place import read_outcomes, summary

    line = summary(read_outcomes(run_dir))
    if line:
        _say(line)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
