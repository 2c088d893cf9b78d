"""Entries: foreseen files and their placements in, the Draft of a plan out.

A template with a field that chooses (the rank, mostly) says it all in one entry, for steps to come
and other rank counts, too. Files that it would give another layout than theirs get entries of
their own. Wherever nothing in a name tells files apart that are to lie apart, they get stripe
count and size only, and Lustre chooses: all of them on the OSTs of one would be the worst.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from iez_client.filesystems import FileSystem
from iez_client.learn.foresee import Foreseen
from iez_client.names import Chooser
from iez_client.plan.draft import Draft, Rule
from iez_client.plan.template import Name, encode, parse
from iez_client.request.layouts import layout_of
from iez_common.allocate import Placement
from iez_common.errors import SourceError

_OPTIONS_MAX = 1 << 16  # layouts that one template chooses from
_LENGTHS_TRIED = 64

Pair = tuple[Foreseen, Placement]


@dataclass(frozen=True, slots=True)
class Entry:
    """A foreseen file, and what the plan will give it."""

    foreseen: Foreseen
    placement: Placement


def draft_of(
    pairs: Sequence[Pair], file_systems: Sequence[FileSystem]
) -> tuple[Draft, list[Entry]]:
    """The draft, and what it comes to for each file. Files that are left to Lustre are not in it,
    nor is their template."""
    draft = Draft("the plan", "file", tuple(file_systems))
    by_rule: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_rule.setdefault(pair[0].expected.rule_text, []).append(pair)
    entries: dict[int, Entry] = {}
    paths: dict[str, int] = {}
    for rule_text, own in by_rule.items():
        placed = [pair for pair in own if pair[1].rung != "nothing"]
        entries.update((id(each), Entry(each, placement)) for each, placement in own)
        if not placed:
            continue
        settled = _settled(placed)
        entries.update((id(each), Entry(each, placement)) for each, placement in settled)
        references = [draft.add_layout(layout_of(placement)) for _, placement in settled]
        given: list[int | None] = [None] * len(settled)
        if len(placed) == len(own):
            given = _add_rule(draft, rule_text, settled, references)
        for (each, _), reference, by_template in zip(settled, references, given, strict=True):
            path = each.expected.path
            if path is not None and by_template != reference:
                paths.setdefault(path, reference)
    for number, (path, reference) in enumerate(paths.items(), 1):
        draft.add_path(encode(path), reference, number)
    return draft, [entries[id(each)] for each, _ in pairs]


def _settled(pairs: Sequence[Pair]) -> list[Pair]:
    """Where several files come to have one name one after the other, or names that cannot be
    foreseen and that no field tells apart, Lustre chooses the OSTs."""
    kinds: dict[object, set[tuple[object, ...]]] = {}
    for each, placement in pairs:
        kinds.setdefault(_told_by(each), set()).add((placement.osts, placement.parts))

    def may_pin(each: Foreseen) -> bool:
        told_by = _told_by(each)
        if each.expected.path is None and (told_by is None or len(kinds) == 1):
            # One file so far, of a name that is new each time: there may be more next time.
            return each.is_only_one and len(pairs) == 1
        return len(kinds[told_by]) == 1

    return [
        (each, placement if may_pin(each) else _anywhere(placement)) for each, placement in pairs
    ]


def _told_by(foreseen: Foreseen) -> object:
    """What a plan can tell the file by: its path, else the value that chooses."""
    path = foreseen.expected.path
    return path if path is not None else _turn(foreseen)


def _anywhere(placement: Placement) -> Placement:
    return replace(placement, osts=(), parts=(), rung="count")


def _add_rule(
    draft: Draft, rule_text: str, pairs: Sequence[Pair], references: Sequence[int]
) -> list[int | None]:
    """Adds the template, and tells which layout it gives to each of the files."""
    none: list[int | None] = [None] * len(pairs)
    name = _name(rule_text)
    if name is None or name.path is not None or name.segments in draft.rules:
        return none
    chooser = pairs[0][0].expected.chooser
    turns = [_turn(foreseen) for foreseen, _ in pairs]
    known = [turn for turn in turns if turn is not None]
    if chooser is None or len(known) < len(turns) or len(set(known)) == 1:
        each, placement = pairs[0]
        is_only_one = each.is_only_one and len(pairs) == 1
        only = placement if is_only_one else _anywhere(placement)
        reference = draft.add_layout(layout_of(only))
        draft.add_rule(Rule(name, [reference], len(draft.rules) + 1))
        return [reference] * len(pairs)
    options = _options(known, references)
    draft.add_rule(Rule(name, options, len(draft.rules) + 1, chooser.field, chooser.first))
    return [options[turn % len(options)] for turn in known]


def _name(rule_text: str) -> Name | None:
    try:
        return parse(rule_text)
    except SourceError:
        return None  # such as one that is too long


def _turn(foreseen: Foreseen) -> int | None:
    """What the field that chooses counts from its first value on; None: it is no number."""
    chooser: Chooser | None = foreseen.expected.chooser
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
