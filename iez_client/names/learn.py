"""Learn: the files of a run and the templates of earlier ones in, the templates of all out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from iez_client.names.across import merge_fields
from iez_client.names.fields import RunFacts, Seen, study
from iez_client.names.generalise import Old, generalise
from iez_client.names.known import KnownPatterns
from iez_client.names.pattern import NUMBER, Pattern, pattern_of
from iez_client.names.random_runs import fold_random
from iez_client.names.roots import Roots
from iez_client.names.shapes import Group, group_names, within_limit
from iez_common.knowledge import Field, Template


class Match(NamedTuple):
    """The template of a file, by its place among those learned, and what stands for its fields."""

    template: int
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Learned:
    """What the names of a run tell."""

    templates: tuple[Template, ...]  # known ones first, in their order; counts are of this run
    replaces: tuple[tuple[int, ...], ...]  # for each: ids of known ones whose place it takes
    matches: list[Match]  # for each file
    unknown: list[int]  # files of no known template, nor of one that was generalised


@dataclass(slots=True)
class _Draft:
    """A template while its files come together."""

    group: Group
    known_fields: tuple[Field, ...] | None = None  # None: it is new
    known: Template | None = None  # with the same text
    replaces: tuple[int, ...] = ()


def learn_names(files: Sequence[Seen], facts: RunFacts, known: Sequence[Template] = ()) -> Learned:
    """Refines the known templates by the files of a run, and makes new ones for the others."""
    known_patterns = [pattern_of(template.text) for template in known]
    drafts = [
        _Draft(Group(pattern, [], []), template.fields, template)
        for pattern, template in zip(known_patterns, known, strict=True)
    ]
    groups = group_names((file.path for file in files), facts.roots)
    new_groups = _place_known(groups, drafts, KnownPatterns(known_patterns))
    new_groups = [part for group in new_groups for part in within_limit(group)]
    new_groups = _starred(new_groups)
    unused = [
        Old(number, draft.group.pattern, draft.known_fields or ())
        for number, draft in enumerate(drafts)
        if not draft.group.files
    ]
    unknown: list[int] = []
    by_text: dict[str, _Draft] = {}
    replaced: set[int] = set()
    generals = generalise(unused, [group.pattern for group in new_groups])
    for group, general in zip(new_groups, generals, strict=True):
        pattern = general.pattern if general else group.pattern
        draft = by_text.setdefault(pattern.text, _Draft(Group(pattern, [], [])))
        _take(draft.group, group)
        if general is None:
            unknown += group.files
            continue
        draft.known_fields = draft.known_fields or general.fields
        ids = (known[number].id for number in general.replaced if known[number].id)
        draft.replaces = tuple(sorted({*draft.replaces, *ids}))
        replaced.update(general.replaced)
    drafts = [draft for number, draft in enumerate(drafts) if number not in replaced]
    drafts += by_text.values()
    return _result(files, facts, drafts, sorted(unknown))


def field_values(template: Template, roots: Roots, path: str) -> tuple[str, ...] | None:
    """What stands for the fields of a template in a path; None: it does not match."""
    pattern = pattern_of(template.text)
    root = roots.join(pattern.symbol, "")
    if root is None or not path.startswith(root):
        return None
    return pattern.values(path[len(root) :])


def show(template: Template) -> str:
    """For people: constants are written out."""
    pattern = pattern_of(template.text)
    parts = [pattern.symbol, pattern.literals[0]]
    for field, mark, literal in zip(
        template.fields, pattern.marks, pattern.literals[1:], strict=True
    ):
        is_constant = field.kind == "constant" and mark == NUMBER
        parts += (f"{field.first:0{field.width}d}" if is_constant else mark[-1], literal)
    return "".join(parts)


def _place_known(
    groups: Iterable[Group], drafts: Sequence[_Draft], known: KnownPatterns
) -> list[Group]:
    """Gives the files that belong to known templates to these; the groups that are left."""
    left = []
    for group in groups:
        found, rest = known.place(group)
        for number, own in found.items():
            _extend(drafts[number].group, own)
        if rest.files:
            left.append(rest)
    return left


def _starred(groups: Sequence[Group]) -> list[Group]:
    """The groups with `*` for random runs; those that have the same pattern then are one."""
    by_pattern: dict[Pattern, Group] = {}
    for group, pattern in zip(groups, fold_random(groups), strict=True):
        into = by_pattern.setdefault(pattern, Group(pattern, [], []))
        _take(into, group)
    return list(by_pattern.values())


def _take(into: Group, group: Group) -> None:
    """Adds files that match the pattern of `into`, whatever their own is."""
    if into.pattern == group.pattern:
        _extend(into, group)
        return
    into.files += group.files
    for values in group.values:
        own = into.pattern.values(group.pattern.fill(values))
        assert own is not None, (into.pattern.text, group.pattern.text)
        into.values.append(own)


def _extend(into: Group, group: Group) -> None:
    into.files += group.files
    into.values += group.values


def _result(
    files: Sequence[Seen], facts: RunFacts, drafts: Sequence[_Draft], unknown: list[int]
) -> Learned:
    templates = []
    matches = [Match(-1, ())] * len(files)
    for number, draft in enumerate(drafts):
        group = draft.group
        for file, values in zip(group.files, group.values, strict=True):
            matches[file] = Match(number, values)
        if not group.files and draft.known:
            templates.append(replace(draft.known, file_count=0, run_count=0))
            continue
        own = [files[place] for place in group.files]
        fields = study(group.pattern, group.values, own, facts)
        if draft.known_fields is not None:
            fields = merge_fields(draft.known_fields, fields, facts.job_ids)
        templates.append(
            Template(
                group.pattern.text,
                fields,
                example=draft.known.example if draft.known else own[0].path,
                file_count=len(own),
                run_count=1,
                id=draft.known.id if draft.known else 0,
            )
        )
    return Learned(tuple(templates), tuple(draft.replaces for draft in drafts), matches, unknown)
