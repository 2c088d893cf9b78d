"""Compile: a Draft in, the body of a plan out."""

from array import array
from collections import deque

from iez_client.plan.draft import Draft
from iez_client.plan.image import Body
from iez_client.plan.template import LITERAL, Node, Tree, decode, encode
from iez_common._core import ffi, lib
from iez_common.errors import SourceError


def compile_draft(draft: Draft) -> Body:
    """Builds the hash table of the paths and the tree of the templates."""
    sieve, slots = _slots(draft)
    choices, options = _choices(draft)
    nodes = _nodes(draft)
    return Body(sieve, slots, nodes, choices, options, draft.layouts, draft.texts)


def _slots(draft: Draft) -> tuple[bytes, bytes]:
    """The hash table of the paths, with the filter before it."""
    count = len(draft.text_refs)
    if count == 0:
        return b"", b""
    bucket = lib.IEZ_PLAN_BUCKET
    slot_count = (count + count // 2) // bucket * bucket + bucket
    slots = ffi.new("struct iez_slot[]", slot_count)
    taken = lib.iez_build_slots(
        slots,
        slot_count,
        ffi.from_buffer(bytes(draft.texts)),
        ffi.from_buffer("uint32_t[]", draft.text_refs),
        ffi.from_buffer("uint32_t[]", draft.layout_refs),
        count,
    )
    if taken < count:
        raise _twice(draft, taken)
    word_count = count // ffi.sizeof("uint64_t") + 1  # a byte a path
    words = ffi.new("uint64_t[]", word_count)
    lib.iez_build_filter(words, word_count, slots, slot_count)
    return bytes(ffi.buffer(words)), bytes(ffi.buffer(slots))


def _twice(draft: Draft, number: int) -> SourceError:
    """Path `number` has the hash of one before it: the same path, or bad luck of 1 in 2^63."""
    path = _path(draft, number)
    line = draft.lines[number]
    for before in range(number):
        if _path(draft, before) == path:
            return SourceError(
                f"{draft.where(line)}: {decode(path)} is also on {draft.unit} "
                f"{draft.lines[before]}",
                "keep one of them",
            )
    return SourceError(
        f"{draft.where(line)}: {decode(path)} has the hash of another path", "give it another name"
    )


def _path(draft: Draft, number: int) -> bytes:
    at = draft.text_refs[number]
    length = int.from_bytes(draft.texts[at : at + 2], "little")
    return bytes(draft.texts[at + 2 : at + 2 + length])


def _choices(draft: Draft) -> tuple[bytes, bytes]:
    rules = list(draft.rules.values())
    choices = ffi.new("struct iez_choice[]", len(rules))
    options = array("I")
    for choice, rule in zip(choices, rules, strict=True):
        choice.first_option = len(options)
        choice.option_count = len(rule.options)
        choice.field = rule.field
        choice.first_value = rule.first_value
        choice.text = draft.add_text(encode(rule.name.text))
        options.extend(rule.options)
    return bytes(ffi.buffer(choices)), options.tobytes()


def _nodes(draft: Draft) -> bytes:
    """The tree, level by level, so that the children of a node lie side by side."""
    if not draft.rules:
        return b""
    tree = Tree()
    for number, segments in enumerate(draft.rules):
        tree.add(segments, number)
    ordered: list[Node] = [tree.root]
    first_child: list[int] = []
    waiting = deque([tree.root])
    while waiting:
        children = waiting.popleft().children()
        first_child.append(len(ordered))
        ordered += children
        waiting.extend(children)
    texts: dict[bytes, int] = {}
    nodes = ffi.new("struct iez_node[]", len(ordered))
    for raw, node, first in zip(nodes, ordered, first_child, strict=True):
        raw.edge = node.edge
        raw.text = lib.IEZ_PLAN_NONE
        if node.edge == LITERAL and node.text:
            if node.text not in texts:
                texts[node.text] = draft.add_text(node.text)
            raw.text = texts[node.text]
            raw.first_byte = node.text[0]
        raw.first_child = first
        raw.child_count = len(node.literals) + len(node.fields)
        raw.choice = node.choice
    return bytes(ffi.buffer(nodes))
