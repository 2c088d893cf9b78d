"""Generalise: templates of earlier runs without files in this one, and new ones that differ from
them in one part alone, become one: the part was made up by each run."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from iez_client.names.looks import is_random
from iez_client.names.pattern import ALNUM, DIRECTORY, NUMBER, Pattern, pattern_of
from iez_client.plan.template import FIELDS_MAX, escape
from iez_common.knowledge import Field

# Fields as single characters, so that a name can be cut at its marks.
_CHARACTER = {NUMBER: "\0", ALNUM: "\1", DIRECTORY: "\1"}
_FIELD = re.compile("[\0\1]")
_RUNS = re.compile("([A-Za-z0-9\0\1]+)").split
_SWITCHES = re.compile("[A-Za-z]+|[\0\1]")
_TEMPORARY = "tmp"
_WORDS_MIN = 2  # earlier runs with other words in one place: then the next has another one, too


@dataclass(frozen=True, slots=True)
class Old:
    """A template of earlier runs, by its number among them."""

    number: int
    pattern: Pattern
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class General:
    """A pattern that takes the place of others."""

    pattern: Pattern
    fields: tuple[Field, ...]  # of the first one that it replaces
    replaced: tuple[int, ...]  # their numbers


@dataclass(frozen=True, slots=True)
class _Common:
    """What an old and a new component have in common."""

    text: str
    lead: str  # what stands before the part in which they differ
    old_part: str
    new_part: str


def generalise(old: Sequence[Old], new: Sequence[Pattern]) -> list[General | None]:
    """For each new pattern the one that it and old ones have in common, if there is one."""
    by_rest: dict[tuple[str, ...], list[Old]] = defaultdict(list)
    for each in old:
        for _, key in _holes(each.pattern):
            by_rest[key].append(each)
    return [_general(pattern, by_rest) if by_rest else None for pattern in new]


def _holes(pattern: Pattern) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The pattern without one of its components, for each of them."""
    components = _marked(pattern).split("/")
    for place in range(len(components)):
        yield place, (pattern.symbol, *components[:place], "", *components[place + 1 :], str(place))


def _marked(pattern: Pattern) -> str:
    marked = pattern.literals[0]
    for mark, literal in zip(pattern.marks, pattern.literals[1:], strict=True):
        marked += _CHARACTER[mark] + literal
    return marked


def _general(new: Pattern, by_rest: Mapping[tuple[str, ...], list[Old]]) -> General | None:
    components = _marked(new).split("/")
    for place, key in _holes(new):
        found: dict[str, list[tuple[Old, _Common]]] = defaultdict(list)
        for each in by_rest.get(key, ()):
            own = _marked(each.pattern).split("/")[place]
            is_directory = 0 < place < len(components) - 1
            if common := _in_common(own, components[place], is_directory):
                found[common.text].append((each, common))
        for text, pairs in found.items():
            parts = {common.old_part for _, common in pairs}
            looked_at = (*parts, pairs[0][1].new_part)
            if len(parts) < _WORDS_MIN and not any(map(_is_made_up, looked_at)):
                continue
            first, common = pairs[0]
            pattern = _unmarked(
                new.symbol, "/".join((*components[:place], text, *components[place + 1 :]))
            )
            if len(pattern.marks) <= FIELDS_MAX:
                before = "/".join((*components[:place], common.lead))
                replaced = tuple(each.number for each, _ in pairs)
                return General(pattern, _fields(first, before, common.old_part), replaced)
    return None


def _in_common(old: str, new: str, is_directory: bool) -> _Common | None:
    """Two components with `*` for the run in which they differ, or for all of a directory's
    name; None: they have nothing in common. `tmp` stays: a `*` alone takes names of other files."""
    old_parts, new_parts = _RUNS(old), _RUNS(new)
    if len(old_parts) == len(new_parts):
        differing = [n for n, part in enumerate(old_parts) if part != new_parts[n]]
        if len(differing) == 1 and differing[0] % 2:
            at = differing[0]
            kept = _TEMPORARY if old_parts[at].startswith(_TEMPORARY) else ""
            old_part, new_part = old_parts[at].removeprefix(kept), new_parts[at].removeprefix(kept)
            is_kept = new_parts[at].startswith(_TEMPORARY) == bool(kept)
            if not (is_kept and old_part and new_part):
                return None
            lead = "".join(new_parts[:at]) + kept
            return _Common("".join((lead, "\1", *new_parts[at + 1 :])), lead, old_part, new_part)
    if not is_directory or old.startswith(_TEMPORARY) or new.startswith(_TEMPORARY):
        return None
    return _Common("\1", "", old, new)


def _is_made_up(part: str) -> bool:
    """Whether a part of a name looks like that of one run: random, or letters and numbers mixed."""
    return any(
        is_random(run) or len(_SWITCHES.findall(run)) > 2 or "\1" in run
        for run in _RUNS(part)[1::2]
    )


def _fields(old: Old, before: str, part: str) -> tuple[Field, ...]:
    """Those of the old pattern, with one for the part that is a field now."""
    start = len(_FIELD.findall(before))
    end = start + len(_FIELD.findall(part))
    return (*old.fields[:start], Field("random"), *old.fields[end:])


def _unmarked(symbol: str, marked: str) -> Pattern:
    text = escape(marked).replace("\0", NUMBER).replace("\1", ALNUM)
    return pattern_of(symbol + text)
