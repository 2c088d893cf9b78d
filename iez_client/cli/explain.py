"""`iez explain`: why each OST was or was not chosen, and each file got the layout that it got."""

import argparse
from typing import TYPE_CHECKING

from iez_client.cli.commands import Parser
from iez_client.cli.parse import number
from iez_client.cli.request import add_request_options, decide_as_asked
from iez_common.errors import UsageError

if TYPE_CHECKING:
    from iez_client.cli.explain_report import Subject
    from iez_client.request.decide import Decided


def parser(command: str) -> Parser:
    explain = Parser(
        command,
        "Allocates as iez allocate does, and says why: of every OST whether it was chosen, of\n"
        "every file where its stripe count and size come from. --file tells of one file why it\n"
        "was put on each OST or not, --ost of one OST the same for each file.",
        "  iez explain --from files.csv\n"
        "  iez explain --from files.csv --file /lustre/run/out.h5\n"
        "  iez explain --from files.csv --ost 7 --json",
    )
    add_request_options(explain)
    explain.add_argument("--file", metavar="PATH", help="only this file, as FILE names it")
    explain.add_argument("--ost", metavar="N", type=number, help="only the OST with this index")
    explain.set_defaults(run=run_explain)
    return explain


def run_explain(options: argparse.Namespace) -> int:
    from iez_client.cli import explain_report as report

    decision = decide_as_asked(options)
    subjects = [_subject(group, options) for group in decision.groups]
    if options.file is not None:
        subjects = [subject for subject in subjects if subject.files]
        if not subjects:
            raise UsageError(
                f"{options.source} has no file {options.file}", "iez allocate lists its files"
            )
    if options.ost is not None:
        subjects = [subject for subject in subjects if subject.osts]
        if not subjects:
            raise UsageError(f"there is no OST {options.ost}", "iez osts lists them")
    if options.json:
        report.print_explained_json(subjects)
    else:
        report.print_explained(subjects)
    return 0


def _subject(group: "Decided", options: argparse.Namespace) -> "Subject":
    """What is asked about one file system."""
    from iez_client.cli.explain_report import Subject
    from iez_client.plan.template import parse
    from iez_common.allocate.explain import Explainer

    path = None if options.file is None else parse(options.file).text
    index = group.osts.index.tolist()
    return Subject(
        group,
        Explainer(group.requests, group.osts, group.policy, group.allocation),
        tuple(at for at, file in enumerate(group.files) if path in (None, file.path)),
        tuple(at for at, ost in enumerate(index) if options.ost in (None, ost)),
        is_one_file=path is not None,
        is_one_ost=options.ost is not None,
    )
