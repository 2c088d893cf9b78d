"""Read: a plan file in, what it says out. Look-ups are done by the library's own code."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from iez_client.filesystems import FileSystem, Ost
from iez_client.plan.image import BODY, ELEMENT_BYTES, HEADER_BYTES, Body
from iez_client.plan.template import decode
from iez_common._core import ffi, lib
from iez_common.errors import InputError, LayoutError, PlanError, reason
from iez_common.layout import Layout, read_record

_REBUILD = "build it again: iez plan build"


@dataclass(frozen=True, slots=True)
class Entry:
    """One exact path of a plan."""

    path: bytes
    layout_ref: int


@dataclass(frozen=True, slots=True)
class Choice:
    """One template of a plan; `field` counts all its fields."""

    text: str
    options: tuple[int, ...]
    field: int
    first_value: int


@dataclass(frozen=True, slots=True)
class Found:
    """What a path is to get."""

    prefix: str  # empty: on no known file system
    kind: int
    layout: Layout | None  # None: nothing is planned
    template: str  # empty: planned by its own path


class Plan:
    """A plan in memory. Every reference is checked where it is followed."""

    def __init__(self, data: bytes | bytearray, name: str) -> None:
        self.name = name
        self._data = memoryview(data)
        self._whole = ffi.from_buffer(data)
        self._plan = ffi.new("struct iez_plan *")
        trouble = lib.iez_plan_use(self._whole, len(data), self._plan)
        if trouble != ffi.NULL:
            raise PlanError(f"{name}: {ffi.string(trouble).decode()}", _REBUILD)
        self.header = self._plan.header

    @property
    def generation(self) -> int:
        return int(self.header.generation)

    @property
    def refresh_ms(self) -> int:
        return int(self.header.refresh_ms)

    @property
    def is_bound(self) -> bool:
        return bool(self.header.prefixes.count)

    def body(self) -> Body:
        return Body(**{name: self._section(name) for name in BODY})

    def file_systems(self) -> list[FileSystem]:
        prefixes = self._array("prefixes", "struct iez_prefix")
        osts = self._array("osts", "struct iez_ost")
        aliases: dict[int, list[str]] = {}
        for number in range(self.header.prefixes.count):
            prefix = prefixes[number]
            if prefix.canonical >= self.header.prefixes.count:
                raise self._damaged("a prefix lies outside it")
            if prefix.canonical != number:
                aliases.setdefault(prefix.canonical, []).append(decode(self.text(prefix.text)))
        found = []
        for number in range(self.header.prefixes.count):
            prefix = prefixes[number]
            if prefix.canonical != number:
                continue
            if prefix.first_ost + prefix.ost_count > self.header.osts.count:
                raise self._damaged("an OST lies outside it")
            found.append(
                FileSystem(
                    kind=prefix.kind,
                    prefix=decode(self.text(prefix.text)),
                    osts=tuple(
                        Ost(osts[k].index, osts[k].state)
                        for k in range(prefix.first_ost, prefix.first_ost + prefix.ost_count)
                    ),
                    aliases=tuple(aliases.get(number, ())),
                    inject=prefix.inject,
                )
            )
        return found

    def entries(self) -> Iterator[Entry]:
        """The exact paths, in no particular order."""
        slots = self._array("slots", "struct iez_slot")
        for number in range(self.header.slots.count):
            slot = slots[number]
            if slot.hash:
                yield Entry(self.text(slot.text), slot.layout)

    def choices(self) -> Iterator[Choice]:
        """The templates, in the order of the source."""
        choices = self._array("choices", "struct iez_choice")
        options = self._array("options", "uint32_t")
        for number in range(self.header.choices.count):
            choice = choices[number]
            end = choice.first_option + choice.option_count
            if end > self.header.options.count:
                raise self._damaged("an option lies outside it")
            yield Choice(
                text=decode(self.text(choice.text)),
                options=tuple(options[k] for k in range(choice.first_option, end)),
                field=choice.field,
                first_value=choice.first_value,
            )

    def record(self, layout_ref: int) -> bytes:
        """The record of a layout."""
        layouts = self._section("layouts")
        at = 8 * layout_ref
        head_bytes = ffi.sizeof("struct iez_layout")
        if at + head_bytes > len(layouts):
            raise self._damaged("a layout lies outside it")
        head = ffi.from_buffer("struct iez_layout *", layouts[at : at + head_bytes])
        if not head_bytes <= head.bytes <= len(layouts) - at:
            raise self._damaged("a layout lies outside it")
        return bytes(layouts[at : at + head.bytes])

    def layout(self, layout_ref: int) -> Layout:
        return self._layout_of(self.record(layout_ref))

    def _layout_of(self, record: bytes | memoryview) -> Layout:
        try:
            return read_record(record)
        except LayoutError as error:
            raise self._damaged(error.message) from None

    @property
    def has_entries(self) -> bool:
        return bool(self.header.slots.count or self.header.choices.count)

    @property
    def trace_dir(self) -> bytes:
        """Where the traces go; empty: beside the plan."""
        return bytes(self._section("trace_dir")).rstrip(b"\0")

    def text(self, reference: int) -> bytes:
        length = ffi.new("uint32_t *")
        text = lib.iez_plan_text(self._plan, reference, length)
        if text == ffi.NULL:
            raise self._damaged("a text lies outside it")
        return bytes(ffi.buffer(text, length[0]))

    def find(self, path: bytes) -> Found:
        """Looks an absolute, normalised path up as the library does."""
        scratch = ffi.new("char[]", lib.IEZ_PATH_MAX)
        found = ffi.new("struct iez_found *")
        trouble = lib.iez_plan_find(self._plan, path, len(path), scratch, found)
        if trouble != ffi.NULL:
            raise PlanError(f"{self.name}: {ffi.string(trouble).decode()}", _REBUILD)
        if found.prefix == ffi.NULL:
            return Found("", int(lib.IEZ_KIND_NONE), None, "")
        layout = None
        if found.layout != ffi.NULL:
            record = ffi.buffer(found.layout, found.layout_bytes)
            layout = self._layout_of(memoryview(record))
        template = ""
        if found.template_text != lib.IEZ_PLAN_NONE:
            template = decode(self.text(found.template_text))
        return Found(decode(self.text(found.prefix.text)), found.prefix.kind, layout, template)

    def unknown_ost(self) -> tuple[bytes, int] | None:
        """The first exact path whose layout names an OST that is not there, and that OST."""
        text = ffi.new("uint32_t *")
        unknown = lib.iez_build_unknown_ost(self._plan, text)
        if unknown == -2:
            raise self._damaged("an exact path cannot be found")
        return None if unknown < 0 else (self.text(text[0]), int(unknown))

    def verify(self) -> None:
        """Checks what the library does not: the checksum, and every reference there is."""
        body = self._whole + HEADER_BYTES
        if lib.iez_hash(body, len(self._data) - HEADER_BYTES) != self.header.body_checksum:
            raise self._damaged("its checksum does not agree with its bytes")
        self.file_systems()
        good: set[int] = set()
        for entry in self.entries():
            if entry.layout_ref not in good:
                self.layout(entry.layout_ref)
                good.add(entry.layout_ref)
        for choice in self.choices():
            for reference in choice.options:
                self.layout(reference)

    def _section(self, name: str) -> memoryview:
        section = getattr(self.header, name)
        return self._data[section.offset : section.offset + section.count * ELEMENT_BYTES[name]]

    def _array(self, name: str, element: str) -> "ffi.CData":
        return ffi.cast(f"{element} *", self._whole + getattr(self.header, name).offset)

    def _damaged(self, what: str) -> PlanError:
        return PlanError(f"{self.name}: it is damaged: {what}", _REBUILD)


def read_plan(path: Path) -> Plan:
    """Reads the whole file: a mapping would be a SIGBUS should somebody cut it short meanwhile."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {reason(error)}") from None
    return Plan(data, str(path))


def check_owner(path: Path) -> None:
    """Refuses a plan that other users could have written, as the library does."""
    try:
        status = path.stat()
    except OSError as error:
        raise InputError(f"{path}: {reason(error)}") from None
    if status.st_mode & 0o022:
        raise PlanError(f"{path}: other users may write to it", f"chmod go-w {path}")
    if status.st_uid not in (os.geteuid(), 0):
        raise PlanError(f"{path}: it belongs to another user", "build a plan of your own")


def is_plan(path: Path) -> bool:
    """Whether the file begins as a plan does."""
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        raise InputError(f"{path}: {reason(error)}") from None
    return int.from_bytes(start, "little") == int(lib.IEZ_PLAN_MAGIC)
