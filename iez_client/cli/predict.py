"""`iez predict`: what an application's next run will write, by which method, and why."""

import argparse

from iez_client.cli.application import add_application, memory_of
from iez_client.cli.commands import Parser
from iez_client.cli.parse import number


def parser(command: str) -> Parser:
    predict = Parser(
        command,
        "Forecasts the size of each file of an application's next run from those of earlier\n"
        "steps and runs, with the interval in which it is expected, the method, and how far\n"
        "off that method was so far. Nothing is stored. docs/predict.md tells of the methods.",
        "  iez predict hacc_like.py\n"
        "  iez predict hacc_like.py --explain\n"
        "  iez predict hacc_like.py --method paper",
    )
    add_application(predict)
    predict.add_argument(
        "--method", metavar="NAME", default="auto",
        help="auto (default), or one method for all: see docs/predict.md; paper: the full grid of "
        "ARIMA orders",
    )  # fmt: skip
    predict.add_argument("--explain", action="store_true", help="say why, and how every method did")
    predict.add_argument("--ranks", metavar="N", type=number, help="for N ranks")
    predict.add_argument("--json", action="store_true", help="print JSON")
    predict.set_defaults(run=run_predict)
    return predict


def run_predict(options: argparse.Namespace) -> int:
    from iez_client.cli import predict_report as report
    from iez_client.learn.planning import foresee_next, like_the_last
    from iez_client.predict import METHODS
    from iez_common import config
    from iez_common.errors import UsageError

    if options.method not in METHODS:
        known = ", ".join(METHODS)
        raise UsageError(f"--method: there is no {options.method!r}", f"one of: {known}")
    with memory_of(options.application) as (database, application):
        next_run = like_the_last(database, application, options.ranks)
        with report.progress() as told:
            coming = next_run.coming(config.load())
            found, _ = foresee_next(database, application, coming, options.method, told)
    if options.json:
        report.print_foreseen_json(application, found)
    else:
        report.print_foreseen(found)
        if options.explain:
            report.print_reasons(found)
    return 0
