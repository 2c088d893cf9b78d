"""Image: the sections of a plan, put together as the bytes of its file."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iez_client.filesystems import FileSystem
from iez_client.plan.template import Name, decode, encode, parse
from iez_common._core import ffi, lib
from iez_common.errors import PlanError, UnknownOstError

Bytes = bytes | bytearray | memoryview

# Sections that mean the same wherever they lie: binding a plan copies them.
BODY = ("slots", "nodes", "choices", "options", "layouts", "texts")
SECTIONS = ("prefixes", "slots", "nodes", "choices", "options", "osts", "layouts", "texts")
ELEMENT_BYTES = {
    "prefixes": ffi.sizeof("struct iez_prefix"),
    "slots": ffi.sizeof("struct iez_slot"),
    "nodes": ffi.sizeof("struct iez_node"),
    "choices": ffi.sizeof("struct iez_choice"),
    "options": ffi.sizeof("uint32_t"),
    "osts": ffi.sizeof("struct iez_ost"),
    "layouts": 1,
    "texts": 1,
}
HEADER_BYTES: int = ffi.sizeof("struct iez_plan_header")


@dataclass(frozen=True, slots=True)
class Body:
    """What a plan says about files, without where it holds."""

    slots: Bytes = b""
    nodes: Bytes = b""
    choices: Bytes = b""
    options: Bytes = b""
    layouts: Bytes = b""
    texts: Bytes = b""


def assemble(
    body: Body, file_systems: Sequence[FileSystem], refresh_ms: int, generation: int
) -> bytearray:
    """The file's bytes. Raises UnknownOstError if a layout names an OST that is not there."""
    texts = bytearray(body.texts)
    prefixes, osts = _prefixes(file_systems, texts)
    sections: dict[str, Bytes] = {name: getattr(body, name) for name in BODY}
    sections |= {"prefixes": prefixes, "osts": osts, "texts": texts}
    header = ffi.new("struct iez_plan_header *")
    image = bytearray(HEADER_BYTES)
    for name in SECTIONS:
        image += bytes(-len(image) % 8)
        section = getattr(header, name)
        section.offset = len(image)
        section.count = len(sections[name]) // ELEMENT_BYTES[name]
        image += sections[name]
    header.magic = lib.IEZ_PLAN_MAGIC
    header.version = lib.IEZ_PLAN_VERSION
    header.header_bytes = HEADER_BYTES
    header.file_bytes = len(image)
    header.generation = generation
    header.refresh_ms = refresh_ms
    whole = ffi.from_buffer(image)
    header.body_checksum = lib.iez_hash(whole + HEADER_BYTES, len(image) - HEADER_BYTES)
    header.header_checksum = lib.iez_plan_header_hash(header)
    ffi.memmove(whole, header, HEADER_BYTES)
    _check_osts(whole, len(image))
    return image


def _prefixes(file_systems: Sequence[FileSystem], texts: bytearray) -> tuple[bytes, bytes]:
    """The sections of the prefixes and of their OSTs; the names are added to `texts`."""
    names = [(each, name) for each in file_systems for name in each.names]
    prefixes = ffi.new("struct iez_prefix[]", len(names))
    osts = ffi.new("struct iez_ost[]", sum(len(each.osts) for each in file_systems))
    number = first_ost = 0
    for file_system in file_systems:
        canonical = number
        for name in file_system.names:
            prefix = prefixes[number]
            prefix.text = len(texts)
            data = encode(name)
            texts += len(data).to_bytes(2, "little") + data + b"\0"
            prefix.canonical = canonical
            prefix.kind = file_system.kind
            prefix.first_ost = first_ost
            prefix.ost_count = len(file_system.osts)
            prefix.inject = file_system.inject
            number += 1
        for ost in file_system.osts:
            osts[first_ost].index, osts[first_ost].state = ost.index, ost.state
            first_ost += 1
    return bytes(ffi.buffer(prefixes)), bytes(ffi.buffer(osts))


def _check_osts(whole: object, image_bytes: int) -> None:
    """Refuses the plan if a layout names an OST that its file system does not have."""
    plan = ffi.new("struct iez_plan *")
    trouble = lib.iez_plan_use(whole, image_bytes, plan)
    if trouble != ffi.NULL:
        raise PlanError(f"the plan cannot be built: {ffi.string(trouble).decode()}")
    if plan.header.prefixes.count == 0:
        return
    text = ffi.new("uint32_t *")
    unknown = lib.iez_build_unknown_ost(plan, text)
    if unknown == -2:
        raise PlanError("the plan is damaged", "build it again: iez plan build")
    if unknown >= 0:
        path = _text(plan, text[0])
        raise _unknown(plan, decode(path), unknown, _prefix_of(plan, path))
    _check_template_osts(plan)


def _check_template_osts(plan: "ffi.CData") -> None:
    header = plan.header
    at = lambda section: plan.base + getattr(header, section).offset  # noqa: E731
    choices = ffi.cast("struct iez_choice *", at("choices"))
    options = ffi.cast("uint32_t *", at("options"))
    known: set[tuple[int, int]] = set()
    for i in range(header.choices.count):
        choice = choices[i]
        text = decode(_text(plan, choice.text))
        for place in _prefixes_of(plan, parse(text)):
            prefix = ffi.cast("struct iez_prefix *", at("prefixes")) + place
            for option in range(choice.first_option, choice.first_option + choice.option_count):
                reference = options[option]
                if (place, reference) in known:
                    continue
                known.add((place, reference))
                layout = ffi.cast("struct iez_layout *", at("layouts") + 8 * reference)
                room = header.layouts.count - 8 * reference
                unknown = lib.iez_plan_unknown_ost(plan, prefix, layout, room)
                if unknown >= 0:
                    raise _unknown(plan, text, unknown, prefix)
