"""Learn: the files of a run and the templates of earlier ones in, the templates of all out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from iez_client.names.across import merge_fields
from iez_client.names.fields import RunFacts, Seen, study
from iez_client.names.generalise import Old, generalise
from iez_client.names.known import KnownPatterns
from iez_client.names.pattern import NUMBER, Pattern, pattern_of
from iez_client.names.random_runs import fold_random
from iez_client.names.roots import Roots
from iez_client.names.shapes import Group, within_limit
from iez_client.names.sift import sift_names
from iez_client.names.tempfiles import tempfile_places
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
    # Files of no known template, nor of one that was generalised, nor of names that tempfile made
    # as it made those of a known one.
    unknown: list[int]


@dataclass(slots=True)
class _Draft:
    """A template while its files come together."""

    group: Group
    known: Template | None = None  # with the same text
    known_fields: tuple[Field, ...] | None = None  # None: it is new
    replaces: tuple[int, ...] = ()
    is_tempfile: bool = False  # new, but only another form of names that are known


def learn_names(files: Sequence[Seen], facts: RunFacts, known: Sequence[Template] = ()) -> Learned:
    """Refines the known templates by the files of a run, and makes new ones for the others."""
    drafts = [
        _Draft(Group(pattern_of(template.text), [], []), template, template.fields)
        for template in known
    ]
    groups = sift_names([file.path for file in files], facts.roots)
    left = [part for group in _place(groups, drafts) for part in within_limit(group)]
    found, replaced = _new_drafts(left, drafts)
    _place(left, found)
    drafts = [draft for number, draft in enumerate(drafts) if number not in replaced]
    return _result(files, facts, [*drafts, *(draft for draft in found if draft.group.files)])


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


def _place(groups: Sequence[Group], drafts: Sequence[_Draft]) -> list[Group]:
    """Gives the files to the templates that the library would find for them; what is left."""
    known = KnownPatterns([draft.group.pattern for draft in drafts])
    left = []
    for group in groups:
        found, rest = known.place(group)
        for number, own in found.items():
            drafts[number].group.files += own.files
            drafts[number].group.values += own.values
        if rest.files:
            left.append(rest)
    return left


def _new_drafts(groups: Sequence[Group], drafts: Sequence[_Draft]) -> tuple[list[_Draft], set[int]]:
    """Templates for the groups, and the numbers of the known ones that these replace."""
    unused = [
        Old(number, draft.group.pattern, draft.known_fields or ())
        for number, draft in enumerate(drafts)
        if not draft.group.files
    ]
    tempfiles = {place for draft in drafts for place in tempfile_places(draft.group.pattern)}
    patterns = list(dict.fromkeys(fold_random(groups, tempfiles)))
    found: dict[Pattern, _Draft] = {}
    replaced: set[int] = set()
    for own, general in zip(patterns, generalise(unused, patterns), strict=True):
        pattern = general.pattern if general else own
        draft = found.setdefault(pattern, _Draft(Group(pattern, [], [])))
        draft.is_tempfile = not tempfiles.isdisjoint(tempfile_places(pattern))
        if general:
            draft.known_fields = draft.known_fields or general.fields
            replaced.update(general.replaced)
            ids = {known.id for n in general.replaced if (known := drafts[n].known) and known.id}
            draft.replaces = tuple(sorted(ids.union(draft.replaces)))
    return list(found.values()), replaced


def _result(files: Sequence[Seen], facts: RunFacts, drafts: Sequence[_Draft]) -> Learned:
    templates = []
    matches = [Match(-1, ())] * len(files)
    unknown: list[int] = []
    for number, draft in enumerate(drafts):
        group = draft.group
        for file, values in zip(group.files, group.values, strict=True):
            matches[file] = Match(number, values)
        if draft.known_fields is None and not draft.is_tempfile:
            unknown += group.files
        templates.append(_template(draft, [files[place] for place in group.files], facts))
    replaces = tuple(draft.replaces for draft in drafts)
    return Learned(tuple(templates), replaces, matches, sorted(unknown))


def _template(draft: _Draft, files: Sequence[Seen], facts: RunFacts) -> Template:
    if not files and draft.known:
        return replace(draft.known, file_count=0, run_count=0)
    group = draft.group
    fields = study(group.pattern, group.values, files, facts)
    if draft.known_fields is not None:
        fields = merge_fields(draft.known_fields, fields, facts.job_ids)
    return Template(
        group.pattern.text,
        fields,
        example=draft.known.example if draft.known else files[0].path,
        file_count=len(files),
        run_count=1,
        id=draft.known.id if draft.known else 0,
    )
