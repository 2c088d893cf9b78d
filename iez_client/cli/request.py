"""What `iez allocate` and `iez explain` share: options, and the way from these to a decision."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from iez_client.cli.commands import Parser
from iez_common.errors import SourceError, UsageError

if TYPE_CHECKING:
    from iez_client.request.decide import Decision
    from iez_client.request.source import Asked
    from iez_common.allocate import Policy
    from iez_common.config import Config


def add_request_options(command: Parser) -> None:
    command.add_argument(
        "--from", dest="source", metavar="FILE", required=True,
        help="what will be written: CSV or JSON (.json), also that of iez parse",
    )  # fmt: skip
    command.add_argument("--mock", metavar="DIR", help="directory to treat as Lustre")
    command.add_argument("--mock-state", metavar="FILE", help="state of the mock's OSTs")
    command.add_argument("--policy", metavar="FILE", help="what the site allows (TOML)")
    command.add_argument("--strategy", metavar="NAME", help="how OSTs are chosen; default iez")
    command.add_argument(
        "--objective", metavar="NAME", help="what is made even: blend (default), bandwidth, space"
    )
    command.add_argument("--json", action="store_true", help="print JSON")


def decide_as_asked(options: argparse.Namespace) -> "Decision":
    """Reads what was asked for, looks at the OSTs, and allocates."""
    from iez_client.observe.osts import observe
    from iez_client.request.decide import decide
    from iez_client.request.source import read_requests
    from iez_common import config

    settings = config.load(
        {"mock": options.mock, "mock_state": options.mock_state, "policy": options.policy}
    )
    policy = _policy(settings, options)
    asked = read_requests(Path(options.source))
    file_systems = observe(settings)
    if not file_systems:
        raise SourceError(
            f"{options.source}: no Lustre file system is mounted here, so nothing can be placed",
            "--mock DIR to try it without Lustre",
        )
    decision = decide(asked.files, file_systems, policy)
    if not decision.groups:
        known = ", ".join(each.prefix for each in file_systems)
        raise SourceError(
            f"{options.source}: none of its files lies below {known}", "write whole paths"
        )
    _print_notes(asked, decision)
    return decision


def _policy(settings: "Config", options: argparse.Namespace) -> "Policy":
    from dataclasses import replace

    from iez_common.allocate import STRATEGIES
    from iez_common.allocate.policy import OBJECTIVES
    from iez_common.allocate.policy_file import policy_of

    policy = policy_of(settings)
    for name, known in (("strategy", tuple(STRATEGIES)), ("objective", OBJECTIVES)):
        value = getattr(options, name)
        if value is None:
            continue
        if value not in known:
            raise UsageError(f"--{name}: there is no {value!r}", f"one of: {', '.join(known)}")
        policy = replace(policy, **{name: value})
    return policy


def _print_notes(asked: "Asked", decision: "Decision") -> None:
    """One line about each kind of file that nothing is said about."""
    if decision.outside:
        first = decision.outside[0]
        _note(len(decision.outside), "lies on no known file system", "lie on no known file system",
              f", such as {first.path} ({first.where})")  # fmt: skip
    if asked.existing_count:
        _note(asked.existing_count, "was there before the run", "were there before the run")
    if asked.helper_count:
        what = "is a helper file of an MPI library", "are helper files of an MPI library"
        _note(asked.helper_count, *what)


def _note(count: int, one: str, several: str, more: str = "") -> None:
    what = f"1 file {one}" if count == 1 else f"{count} files {several}"
    print(f"iez: note: {what}{more}: left out", file=sys.stderr)
