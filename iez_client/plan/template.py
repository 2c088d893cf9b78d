"""Templates: names with fields, and the tree in which the library finds them.

`#` stands for a number, `*` for a run of letters and digits, a directory called `*` for any one
directory, a last component `**` for everything below. A backslash takes the meaning from `#`, `*`
and itself. Fields take the longest run there is, so a template that could never match is refused.
"""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from iez_common._core import lib
from iez_common.errors import SourceError

NUMBER: int = lib.IEZ_EDGE_NUMBER
ALNUM: int = lib.IEZ_EDGE_ALNUM
DIRECTORY: int = lib.IEZ_EDGE_DIRECTORY
REST: int = lib.IEZ_EDGE_REST
LITERAL: int = lib.IEZ_EDGE_LITERAL

FIELDS_MAX: int = lib.IEZ_PLAN_FIELDS
PATH_BYTES_MAX: int = lib.IEZ_PATH_MAX - 1

Segment = bytes | int  # a literal, or the edge kind of a field
_SPECIAL = re.compile(r"[#*\\]")
# A path that needs only to be copied: absolute, normalised, without template characters.
PLAIN = re.compile(r"(?:/[^/.#*\\\0][^/#*\\\0]*)+")
_ALNUM_BYTE = re.compile(rb"[A-Za-z0-9]")


@dataclass(frozen=True, slots=True)
class Name:
    """A path or template as the plan knows it."""

    text: str  # absolute and normalised, escapes kept
    segments: tuple[Segment, ...]

    @property
    def path(self) -> bytes | None:
        """The path, if it has no fields."""
        only = self.segments[0]
        return only if len(self.segments) == 1 and isinstance(only, bytes) else None

    @property
    def fields(self) -> tuple[int, ...]:
        return tuple(segment for segment in self.segments if isinstance(segment, int))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The places of its `#` among its fields."""
        return tuple(place for place, kind in enumerate(self.fields) if kind == NUMBER)

    @property
    def head(self) -> bytes:
        """What stands before the first field."""
        first = self.segments[0]
        return first if isinstance(first, bytes) else b""


def encode(text: str) -> bytes:
    """The bytes of a name. Not os.fsencode: a plan means the same whatever the locale is."""
    return text.encode("utf-8", "surrogateescape")


def decode(name: bytes) -> str:
    """The text of a name; bytes that are no UTF-8 come back from encode as they were."""
    return name.decode("utf-8", "surrogateescape")


def escape(path: str) -> str:
    """The template that matches exactly `path`."""
    return _SPECIAL.sub(r"\\\g<0>", path)


def parse(text: str) -> Name:
    """Reads a path or template; a relative one is below the current directory."""
    if PLAIN.fullmatch(text) and len(text) <= PATH_BYTES_MAX // 4:
        return Name(text, (encode(text),))
    if not text:
        raise SourceError("the path is empty")
    if "\0" in text:
        raise SourceError("the path contains a NUL byte")
    if not text.startswith("/"):
        text = f"{_current_directory()}/{text}"
    whole = os.path.normpath(text)
    if whole.startswith("//"):
        whole = whole[1:]  # POSIX lets exactly two slashes mean something else; Linux does not
    segments: list[Segment] = []
    literal = bytearray()
    components = whole.split("/")[1:]
    for number, component in enumerate(components):
        literal += b"/"
        for part in _component(component, last=number == len(components) - 1):
            if isinstance(part, bytes):
                literal += part
            else:
                if literal:
                    segments.append(bytes(literal))
                    literal.clear()
                segments.append(part)
    if literal:
        segments.append(bytes(literal))
    if text.endswith("/"):
        raise SourceError(f"{text} is a directory's name", "add ** for all files below it")
    name = Name(whole, tuple(segments))
    _check(name)
    return name


def _current_directory() -> str:
    try:
        return escape(decode(os.getcwdb()))  # noqa: PTH109 - bytes
    except FileNotFoundError:
        raise SourceError("the path is relative, but the current directory is gone") from None


def _component(component: str, last: bool) -> Iterable[Segment]:
    if component == "**":
        if not last:
            raise SourceError(
                "** can only be the last component of a path", "use * for one directory"
            )
        return [REST]
    if component == "*" and not last:
        return [DIRECTORY]
    parts: list[Segment] = []
    position = 0
    for match in _SPECIAL.finditer(component):
        if match.start() < position:
            continue  # the second character of an escape
        parts.append(encode(component[position : match.start()]))
        position = match.end()
        if match[0] != "\\":
            parts.append(NUMBER if match[0] == "#" else ALNUM)
            continue
        escaped = component[position : position + 1]
        if escaped not in ("#", "*", "\\"):
            raise SourceError(
                rf"\{escaped} is no escape", r"write \\ for a backslash, \# and \* for # and *"
            )
        parts.append(encode(escaped))
        position += 1
    parts.append(encode(component[position:]))
    return [part for part in parts if part]


def _check(name: Name) -> None:
    if len(encode(name.text)) > PATH_BYTES_MAX:
        raise SourceError(f"the path is longer than {PATH_BYTES_MAX} bytes")
    if name.path is not None:
        return
    if len(name.fields) > FIELDS_MAX:
        raise SourceError(f"the template has more than {FIELDS_MAX} fields")
    for before, after in zip(name.segments, name.segments[1:], strict=False):
        if before == NUMBER and _can_begin(after, digits_only=True):
            what = "a digit or another #"
        elif before == ALNUM and _can_begin(after, digits_only=False):
            what = "a letter, a digit or another field"
        else:
            continue
        sign = "#" if before == NUMBER else "*"
        raise SourceError(
            f"{sign} is followed by {what}: it takes the longest run, so nothing could match",
            rf"write \{sign} if the name really contains {sign}",
        )


def _can_begin(after: Segment, digits_only: bool) -> bool:
    """Whether what follows a field begins inside the run that the field swallows."""
    if isinstance(after, int):
        return after == NUMBER if digits_only else after in (NUMBER, ALNUM)
    first = after[:1]
    return first.isdigit() if digits_only else bool(_ALNUM_BYTE.match(first))


@dataclass(slots=True)
class Node:
    """A node of the tree while it grows; the edge is what leads to it."""

    edge: int = LITERAL
    text: bytes = b""
    choice: int = lib.IEZ_PLAN_NONE
    literals: dict[int, "Node"] = field(default_factory=dict)  # by first byte
    fields: dict[int, "Node"] = field(default_factory=dict)  # by edge

    def children(self) -> list["Node"]:
        """In the order in which the library tries them."""
        literals = [self.literals[byte] for byte in sorted(self.literals)]
        return literals + [self.fields[edge] for edge in sorted(self.fields)]


class Tree:
    """All templates of a plan: literals that begin alike share their beginning."""

    def __init__(self) -> None:
        self.root = Node()

    def add(self, segments: tuple[Segment, ...], choice: int) -> None:
        node = self.root
        for segment in segments:
            if isinstance(segment, int):
                node = node.fields.setdefault(segment, Node(segment))
            else:
                node = _descend(node, segment)
        node.choice = choice


def _descend(node: Node, text: bytes) -> Node:
    """The node at the end of the literal `text` below `node`, splitting edges where needed."""
    while text:
        child = node.literals.get(text[0])
        if child is None:
            child = Node(LITERAL, text)
            node.literals[text[0]] = child
            return child
        shared = _shared_length(child.text, text)
        if shared < len(child.text):
            upper = Node(LITERAL, child.text[:shared])
            child.text = child.text[shared:]
            upper.literals[child.text[0]] = child
            node.literals[text[0]] = upper
            child = upper
        node, text = child, text[shared:]
    return node


def _shared_length(one: bytes, other: bytes) -> int:
    """How many bytes the two have in common at their beginning."""
    for place, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return place
    return min(len(one), len(other))
