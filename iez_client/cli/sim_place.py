"""`iez sim place`: the same files under every strategy, without a file system."""

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path

from iez_client.cli.commands import Parser
from iez_client.cli.parse import number
from iez_common.errors import UsageError

OBJECTIVES = ("bandwidth", "space", "blend")
_SEEDS = 20


def parser(command: str) -> Parser:
    place = Parser(
        command,
        "Places the files of the paper's set-ups, and of uneven ones on a larger machine,\n"
        "by iez and by every other strategy that it knows, and says what each comes to.\n"
        "Nothing is written to a file system. docs/study.md explains the set-ups.",
        "  iez sim place\n"
        "  iez sim place --setup ior-64p-sc8 prefilled --strategy iez lustre-rr --json\n"
        "  iez sim place --plots figures",
    )
    place.add_argument("--json", action="store_true", help="print JSON")
    place.add_argument("--plots", metavar="DIR", help="also draw figures in DIR (SVG and PNG)")
    place.add_argument(
        "--seeds", metavar="N", type=number, default=_SEEDS,
        help=f"runs of strategies with chance in them, for their means; default {_SEEDS}",
    )  # fmt: skip
    for flag, kind in (("--setup", "set-ups"), ("--strategy", "strategies")):
        place.add_argument(
            flag, metavar="NAME", nargs="+", action="extend",
            help=f"only these {kind}; may be given again",
        )  # fmt: skip
    place.add_argument(
        "--objective", choices=OBJECTIVES, default="blend",
        help="what iez makes even; default blend",
    )  # fmt: skip
    place.set_defaults(run=run_place)
    return place


def run_place(options: argparse.Namespace) -> int:
    from iez_client.cli import sim_place_report as report
    from iez_sim.place.setups import all_setups
    from iez_sim.place.study import run_study, variants

    if options.seeds < 1:
        raise UsageError("--seeds: at least one is needed", "iez sim place --seeds 5")
    known_setups, known_variants = all_setups(), variants()
    setups = [known_setups[name] for name in _pick("set-up", options.setup, known_setups)]
    chosen = [known_variants[name] for name in _pick("strategy", options.strategy, known_variants)]
    with report.progress(len(setups) * len(chosen)) as advance:
        study = run_study(setups, chosen, options.objective, options.seeds, advance)
    if options.plots:
        from iez_sim.place.plots import draw_all

        report.print_plots(*draw_all(study, known_setups, Path(options.plots)), options.plots)
    if options.json:
        report.print_study_json(study)
    else:
        report.print_study(study, setups, chosen)
    return 0


def _pick(kind: str, asked: Sequence[str] | None, known: Collection[str]) -> list[str]:
    """The names asked for, in the order of the known ones; all of them if none is."""
    for name in asked or ():
        if name not in known:
            raise UsageError(f"there is no {kind} {name!r}", f"one of: {', '.join(known)}")
    return [name for name in known if not asked or name in asked]
