"""Image: the sections of a plan, put together as the bytes of its file."""

from collections.abc import Sequence
from dataclasses import dataclass

from iez_client.filesystems import FileSystem
from iez_client.plan.template import encode
from iez_common._core import ffi, lib

Bytes = bytes | bytearray | memoryview

# Sections that mean the same wherever they lie: binding a plan copies them.
BODY = ("filter", "slots", "nodes", "choices", "options", "layouts", "texts")
SECTIONS = ("prefixes", "osts", *BODY, "trace_dir")
ELEMENT_BYTES: dict[str, int] = {
    "prefixes": ffi.sizeof("struct iez_prefix"),
    "filter": ffi.sizeof("uint64_t"),
    "slots": ffi.sizeof("struct iez_slot"),
    "nodes": ffi.sizeof("struct iez_node"),
    "choices": ffi.sizeof("struct iez_choice"),
    "options": ffi.sizeof("uint32_t"),
    "osts": ffi.sizeof("struct iez_ost"),
    "layouts": 1,
    "texts": 1,
    "trace_dir": 1,
}
HEADER_BYTES: int = ffi.sizeof("struct iez_plan_header")
ALIGNMENT_BYTES = 8  # of every section
CACHE_LINE_BYTES = 64  # a bucket of the hash table is to be in one


@dataclass(frozen=True, slots=True)
class Body:
    """What a plan says about files, without where it holds."""

    filter: Bytes = b""
    slots: Bytes = b""
    nodes: Bytes = b""
    choices: Bytes = b""
    options: Bytes = b""
    layouts: Bytes = b""
    texts: Bytes = b""


def assemble(
    body: Body, file_systems: Sequence[FileSystem], refresh_ms: int, generation: int
) -> bytearray:
    """The bytes of the plan file."""
    texts = bytearray(body.texts)
    prefixes, osts = _prefixes(file_systems, texts)
    sections: dict[str, Bytes] = {name: getattr(body, name) for name in BODY}
    sections |= {"prefixes": prefixes, "osts": osts, "texts": texts, "trace_dir": b""}
    header = ffi.new("struct iez_plan_header *")
    image = bytearray(HEADER_BYTES)
    for name in SECTIONS:
        image += bytes(-len(image) % CACHE_LINE_BYTES)
        section = getattr(header, name)
        section.offset = len(image)
        section.count = len(sections[name]) // ELEMENT_BYTES[name]
        image += sections[name]
    header.magic = lib.IEZ_PLAN_MAGIC
    header.version = lib.IEZ_PLAN_VERSION
    header.header_bytes = HEADER_BYTES
    header.generation = generation
    header.refresh_ms = refresh_ms
    return _sealed(header, image)


def stamp(image: Bytes, run: int, trace_dir: bytes, events: bool) -> bytearray:
    """The same plan, for one run: where its traces go, and what they hold."""
    stamped = bytearray(image)
    stamped += bytes(-len(stamped) % ALIGNMENT_BYTES)
    header = ffi.new("struct iez_plan_header *")
    ffi.memmove(header, stamped[:HEADER_BYTES], HEADER_BYTES)
    header.run = run
    header.trace_events = int(events)
    header.trace_dir.offset = len(stamped)
    header.trace_dir.count = len(trace_dir) + 1
    stamped += trace_dir + b"\0"
    return _sealed(header, stamped)


def _sealed(header: "ffi.CData", image: bytearray) -> bytearray:
    """The image with its header, whose length and checksums are made good."""
    header.file_bytes = len(image)
    with memoryview(image) as view:
        body_bytes = ffi.from_buffer(view[HEADER_BYTES:])
        header.body_checksum = lib.iez_hash(body_bytes, len(image) - HEADER_BYTES)
        ffi.release(body_bytes)
    header.header_checksum = lib.iez_plan_header_hash(header)
    image[:HEADER_BYTES] = ffi.buffer(header)
    return image


def _prefixes(file_systems: Sequence[FileSystem], texts: bytearray) -> tuple[bytes, bytes]:
    """The sections of the prefixes and of their OSTs; the names are added to `texts`."""
    prefixes = ffi.new("struct iez_prefix[]", sum(len(each.names) for each in file_systems))
    osts = ffi.new("struct iez_ost[]", sum(len(each.osts) for each in file_systems))
    number = first_ost = 0
    for file_system in file_systems:
        canonical = number
        for name in file_system.names:
            prefix = prefixes[number]
            prefix.text = add_text(texts, encode(name))
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


def add_text(texts: bytearray, text: bytes) -> int:
    """Appends a text as the plan holds it: its length, its bytes, a NUL. Gives the reference."""
    reference = len(texts)
    texts += b"%b%b\0" % (len(text).to_bytes(2, "little"), text)
    return reference
