"""Known: finds the template of earlier runs that a name belongs to."""

import re
from collections import defaultdict
from collections.abc import Sequence

from iez_client.names.pattern import ALNUM, DIRECTORY, NUMBER, Pattern
from iez_client.names.shapes import Group

_DIGIT = re.compile("[0-9]")
_RUN = re.compile("[A-Za-z0-9]+")
_RUN_OR_FIELD = re.compile("[A-Za-z0-9\0]+")


class KnownPatterns:
    """Patterns to look names up in."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._exact: dict[tuple[str, ...], int] = {}  # where numbers are the only fields
        # The others by the marks around their runs of letters and digits, so that few are tried.
        self._by_marks: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._exact_by_marks: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._any_marks: dict[str, list[int]] = defaultdict(list)  # a directory may have any
        self._patterns = patterns
        preferred = sorted(range(len(patterns)), key=lambda n: patterns[n].preference())
        self._turn = {number: turn for turn, number in enumerate(preferred)}
        for number, pattern in enumerate(patterns):
            marks = _RUN_OR_FIELD.sub("\0", "\0".join(pattern.literals))
            if DIRECTORY in pattern.marks:
                self._any_marks[pattern.symbol].append(number)
            elif ALNUM in pattern.marks or any(map(_DIGIT.search, pattern.literals)):
                self._by_marks[pattern.symbol, marks].append(number)
            if set(pattern.marks) <= {NUMBER}:
                self._exact.setdefault((pattern.symbol, *pattern.literals), number)
                self._exact_by_marks[pattern.symbol, marks].append(number)

    def place(self, group: Group) -> tuple[dict[int, Group], Group]:
        """The files of the group by the number of their pattern, and those that have none."""
        pattern = group.pattern
        left = Group(pattern, [], [])
        if set(pattern.marks) <= {NUMBER}:
            exact = self._exact.get((pattern.symbol, *pattern.literals))
            if exact is not None:
                return {exact: group}, left
        candidates = self._candidates(group)
        if not candidates:
            return {}, group
        if [self._patterns[number] for number in candidates] == [pattern]:
            return {candidates[0]: group}, left
        found: dict[int, Group] = {}
        for file, values in zip(group.files, group.values, strict=True):
            rest = pattern.fill(values)
            for number in candidates:
                own = self._patterns[number].values(rest)
                if own is not None:
                    break
            else:
                left.files.append(file)
                left.values.append(values)
                continue
            into = found.setdefault(number, Group(self._patterns[number], [], []))
            into.files.append(file)
            into.values.append(own)
        return found, left

    def _candidates(self, group: Group) -> list[int]:
        """Patterns that files of the group may match, in the library's order."""
        if not group.values:
            return []
        pattern = group.pattern
        key = pattern.symbol, _RUN.sub("\0", pattern.fill(group.values[0]))
        found = {*self._by_marks.get(key, ()), *self._any_marks.get(pattern.symbol, ())}
        if ALNUM in pattern.marks:  # then some may be numbers altogether
            found.update(self._exact_by_marks.get(key, ()))
        return sorted(found, key=self._turn.__getitem__)
