"""Known: finds the template of earlier runs that a name belongs to."""

import re
from collections import defaultdict
from collections.abc import Sequence

from iez_client.names.pattern import DIRECTORY, NUMBER, Pattern
from iez_client.names.shapes import Group

_RUN = re.compile("[A-Za-z0-9]+")
_RUN_OR_FIELD = re.compile("[A-Za-z0-9\0]+")


class KnownPatterns:
    """Patterns to look names up in: by their literals where numbers are the only fields, else by
    the marks around their runs, so that few are tried."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._exact: dict[tuple[str, ...], int] = {}
        self._by_marks: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._any_marks: dict[str, list[int]] = defaultdict(list)  # a directory may have any
        self._patterns = patterns
        preferred = sorted(range(len(patterns)), key=lambda n: patterns[n].preference())
        for number in preferred:
            pattern = patterns[number]
            if set(pattern.marks) <= {NUMBER}:
                self._exact.setdefault((pattern.symbol, *pattern.literals), number)
            if DIRECTORY in pattern.marks:
                self._any_marks[pattern.symbol].append(number)
            elif set(pattern.marks) - {NUMBER} or re.search("[0-9]", "".join(pattern.literals)):
                marks = _RUN_OR_FIELD.sub("\0", "\0".join(pattern.literals))
                self._by_marks[pattern.symbol, marks].append(number)

    def place(self, group: Group) -> tuple[dict[int, Group], Group]:
        """The files of the group by the number of their pattern, and those that have none."""
        pattern = group.pattern
        exact = self._exact.get((pattern.symbol, *pattern.literals))
        left = Group(pattern, [], [])
        if exact is not None:
            return {exact: group}, left
        marks = _RUN.sub("\0", pattern.fill(group.values[0]))
        candidates = self._by_marks.get((pattern.symbol, marks), [])
        candidates = candidates + self._any_marks.get(pattern.symbol, [])
        if not candidates:
            return {}, group
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
