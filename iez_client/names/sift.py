"""Sift: all names of a run in, their groups out, at the same pace if a million of them are random.

Random names differ in more than their numbers, so each would be a group by itself. In a large run
a sample tells which patterns they have; names of these are put together at once.
"""

from collections import Counter
from collections.abc import Sequence

from iez_client.names.pattern import NUMBER, Pattern
from iez_client.names.random_runs import fold_random
from iez_client.names.roots import Roots
from iez_client.names.shapes import Group, group_names

_SAMPLE = 2000
_LARGE = 10 * _SAMPLE
_GROUPS_MIN = 20  # of the sample: fewer do no harm
_PATTERNS_MAX = 8


def sift_names(paths: Sequence[str], roots: Roots) -> list[Group]:
    """Groups of names with the same pattern, of which there may be several."""
    patterns = _random_patterns(paths, roots) if len(paths) >= _LARGE else []
    if not patterns:
        return group_names(enumerate(paths), roots)
    random: dict[str, list[Group]] = {}
    for pattern in patterns:
        random.setdefault(pattern.symbol, []).append(Group(pattern, [], []))
    left = []
    for place, path in enumerate(paths):
        symbol, rest = roots.split(path)
        for group in random.get(symbol, ()):
            values = group.pattern.values(rest)
            if values is not None:
                group.files.append(place)
                group.values.append(values)
                break
        else:
            left.append((place, path))
    return group_names(left, roots) + [group for own in random.values() for group in own]


def _random_patterns(paths: Sequence[str], roots: Roots) -> list[Pattern]:
    """Patterns with `*` that stand for many groups of the sample, most groups first."""
    sample = paths[:: len(paths) // _SAMPLE]
    groups = group_names(enumerate(sample), roots)
    counts = Counter(pattern for pattern in fold_random(groups) if {*pattern.marks} - {NUMBER})
    frequent = [own for own, count in counts.most_common(_PATTERNS_MAX) if count >= _GROUPS_MIN]
    return sorted(frequent, key=Pattern.preference)
