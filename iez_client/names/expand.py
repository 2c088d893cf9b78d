"""Expand: the files of the last run in, the names that the next run will give them out."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from iez_client.names.pattern import NUMBER, Pattern, pattern_of
from iez_client.names.roots import Roots
from iez_client.plan.template import escape
from iez_common.knowledge import FORESEEN, Template

Made = tuple[tuple[str, ...], int]  # the values of a file, and the rank that created it


@dataclass(frozen=True, slots=True)
class Coming:
    """What is known of the next run before it."""

    roots: Roots
    rank_count: int = 0  # 0: as many as in the last one


@dataclass(frozen=True, slots=True)
class Chooser:
    """The field by which a plan should choose among layouts."""

    field: int  # among all fields of the template
    first: int
    stride: int


@dataclass(frozen=True, slots=True)
class Expected:
    """A file that the next run is expected to create."""

    path: str | None  # None: the name cannot be told, only the rule holds
    rule_text: str  # the template, in the language of plans, with a number in every `#`
    values: tuple[str, ...]  # of the fields; those that cannot be told as they were
    rank: int  # -1: none
    source_index: int  # the file of the last run that it comes from or resembles
    chooser: Chooser | None


def expand(
    template: Template,
    files: Sequence[Made],
    ranks_then: int,
    coming: Coming,
    shifts: Sequence[int] = (),
) -> list[Expected]:
    """`files` are those of the last run. `shifts` tells for each field how far
    its steps move on (step_shifts). Empty if the next command has no such root."""
    pattern = pattern_of(template.text)
    root = coming.roots.join(pattern.symbol, "")
    if root is None:
        return []
    rule = _rule(pattern, root)
    chosen = chooser(template)
    is_foreseen = all(field.kind in FORESEEN for field in template.fields)
    ranks = _Ranks(template, files, ranks_then, coming.rank_count)
    next_values = _NextValues(template, files, ranks, shifts)
    found = []
    for source, rank in ranks.sources():
        values = next_values.of(files[source][0], files[source][1], rank)
        path = root + pattern.fill(values) if is_foreseen else None
        found.append(Expected(path, rule, values, rank, source, chosen))
    return found


def rule_text(template: Template, roots: Roots) -> str | None:
    """The template as plans know it; None: the command has no such root."""
    pattern = pattern_of(template.text)
    root = roots.join(pattern.symbol, "")
    return None if root is None else _rule(pattern, root)


def chooser(template: Template) -> Chooser | None:
    """The rank, else the step, else the last number that varies; None: no number does."""
    marks = pattern_of(template.text).marks
    numbers = [place for place, mark in enumerate(marks) if mark == NUMBER]
    for kinds in (("rank",), ("step",), ("pid", "timestamp", "random")):
        for place in reversed(numbers):
            field = template.fields[place]
            if field.kind in kinds:
                return Chooser(place, field.first, max(1, field.stride))
    return None


def step_shifts(template: Template, runs: Sequence[Sequence[tuple[str, ...]]]) -> tuple[int, ...]:
    """How far the steps of each field move from run to run, where they did so alike between all
    `runs` (oldest first): 0 where every run begins anew."""
    return tuple(
        _shift([{int(values[place]) for values in run} for run in runs])
        if field.kind == "step" and field.stride
        else 0
        for place, field in enumerate(template.fields)
    )


def _shift(runs: Sequence[set[int]]) -> int:
    """0 also where a run begins before the end of the one before it: it writes the steps anew."""
    moves = {
        min(after) - min(before) if min(after) > max(before) else 0
        for before, after in pairwise(run for run in runs if run)
    }
    return moves.pop() if len(moves) == 1 else 0


def _rule(pattern: Pattern, root: str) -> str:
    return escape(root) + pattern.text[len(pattern.symbol) :]


class _Ranks:
    """Which ranks create files of a template, then and next time."""

    def __init__(self, template: Template, files: Sequence[Made], then: int, coming: int) -> None:
        self._files = files
        self.then = then
        # Without one of the two counts nothing is known to change.
        self.coming = coming if coming > 0 and then > 0 else then
        self.is_changed = self.coming != then
        self.in_names = any(field.kind == "rank" for field in template.fields)
        is_foreseen = all(field.kind in FORESEEN for field in template.fields)
        self._is_each = self.in_names or (not is_foreseen and then > 1)
        self.before = sorted({rank for _, rank in files if rank >= 0})
        self.after = self._after()

    def _after(self) -> Sequence[int]:
        """All ranks, or every k-th, if it was so; else those that did."""
        before = self.before
        if self._is_each and before == list(range(self.then)):
            return range(self.coming)
        if self._is_each and len(before) > 1:
            first, every = before[0], before[1] - before[0]
            if first < every and before == list(range(first, self.then, every)):
                return range(first, self.coming, every)
        return [rank for rank in before if rank < self.coming]

    def sources(self) -> Iterator[tuple[int, int]]:
        """For each file to come the one that it comes from or resembles, and its rank."""
        if not self.is_changed:
            yield from ((source, rank) for source, (_, rank) in enumerate(self._files))
            return
        if not self._is_each:
            # The names do not depend on ranks, so they stay; only who creates them may be another.
            for source, (_, rank) in enumerate(self._files):
                yield source, rank if rank < self.coming else rank * self.coming // self.then
            return
        of_rank: dict[int, list[int]] = defaultdict(list)
        for source, (_, rank) in enumerate(self._files):
            of_rank[rank].append(source)
            if rank < self.coming:
                yield source, rank
        for place, rank in enumerate(self.after):
            if rank not in of_rank:
                resembled = self.before[place * len(self.before) // len(self.after)]
                yield from ((source, rank) for source in of_rank[resembled])


class _NextValues:
    """Puts the next run's values into the fields of a file."""

    def __init__(
        self, template: Template, files: Sequence[Made], ranks: _Ranks, shifts: Sequence[int]
    ) -> None:
        fields = list(enumerate(template.fields))
        self._ranks = [(n, field) for n, field in fields if field.kind == "rank"]
        self._steps = [
            (n, field, shift)
            for (n, field), shift in zip(fields, shifts, strict=False)
            if field.kind == "step" and shift
        ]
        self._parts: list[tuple[int, str]] = []
        if not ranks.is_changed or not files:
            return
        counts = {}
        if ranks.in_names:
            counts[len(ranks.before)] = len(ranks.after)
        if ranks.in_names or ranks.then > 1:  # one file of a run of one rank may be all ranks'
            counts[ranks.then] = ranks.coming
        for n, field in fields:
            if field.kind == "parts":
                count = int(files[0][0][n])
                self._parts.append((n, f"{counts.get(count, count):0{field.width}d}"))

    def of(self, values: tuple[str, ...], rank_then: int, rank: int) -> tuple[str, ...]:
        if not (self._parts or self._steps) and rank == rank_then:
            return values
        found = list(values)
        for n, text in self._parts:
            found[n] = text
        for n, field, shift in self._steps:
            found[n] = f"{int(values[n]) + shift:0{field.width}d}"
        if rank != rank_then:
            for n, field in self._ranks:
                found[n] = f"{field.first + field.stride * rank:0{field.width}d}"
        return tuple(found)
