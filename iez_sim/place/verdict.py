"""Verdict: what the results of a study show, in sentences, also where it is nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from iez_sim.place.paper_setups import TABLE_II_COUNTS
from iez_sim.place.study import Result, Study

PROVED_WITHIN = 1e-9
OPTIMUM_WITHIN = 5e-4  # the proved optima are known to three digits
PFL_GOAL = 1.005
FILES_SPLIT_MOST = 2
SAME_WITHIN = 0.005  # a difference that no job would notice
_MEASURES = (
    ("predicted time", "predicted_s"),
    ("OSTCost of new bytes", "ostcost_new"),
    ("OSTCost of all bytes", "ostcost_total"),
)


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    holds: bool = True  # false: the study fails to show what it set out to show


def verdict(study: Study) -> tuple[Sentence, ...]:
    """Only of what was run."""
    return tuple(
        sentence
        for judge in (_plain, _composite, _table_ii, _lustre, _serial, _losses)
        for sentence in judge(study)
    )


def is_proved(result: Result) -> bool:
    """Its bound shows that nothing better exists, or the optimum is known and reached."""
    at_bound = result.certificate <= 1 + PROVED_WITHIN
    known = result.optimum > 0 and result.ostcost_new <= result.optimum + OPTIMUM_WITHIN
    return at_bound or known


def _plain(study: Study) -> list[Sentence]:
    ours = [each for each in study.results if each.paper and each.strategy == "iez"]
    missed = [each.setup for each in ours if not is_proved(each)]
    if not ours:
        return []
    text = f"iez reaches the proved optimum on {_of(ours, missed)} of the paper's set-ups"
    return [Sentence(text + _except(missed) + ".", not missed)]


def _composite(study: Study) -> list[Sentence]:
    ours = [each for each in study.results if each.paper and each.strategy == "iez-pfl"]
    if not ours:
        return []
    missed = [
        each.setup
        for each in ours
        if each.ostcost_new > PFL_GOAL or each.files_split > FILES_SPLIT_MOST
    ]
    most = max(each.files_split for each in ours)
    worst = max(each.ostcost_new for each in ours)
    text = (
        f"With composite layouts its OSTCost is at most {PFL_GOAL} on {_of(ours, missed)} of them"
        f"{_except(missed)}; the worst is {worst:.4f}, and at most {_files(most)} split."
    )
    return [Sentence(text, not missed)]


def _table_ii(study: Study) -> list[Sentence]:
    if not study.table_ii_counts:
        return []
    got = _histogram(study.table_ii_counts)
    if study.table_ii_counts == TABLE_II_COUNTS:
        return [Sentence(f"paper-rising gives the histogram of Table II: {got}.")]
    wanted = _histogram(TABLE_II_COUNTS)
    return [Sentence(f"paper-rising gives {got}, but Table II has {wanted}.", False)]


def _lustre(study: Study) -> list[Sentence]:
    pairs = _pairs(study, "iez", "lustre-rr")
    if not pairs:
        return []
    even = [ours.setup for ours, theirs in pairs if not _gains(ours, theirs)]
    faster = sorted(theirs.predicted_s / ours.predicted_s for ours, theirs in pairs)
    middle = faster[len(faster) // 2]
    said = [
        Sentence(
            f"Against Lustre's round robin with racing creates iez gains something on "
            f"{len(pairs) - len(even)} of {len(pairs)} set-ups; the round robin would take "
            f"{middle:.2f} times as long in the middle, {faster[-1]:.2f} times at most."
        )
    ]
    if even:
        said.append(Sentence(f"iez wins nothing over it on: {', '.join(even)}."))
    return said


def _serial(study: Study) -> list[Sentence]:
    pairs = _pairs(study, "iez", "lustre-rr-1")
    even = [ours.setup for ours, theirs in pairs if not _gains(ours, theirs)]
    if not even:
        return []
    text = (
        "Where files are created one at a time, Lustre's round robin is as good as iez on "
        f"{len(even)} of {len(pairs)} set-ups: {', '.join(even)}."
    )
    return [Sentence(text)]


def _losses(study: Study) -> list[Sentence]:
    """Measures in which iez, or iez with composite layouts, comes out worse: it trades one for
    another."""
    said = []
    compared = (*_pairs(study, "iez", "lustre-rr"), *_pairs(study, "iez-pfl", "iez"))
    for ours, theirs in compared:
        worse = _gains(theirs, ours)
        if worse:
            told = " and ".join(_compare(name, field, ours, theirs) for name, field in worse)
            paid = [_compare(name, field, ours, theirs) for name, field in _gains(ours, theirs)]
            gain = f"; for that {' and '.join(paid)}" if paid else ", and gains nothing for it"
            who = f"{ours.strategy} is worse than {theirs.strategy}"
            said.append(Sentence(f"On {ours.setup} {who} in {told}{gain}."))
    return said


def _pairs(study: Study, ours: str, theirs: str) -> list[tuple[Result, Result]]:
    found = []
    for each in study.results:
        other = study.find(each.setup, theirs)
        if each.strategy == ours and other:
            found.append((each, other))
    return found


def _gains(ours: Result, theirs: Result) -> list[tuple[str, str]]:
    """Measures in which ours is the smaller one."""
    return [
        (name, field)
        for name, field in _MEASURES
        if getattr(ours, field) < getattr(theirs, field) * (1 - SAME_WITHIN)
    ]


def _compare(name: str, field: str, ours: Result, theirs: Result) -> str:
    return f"{name} ({getattr(ours, field):.3g} against {getattr(theirs, field):.3g})"


def _of(all_results: Sequence[Result], missed: Sequence[str]) -> str:
    return f"{len(all_results) - len(missed)} of {len(all_results)}"


def _except(missed: Sequence[str]) -> str:
    return f", not on {', '.join(missed)}" if missed else ""


def _files(count: int) -> str:
    return f"{count} file{' is' if count == 1 else 's are'}"


def _histogram(counts: Sequence[int]) -> str:
    steps = sorted(set(counts), reverse=True)
    return ", ".join(f"{step} stripes on {counts.count(step)}" for step in steps) + " OSTs"
