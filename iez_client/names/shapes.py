"""Shapes: the names of a run in, groups of names that differ in their numbers alone out."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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


def group_names(paths: Iterable[tuple[int, str]], roots: Roots) -> list[Group]:
    """Of paths with their places. Every run of digits is a field, but for those in the ends of
    names such as `.h5`."""
    heads = _Heads(roots)
    known = heads.of_directory
    for place, path in paths:
        directory, _, name = path.rpartition("/")
        found = known.get(directory)
        if found is None:
            found = heads.add(directory)
        if found is _OPEN:
            symbol, name = roots.split(path)
            found = heads.head(symbol, ("",)), ()
        head, values = found
        parts = _SPLIT(name)
        literals = tuple(parts[::2])
        files = head.files.get(literals)
        if files is None:
            files = head.files[literals] = ([], [])
        files[0].append(place)
        files[1].append((*values, *parts[1::2]))
    groups: dict[Pattern, Group] = {}
    for head in heads.all:
        for literals, (places, own_values) in head.files.items():
            whole = (*head.literals[:-1], head.literals[-1] + literals[0], *literals[1:])
            pattern = Pattern(head.symbol, whole, (NUMBER,) * (len(whole) - 1))
            group = groups.setdefault(pattern, Group(pattern, [], []))
            group.files += places
            group.values += own_values
    return [part for group in groups.values() for part in _without_extensions(group)]


@dataclass(frozen=True, slots=True)
class _Head:
    """What the names of files begin with, up to their directories' end."""

    symbol: str
    literals: tuple[str, ...]
    # Their places and values, by the literals of what follows.
    files: dict[tuple[str, ...], tuple[list[int], list[tuple[str, ...]]]] = field(
        default_factory=dict
    )


# A directory in which a root may end within a file's name.
_OPEN = (_Head("", ()), ())


class _Heads:
    """Directories, each taken apart once for all files in it."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self._by_literals: dict[tuple[str, ...], _Head] = {}
        self.of_directory: dict[str, tuple[_Head, tuple[str, ...]]] = {
            path.rpartition("/")[0]: _OPEN for _, path in roots.items()
        }

    @property
    def all(self) -> Iterable[_Head]:
        return self._by_literals.values()

    def add(self, directory: str) -> tuple[_Head, tuple[str, ...]]:
        """The head of files in a directory, and its values."""
        symbol, rest = self._roots.split(f"{directory}/")
        parts = _SPLIT(rest)
        found = self.head(symbol, tuple(parts[::2])), tuple(parts[1::2])
        self.of_directory[directory] = found
        return found

    def head(self, symbol: str, literals: tuple[str, ...]) -> _Head:
        key = (symbol, *literals)
        return self._by_literals.setdefault(key, _Head(symbol, literals))


def within_limit(group: Group) -> list[Group]:
    """A template has a limited number of fields: what is too much stays as it is, constants first,
    from the left."""
    surplus = len(group.pattern.marks) - FIELDS_MAX
    if surplus <= 0:
        return [group]
    varies = [len(set(column)) > 1 for column in zip(*group.values, strict=True)]
    places = sorted(range(len(varies)), key=lambda place: (varies[place], place))
    return _fixed(group, dict.fromkeys(places[:surplus]))


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
    parted: dict[tuple[str, ...], tuple[Group, list[int]]] = {}  # and the places of its fields
    groups: dict[Pattern, Group] = {}
    for file, values in zip(group.files, group.values, strict=True):
        key = tuple([values[place] for place in stems])
        part = parted.get(key)
        if part is None:
            literal = {
                place
                for place, stem in stems.items()
                if stem is None or stem + values[place] in EXTENSIONS
            }
            pattern = _with_literals(group.pattern, literal, values)
            own = groups.setdefault(pattern, Group(pattern, [], []))
            kept = [place for place in range(len(values)) if place not in literal]
            part = parted[key] = own, kept
        part[0].files.append(file)
        part[0].values.append(tuple([values[place] for place in part[1]]))
    return list(groups.values())


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
