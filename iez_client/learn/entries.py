"""Entries: foreseen files and their placements in, the Draft of a plan out.

A template with a field that chooses (the rank, mostly) says it all in one entry, for steps to come
and other rank counts, too. Files that it would give another layout than theirs get entries of
their own.
"""

from collections.abc import Sequence
from dataclasses import replace

from iez_client.filesystems import FileSystem
from iez_client.learn.foresee import Foreseen
from iez_client.plan.draft import Draft, Rule
from iez_client.plan.template import encode, parse
from iez_client.request.layouts import layout_of
from iez_common.allocate import Placement
from iez_common.errors import SourceError

_OPTIONS_MAX = 1 << 16  # layouts that one template chooses from
_LENGTHS_TRIED = 64

Pair = tuple[Foreseen, Placement]


def draft_of(pairs: Sequence[Pair], file_systems: Sequence[FileSystem]) -> Draft:
    """Files that are left to Lustre are not in it."""
    draft = Draft("the plan", "file", tuple(file_systems))
    by_rule: dict[str, list[Pair]] = {}
    for pair in pairs:
        if pair[1].rung != "nothing":
            by_rule.setdefault(pair[0].expected.rule_text, []).append(pair)
    paths: dict[str, int] = {}
    for rule_text, own in by_rule.items():
        references = [draft.add_layout(layout_of(placement)) for _, placement in own]
        chosen = _add_rule(draft, rule_text, own, references)
        for (foreseen, _), reference, by_rule_reference in zip(
            own, references, chosen, strict=True
        ):
            path = foreseen.expected.path
            if path is not None and by_rule_reference != reference:
                paths.setdefault(path, reference)
    for number, (path, reference) in enumerate(paths.items(), 1):
        draft.add_path(encode(path), reference, number)
    return draft


def _add_rule(
    draft: Draft, rule_text: str, pairs: Sequence[Pair], references: Sequence[int]
) -> list[int | None]:
    """Adds the template, and tells which layout it gives to each of the files."""
    none: list[int | None] = [None] * len(pairs)
    try:
        name = parse(rule_text)
    except SourceError:
        return none  # such as a name that is too long
    if name.path is not None or name.segments in draft.rules:
        return none
    chooser = pairs[0][0].expected.chooser
    turns = [_turn(foreseen) for foreseen, _ in pairs]
    known = [turn for turn in turns if turn is not None]
    if chooser is None or len(known) < len(turns):
        reference = references[0]
        if len(set(references)) > 1:
            # Nothing in the name tells them apart: all on the same OSTs would be the worst.
            anywhere = replace(pairs[0][1], osts=(), parts=(), rung="count")
            reference = draft.add_layout(layout_of(anywhere))
        draft.add_rule(Rule(name, [reference], len(draft.rules) + 1))
        return [reference] * len(pairs)
    options = _options(known, references)
    draft.add_rule(Rule(name, options, len(draft.rules) + 1, chooser.field, chooser.first))
    return [options[turn % len(options)] for turn in known]


def _turn(foreseen: Foreseen) -> int | None:
    """What the field that chooses counts from its first value on; None: it is no number."""
    chooser = foreseen.expected.chooser
    if chooser is None:
        return None
    value = foreseen.expected.values[chooser.field]
    return int(value) - chooser.first if value.isdigit() and len(value) < 19 else None


def _options(turns: Sequence[int], references: Sequence[int]) -> list[int]:
    """A list of layouts such that that number `turn`, modulo its length, is the file's. A place
    without a file has the layout of the one before."""
    of_turn: dict[int, int] = {}
    for turn, reference in zip(turns, references, strict=True):
        of_turn.setdefault(turn, reference)
    length = _length(list(of_turn))
    of_place: dict[int, int] = {}
    for turn, reference in of_turn.items():
        of_place.setdefault(turn % length, reference)
    options = []
    current = references[0]
    for place in range(length):
        current = of_place.get(place, current)
        options.append(current)
    return options


def _length(turns: Sequence[int]) -> int:
    """The least length at which each turn has a place of its own: steps may go by tens or
    thousands. Where none is found soon, some share a place."""
    least = min(len(turns), _OPTIONS_MAX)
    lengths = range(least, least + _LENGTHS_TRIED)
    return next((n for n in lengths if len({turn % n for turn in turns}) == len(turns)), least)
