"""Tempfiles: finds names as Python's tempfile makes them, `tmp` and eight of a-z, 0-9 and `_`.

A `*` does not take `_`, so they have several templates: `tmp*`, `tmp*_*`, `tmp_*`, … All keep
`tmp`: without it they would take names of other files.
"""

import re
from collections import defaultdict
from collections.abc import Sequence, Set

from iez_client.names.pattern import NUMBER, Pattern

_NAME = re.compile(r"(?<![A-Za-z0-9])tmp([a-z0-9_]{8})(?![A-Za-z0-9_])")
# By itself only a name with a number inside is one: tmp_density and tmpfile0001 are words.
_IS_SURE = re.compile("[a-z0-9_]*[0-9][a-z_]").match
_DIGITS = re.compile("[0-9]+")
_IN_TEMPLATE = re.compile(r"(?<![A-Za-z0-9])tmp(?=_*\*)[*_]+(?![A-Za-z0-9_*#])")


Place = tuple[str, str, str]  # a root's symbol, and what is before and behind such a name


def tempfile_spans(
    names: Sequence[tuple[str, str]], known: Set[Place]
) -> dict[int, list[tuple[int, int]]]:
    """Where in each name, given with its root's symbol, such a name is, by its number. One that is
    not sure by itself is one in a known place, or where another is."""
    alike: dict[Place, list[tuple[int, re.Match[str]]]] = defaultdict(list)
    for number, (symbol, name) in enumerate(names):
        for found in _NAME.finditer(name):
            alike[_place(symbol, name, found)].append((number, found))
    spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for place, members in alike.items():
        if place in known or any(_IS_SURE(found[1]) for _, found in members):
            for number, found in members:
                spans[number].append(found.span())
    return spans


def tempfile_places(pattern: Pattern) -> set[Place]:
    """Where a template has such names."""
    text = pattern.fill(tuple(mark[-1] for mark in pattern.marks))
    return {_place(pattern.symbol, text, found) for found in _IN_TEMPLATE.finditer(text)}


def _place(symbol: str, name: str, found: re.Match[str]) -> Place:
    before, after = name[: found.start()], name[found.end() :]
    return symbol, _DIGITS.sub(NUMBER, before), _DIGITS.sub(NUMBER, after)
