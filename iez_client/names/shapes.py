"""Shapes: the names of a run in, groups of names that differ in their numbers alone out."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from iez_client.names.looks import EXTENSION_STEM, EXTENSIONS
from iez_client.names.pattern import NUMBER, Pattern
from iez_client.names.roots import Roots
from iez_client.plan.template import FIELDS_MAX

_SPLIT = re.compile("([0-9]+)").split
_GOES_ON = re.compile("[A-Za-z0-9]")


@dataclass(slots=True)
class Group:
    """Files of one pattern: their places in the run, and what stands for the fields in each."""

    pattern: Pattern
    files: list[int]
    values: list[tuple[str, ...]]


def group_names(paths: Iterable[str], roots: Roots) -> list[Group]:
    """Every run of digits is a field, but for those in the ends of names such as `.h5`."""
    split = roots.split
    found: dict[tuple[str, ...], tuple[list[int], list[tuple[str, ...]]]] = {}
    for place, path in enumerate(paths):
        symbol, rest = split(path)
        parts = _SPLIT(rest)
        key = (symbol, *parts[::2])
        group = found.get(key)
        if group is None:
            group = found[key] = ([], [])
        group[0].append(place)
        group[1].append(tuple(parts[1::2]))
    groups = []
    for (symbol, *literals), (files, values) in found.items():
        pattern = Pattern(symbol, tuple(literals), (NUMBER,) * (len(literals) - 1))
        groups += _without_extensions(Group(pattern, files, values))
    return groups


def within_limit(group: Group) -> list[Group]:
    """A template has a limited number of fields: what is too much stays as it is, constants first,
    from the left."""
    surplus = len(group.pattern.marks) - FIELDS_MAX
    if surplus <= 0:
        return [group]
    varies = [len(set(column)) > 1 for column in zip(*group.values, strict=True)]
    places = sorted(range(len(varies)), key=lambda place: (varies[place], place))
    return _fixed(group, {place: None for place in places[:surplus]})


def _without_extensions(group: Group) -> list[Group]:
    literals = group.pattern.literals
    stems = {}
    for place, (before, after) in enumerate(pairwise(literals)):
        stem = EXTENSION_STEM.search(before)
        if stem and not _GOES_ON.match(after):
            stems[place] = stem[1]
    return _fixed(group, stems) if stems else [group]


def _fixed(group: Group, stems: Mapping[int, str | None]) -> list[Group]:
    """Parts the group by its values at the places of `stems`, which become literals; with a stem
    only if stem and value are an extension."""
    parted: dict[tuple[str | None, ...], Group] = {}
    for file, values in zip(group.files, group.values, strict=True):
        kept = tuple(
            values[place] if stem is None or stem + values[place] in EXTENSIONS else None
            for place, stem in stems.items()
        )
        own = parted.get(kept)
        literal = {place for place, value in zip(stems, kept, strict=True) if value is not None}
        if own is None:
            own = parted[kept] = Group(_with_literals(group.pattern, literal, values), [], [])
        own.files.append(file)
        own.values.append(tuple(v for place, v in enumerate(values) if place not in literal))
    return list(parted.values())


def _with_literals(pattern: Pattern, places: set[int], values: tuple[str, ...]) -> Pattern:
    literals = [pattern.literals[0]]
    marks = []
    for place, (mark, literal) in enumerate(zip(pattern.marks, pattern.literals[1:], strict=True)):
        if place in places:
            literals[-1] += values[place] + literal
        else:
            marks.append(mark)
            literals.append(literal)
    return Pattern(pattern.symbol, tuple(literals), tuple(marks))
