"""Random runs: finds the parts of names that are made up anew each time, and makes them `*`.

One name alone is judged by its looks. Among names that agree in all but one run of letters and
digits, less is enough: words that differ are few, random runs have one length and mixed marks.
"""

import re
from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from itertools import takewhile

from iez_client.names.looks import RANDOM_NAME, TEMPORARY, is_random, may_be_random
from iez_client.names.pattern import ALNUM, NUMBER, Pattern, pattern_of
from iez_client.names.shapes import Group
from iez_client.names.tempfiles import Place, tempfile_spans
from iez_client.plan.template import FIELDS_MAX, escape

_DIGITS = "\0"  # a field, in place of a character: no name has it
_RUNS = re.compile("([A-Za-z0-9]+)").split
_FOLDED_RUNS = re.compile("([A-Za-z0-9\0]+)").split
_OTHERS_MIN = 4  # names that differ in one run alone, for the looser look
_MIXED_SHARE = 0.6
_FILES_A_WORD = 2
_RANDOM_SHARE = 0.5
_PREFIX_LETTERS = 2  # names begin alike with fewer letters than this by chance
_PREFIX_NAMES = 3


@dataclass(slots=True)
class _Shape:
    """A group of names, by its runs of letters and digits."""

    group: Group
    name: str  # the first one
    between: tuple[str, ...]  # what stands around the runs
    raw: list[str]  # its runs
    folded: list[str]  # the same with digits folded
    random: set[int] = field(default_factory=set)  # places of runs
    settled: set[int] = field(default_factory=set)  # those that others tell nothing about

    def key(self, without: int = -1) -> tuple[str, ...]:
        """Equal for names that have the same template; one run may be left out."""
        return tuple(
            ""
            if place == without
            else temporary_prefix(self.raw[place]) + ALNUM
            if place in self.random
            else run
            for place, run in enumerate(self.folded)
        )

    def places(self, start: int, end: int) -> set[int]:
        """Of the runs in a part of the name."""
        first = len(_RUNS(self.name[:start])) // 2
        return set(range(first, first + len(_RUNS(self.name[start:end])) // 2))

    def settle(self, start: int, end: int) -> None:
        """Makes a part of the name random that tempfile made."""
        places = self.places(start, end)
        first = min(places)
        self.settled |= places
        # What is `tmp` and nothing else, before a `_`, stays.
        self.random |= places if temporary_prefix(self.raw[first]) else places - {first}


def fold_random(groups: Sequence[Group], tempfiles: Set[Place] = frozenset()) -> list[Pattern]:
    """The pattern of each group, with `*` for random runs. Several groups may have the same. One
    that has a `*` already keeps its pattern. `tempfiles`: where such names are known."""
    shapes = [_shape(group) for group in groups if set(group.pattern.marks) <= {NUMBER}]
    names = [(shape.group.pattern.symbol, shape.name) for shape in shapes]
    for number, spans in tempfile_spans(names, tempfiles).items():
        for start, end in spans:
            shapes[number].settle(start, end)
    alike: dict[tuple[str, ...], list[_Shape]] = defaultdict(list)
    for shape in shapes:
        alike[shape.group.pattern.symbol, *shape.between].append(shape)
    for members in alike.values():
        if len(members) > 1:
            for place in range(len(members[0].raw)):
                _compare(members, place)
    patterns: dict[int, Pattern] = {}
    for members in alike.values():
        same: dict[tuple[str, ...], list[_Shape]] = defaultdict(list)
        for shape in members:
            if shape.random:
                same[shape.key()].append(shape)
        for own in same.values():
            pattern = _starred(own)
            if len(pattern.marks) <= FIELDS_MAX:
                patterns.update((id(shape.group), pattern) for shape in own)
    return [patterns.get(id(group), group.pattern) for group in groups]


def _shape(group: Group) -> _Shape:
    pattern = group.pattern
    name = pattern.fill(group.values[0])
    pieces = _RUNS(name)
    shape = _Shape(
        group,
        name,
        between=tuple(pieces[::2]),
        raw=pieces[1::2],
        folded=_FOLDED_RUNS(_DIGITS.join(pattern.literals))[1::2],
    )
    for place, run in enumerate(shape.raw):
        if is_random(run) and not _is_counter(shape, place):
            shape.random.add(place)
    for found in RANDOM_NAME.finditer(name):
        shape.random |= shape.places(*found.span())
    return shape


def _is_counter(shape: _Shape, place: int) -> bool:
    """Names with the same letters and other digits in a run: what counts up is not random."""
    first = sum(run.count(_DIGITS) for run in shape.folded[:place])
    end = first + shape.folded[place].count(_DIGITS)
    values = shape.group.values
    return any(own[first:end] != values[0][first:end] for own in values)


def _compare(members: Sequence[_Shape], place: int) -> None:
    """Decides on one run of names that have the same marks around their runs."""
    if len({shape.folded[place] for shape in members}) == 1:
        return
    same_otherwise: dict[tuple[str, ...], list[_Shape]] = defaultdict(list)
    for shape in members:
        if place not in shape.settled:
            prefix = temporary_prefix(shape.raw[place])
            same_otherwise[prefix, *shape.key(without=place)].append(shape)
    for others in same_otherwise.values():
        if len(others) == 1:
            continue
        random = [shape for shape in others if place in shape.random]
        if len(random) >= _RANDOM_SHARE * len(others):
            lengths = {len(shape.raw[place]) for shape in random}
        elif _are_mixed(others, place):
            lengths = {len(others[0].raw[place])}
        else:
            continue
        for shape in others:
            if len(shape.raw[place]) in lengths:
                shape.random.add(place)


def _are_mixed(shapes: Sequence[_Shape], place: int) -> bool:
    runs = [shape.raw[place] for shape in shapes]
    is_enough = len(runs) >= _OTHERS_MIN or any(place in shape.random for shape in shapes)
    if not is_enough or len(set(map(len, runs))) > 1:
        return False
    # Words come again, with other ranks and steps beside them.
    if sum(len(shape.group.files) for shape in shapes) >= _FILES_A_WORD * len(shapes):
        return False
    return sum(map(may_be_random, runs)) >= _MIXED_SHARE * len(runs)


def _starred(shapes: Sequence[_Shape]) -> Pattern:
    """The pattern of names that differ in their random runs. A beginning that all share stays."""
    first = shapes[0]
    text = escape(first.between[0])
    for place, after in enumerate(first.between[1:]):
        run = first.folded[place].replace(_DIGITS, NUMBER)
        if place in first.random:
            runs = [first.raw[place]] if place in first.settled else [s.raw[place] for s in shapes]
            run = _prefix(runs) + ALNUM
        text += run + escape(after)
    return pattern_of(first.group.pattern.symbol + text)


def _prefix(runs: Sequence[str]) -> str:
    """What all of the random runs begin with, other than by chance."""
    if len(set(runs)) >= _PREFIX_NAMES:
        # What the first and the last in order begin with, all do.
        low, high = min(runs), max(runs)
        letters = takewhile(
            lambda pair: pair[0] == pair[1] and pair[0].isalpha(), zip(low, high, strict=False)
        )
        prefix = "".join(letter for letter, _ in letters)
        if len(prefix) >= _PREFIX_LETTERS and all(len(run) > len(prefix) for run in runs):
            return prefix
    return temporary_prefix(runs[0])  # all have the same


def temporary_prefix(run: str) -> str:
    """What a made-up run begins with that tells what it is; empty: nothing."""
    found = TEMPORARY.match(run)
    return found[0] if found and found[0] != run else ""
