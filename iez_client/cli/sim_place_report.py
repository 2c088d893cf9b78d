"""Reports of `iez sim place`: tables with a row a set-up, what they show, JSON."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import fill

from iez_client.cli.commands import print_json, print_table
from iez_sim.place.setup import SetUp
from iez_sim.place.study import Result, Study, Variant
from iez_sim.place.verdict import Sentence, verdict

_WIDTH = 100
_NONE = "-"


@dataclass(frozen=True, slots=True)
class Table:
    """One measure of all results."""

    heading: str
    field: str
    goal: str  # heading of the column that says what is best
    best: Callable[[Result], str]
    only_filled: bool = False  # for OSTs that hold something already


TABLES = (
    Table(
        "OSTCost of new bytes: fullest OST over mean",
        "ostcost_new",
        "OPTIMUM",
        lambda result: _number(result.optimum) if result.optimum else _NONE,
    ),
    Table(
        "OSTCost of all bytes, old and new (where there are old ones)",
        "ostcost_total",
        "",
        lambda _: "",
        only_filled=True,
    ),
    Table("OSS imbalance: fullest OSS over mean", "oss_imbalance", "", lambda _: ""),
    Table("Predicted time in seconds", "predicted_s", "", lambda _: ""),
    Table(
        "Certificate: the largest load over its lower bound",
        "certificate",
        "BOUND",
        lambda result: f"{result.bound:.4g}",
    ),
)


@contextmanager
def progress(steps: int) -> Iterator[Callable[[str, str], None]]:
    """A bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda setup, strategy: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=steps)
        done = -1

        def advance(setup: str, strategy: str) -> None:
            nonlocal done
            done += 1
            bar.update(task, completed=done, description=f"{setup}: {strategy}")

        yield advance


def print_study(study: Study, setups: Sequence[SetUp], chosen: Sequence[Variant]) -> None:
    for table in TABLES:
        shown = [each for each in setups if not table.only_filled or each.osts.used_bytes.any()]
        if not shown:
            continue
        print(f"{table.heading}\n")
        goal = [table.goal] if table.goal else []
        columns = ["SET-UP", *goal, *(each.name for each in chosen)]
        print_table(columns, [_row(table, study, setup, chosen) for setup in shown])
        print()
    _print_left_out(study)
    for sentence in verdict(study):
        print(_bullet(sentence))


def _row(table: Table, study: Study, setup: SetUp, chosen: Sequence[Variant]) -> list[str]:
    found = [study.find(setup.name, each.name) for each in chosen]
    known = next((each for each in found if each), None)
    goal = [table.best(known) if known else _NONE] if table.goal else []
    cells = [_number(getattr(each, table.field)) if each else _NONE for each in found]
    return [setup.name, *goal, *cells]


def _number(value: float) -> str:
    return f"{value:.3f}" if value < 100 else f"{value:.1f}"


def _print_left_out(study: Study) -> None:
    for each in study.left_out:
        print(f"left out: {each.setup} under {each.strategy}: {each.reason}")
    if study.left_out:
        print()


def _bullet(sentence: Sentence) -> str:
    text = sentence.text if sentence.holds else f"NOT SHOWN: {sentence.text}"
    return fill(text, _WIDTH, initial_indent="* ", subsequent_indent="  ", break_on_hyphens=False)


def print_plots(written: Sequence[Path], lacking: dict[str, list[str]], folder: str) -> None:
    """On standard error: standard output may be JSON for another program."""
    print(f"iez: {len(written)} files written to {folder}", file=sys.stderr)
    for name, missing in lacking.items():
        print(f"iez: {name} is not drawn: it needs {', '.join(missing)}", file=sys.stderr)


def print_study_json(study: Study) -> None:
    print_json(
        {
            "results": [_result_json(each) for each in study.results],
            "left_out": [asdict(each) for each in study.left_out],
            "table_ii_counts": list(study.table_ii_counts),
            "verdict": [asdict(each) for each in verdict(study)],
        }
    )


def _result_json(result: Result) -> dict[str, object]:
    values = asdict(result)
    del values["load_bytes"]
    return values | {"optimum": result.optimum or None}
