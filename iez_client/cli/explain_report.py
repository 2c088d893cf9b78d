"""The text and the JSON of `iez explain`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from iez_client.cli.allocate_report import (
    certificate_json,
    certificate_line,
    format_z,
    placement_json,
)
from iez_client.cli.commands import print_json, print_table
from iez_client.cli.explain_words import (
    count_words,
    layout_words,
    outcome_words,
    parts_words,
    reason_words,
    rung_words,
    size_words,
)
from iez_client.filesystems import KIND_NAMES
from iez_client.request.decide import Decided
from iez_common.allocate import Placement
from iez_common.allocate.explain import Explainer, OstOutcome, OstReason
from iez_common.allocate.explain_file import FileReason
from iez_common.units import format_about

_FILES_MAX = 1000  # of which one OST is told what it was to each


@dataclass(frozen=True, slots=True)
class Subject:
    """What is asked about one file system: places of files and OSTs."""

    group: Decided
    explainer: Explainer
    files: tuple[int, ...]
    osts: tuple[int, ...]
    is_one_file: bool
    is_one_ost: bool

    @property
    def strategy(self) -> str:
        return self.group.allocation.strategy

    def outcomes(self) -> list[OstOutcome]:
        everything = self.explainer.all_osts()
        return [everything[place] for place in self.osts]

    def reasons(self, file: int) -> list[OstReason]:
        everything = self.explainer.file_osts(file)
        return [everything[place] for place in self.osts]


def print_explained(subjects: Sequence[Subject]) -> None:
    for at, subject in enumerate(subjects):
        if at:
            print()
        place = subject.group.file_system
        print(f"{place.prefix} ({KIND_NAMES[place.kind]})")
        print(certificate_line(subject.group))
        if subject.is_one_file:
            for file in subject.files:
                _print_file(subject, file)
            continue
        _print_outcomes(subject)
        if subject.is_one_ost:
            _print_files_of_ost(subject)
        else:
            _print_files(subject)


def _print_outcomes(subject: Subject) -> None:
    found = subject.group.allocation.certificate
    rows = [
        (
            str(each.index),
            _number(each.stripe_count),
            format_about(each.load_bytes) if each.is_chosen else "-",
            format_z(found, each.level) if each.is_chosen else "-",
            outcome_words(each, subject.strategy),
        )
        for each in subject.outcomes()
    ]
    print_table(("OST", "STRIPES", "NEW", "Z", "WHY"), rows)


def _print_files(subject: Subject) -> None:
    rows = []
    for file in subject.files:
        reason = subject.explainer.file(file)
        parts = len(reason.placement.parts)
        layout = f"{parts} parts" if parts else layout_words(reason)
        rows.append((reason.name, layout, _summary(subject, reason)))
    print_table(("FILE", "LAYOUT", "WHY"), rows)


def _summary(subject: Subject, reason: FileReason) -> str:
    policy = subject.group.policy
    if reason.placement.rung == "nothing":
        return rung_words(reason, policy)
    count = f"count: {count_words(reason, policy, subject.strategy)}"
    if reason.parts_why:
        return f"{count}; {parts_words(reason)}"
    return count if reason.placement.osts else f"{count}; {rung_words(reason, policy)}"


def _print_file(subject: Subject, file: int) -> None:
    reason, policy = subject.explainer.file(file), subject.group.policy
    placement = reason.placement
    lines = [("written", f"{format_about(reason.write_bytes)} by {_writers(reason.writers)}")]
    lines += [("layout", layout_words(reason)), ("why", rung_words(reason, policy))]
    if placement.rung != "nothing":
        count = count_words(reason, policy, subject.strategy)
        lines += [("count", f"{placement.stripe_count}: {count}"), ("size", size_words(reason))]
    if reason.parts_why:
        lines.append(("parts", parts_words(reason)))
    print(reason.name)
    for name, text in lines:
        print(f"  {name:8} {text}")
    if placement.rung != "list":
        return
    rows = [
        (
            str(each.index),
            _number(each.stripe_count),
            format_about(each.load_bytes) if each.is_chosen else "-",
            reason_words(each, reason, subject.strategy),
        )
        for each in subject.reasons(file)
    ]
    print_table(("OST", "STRIPES", "NEW", "WHY"), rows)


def _print_files_of_ost(subject: Subject) -> None:
    """Every file, or only those on the OST where there are very many."""
    rows = []
    for file, found in _on_one_ost(subject):
        reason = subject.explainer.file(file)
        words = reason_words(found, reason, subject.strategy)
        new = format_about(found.load_bytes) if found.is_chosen else "-"
        rows.append((reason.name, _number(found.stripe_count), new, words))
    print_table(("FILE", "STRIPES", "NEW", "WHY"), rows)
    if len(subject.files) > _FILES_MAX:
        print(f"only files with a stripe on it: there are {len(subject.files)} in all")


def _on_one_ost(subject: Subject) -> list[tuple[int, OstReason]]:
    files = subject.files
    if len(files) > _FILES_MAX:
        index = subject.group.osts.index[subject.osts[0]]
        placements = subject.group.allocation
        files = tuple(file for file in files if index in _osts(placements.placement(file)))
    return [(file, subject.reasons(file)[0]) for file in files]


def _osts(placement: Placement) -> set[int]:
    return {*placement.osts, *(ost for part in placement.parts for ost in part.osts)}


def _number(count: int) -> str:
    return str(count) if count else "-"


def _writers(count: int) -> str:
    return f"{count} writer{'' if count == 1 else 's'}"


def print_explained_json(subjects: Sequence[Subject]) -> None:
    print_json({"file_systems": [_subject_json(subject) for subject in subjects]})


def _subject_json(subject: Subject) -> dict[str, object]:
    place = subject.group.file_system
    return {
        "kind": KIND_NAMES[place.kind],
        "prefix": place.prefix,
        "name": place.name,
        "strategy": subject.strategy,
        "certificate": certificate_json(subject.group),
        "osts": [asdict(each) for each in subject.outcomes()],
        "files": [_file_json(subject, file) for file in subject.files],
    }


def _file_json(subject: Subject, file: int) -> dict[str, object]:
    """With the OSTs of the file where one file, or one OST, is asked about."""
    reason = subject.explainer.file(file)
    values = asdict(reason)
    values["path"] = values.pop("name")
    values |= placement_json(reason.placement)
    del values["placement"]
    values["why"] = rung_words(reason, subject.group.policy)
    if subject.is_one_file or subject.is_one_ost:
        values["osts"] = [
            asdict(each) | {"words": reason_words(each, reason, subject.strategy)}
            for each in subject.reasons(file)
        ]
    return values
