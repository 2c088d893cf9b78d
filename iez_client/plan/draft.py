"""Draft: what a plan is to say, collected entry by entry before it becomes a file.

A million paths are two arrays and one run of bytes here, not a million objects.
"""

from array import array
from dataclasses import dataclass, field

from iez_client.filesystems import FileSystem
from iez_client.plan.image import add_text
from iez_client.plan.locate import may_lie_on
from iez_client.plan.template import Name, Segment, decode, encode, escape
from iez_common.errors import SourceError
from iez_common.layout import Layout


@dataclass(slots=True)
class Rule:
    """A template and the layouts that it gives, in turn."""

    name: Name
    options: list[int]  # layout references
    line: int
    field: int = 0  # among all fields of the template
    first_value: int = 0
    fixed: bool = False  # its layouts came as one list: no further row may add to them


@dataclass(slots=True)
class Draft:
    """Paths, templates and layouts. Lines are of the source file, 1 being the first."""

    origin: str = ""
    unit: str = "line"  # what `lines` counts
    file_systems: tuple[FileSystem, ...] = ()
    texts: bytearray = field(default_factory=bytearray)
    text_refs: "array[int]" = field(default_factory=lambda: array("I"))
    layout_refs: "array[int]" = field(default_factory=lambda: array("I"))
    lines: "array[int]" = field(default_factory=lambda: array("I"))
    layouts: bytearray = field(default_factory=bytearray)
    rules: dict[tuple[Segment, ...], Rule] = field(default_factory=dict)
    outside_count: int = 0  # names that lie on none of the file systems
    outside_example: str = ""
    _known_layouts: dict[bytes, int] = field(default_factory=dict)
    _aliases: list[tuple[bytes, bytes]] = field(default_factory=list)
    _prefixes: tuple[bytes, ...] = ()

    def __post_init__(self) -> None:
        for file_system in self.file_systems:
            canonical = encode(file_system.prefix) + b"/"
            self._prefixes += (canonical,)
            self._aliases += [(encode(name) + b"/", canonical) for name in file_system.aliases]

    def where(self, line: int) -> str:
        return f"{self.origin}, {self.unit} {line}" if self.origin else f"{self.unit} {line}"

    def add_layout(self, layout: Layout) -> int:
        """The reference of a layout; equal ones share a record."""
        record = layout.record()
        if record not in self._known_layouts:
            layout.wire()  # refuses one that no request can carry, where its line is known
        return self.add_record(record)

    def add_record(self, record: bytes) -> int:
        known = self._known_layouts.get(record)
        if known is None:
            known = len(self.layouts) // 8
            self._known_layouts[record] = known
            self.layouts += record
        return known

    def add_text(self, text: bytes) -> int:
        """Appends a text; the reference to it."""
        return add_text(self.texts, text)

    def add_path(self, path: bytes, layout_ref: int, line: int) -> None:
        if self._aliases:
            path = self._canonical(path)
        if not path.startswith(self._prefixes):
            self._note_outside(decode(path))
        try:
            self.text_refs.append(add_text(self.texts, path))
        except OverflowError:  # a reference has 32 bits
            raise SourceError("the paths take more than 4 GiB", "use templates") from None
        self.layout_refs.append(layout_ref)
        self.lines.append(line)

    def add_name(self, name: Name, layout_ref: int, line: int) -> None:
        """A path, or a template; the same template once more adds a layout to take turns with."""
        if name.path is not None:
            self.add_path(name.path, layout_ref, line)
            return
        name = self._canonical_name(name)
        rule = self.rules.get(name.segments)
        if rule is None:
            field = name.numbers[-1] if name.numbers else 0
            self._enter(Rule(name, [layout_ref], line, field))
            return
        if rule.fixed:
            raise self._twice(name, rule)
        if not name.numbers:
            raise SourceError(
                f"{name.text} is also on {self.unit} {rule.line}, and it has no # that "
                "could choose between the two",
                "keep one of them",
            )
        rule.options.append(layout_ref)

    def add_rule(self, rule: Rule) -> None:
        """A template with all its layouts at once."""
        name = rule.name = self._canonical_name(rule.name)
        before = self.rules.get(name.segments)
        if before is not None:
            raise self._twice(name, before)
        rule.fixed = True
        self._enter(rule)

    def _enter(self, rule: Rule) -> None:
        self.rules[rule.name.segments] = rule
        if not may_lie_on(rule.name, self.file_systems):
            self._note_outside(rule.name.text)

    def _note_outside(self, text: str) -> None:
        self.outside_count += 1
        self.outside_example = self.outside_example or text

    def _twice(self, name: Name, before: Rule) -> SourceError:
        return SourceError(f"{name.text} is also on {self.unit} {before.line}", "keep one of them")

    def _canonical(self, path: bytes) -> bytes:
        """The path below its file system's own prefix, where it came by an alias."""
        for alias, canonical in self._aliases:
            if path.startswith(alias):
                return canonical + path[len(alias) :]
        return path

    def _canonical_name(self, name: Name) -> Name:
        head = self._canonical(name.head)
        if head == name.head:
            return name
        alias = next(text for text, _ in self._aliases if name.head.startswith(text))
        # The texts differ from the bytes only by escapes.
        rest = name.text[len(escape(decode(alias))) :]
        kept = len(name.head) - len(alias)
        new_head = head[: len(head) - kept]
        return Name(escape(decode(new_head)) + rest, (head, *name.segments[1:]))
