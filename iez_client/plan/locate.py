"""Locate: which file systems the files of a path or template lie on."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from iez_client.plan.template import Name, encode


class Named(Protocol):
    """A file system, as far as it matters here."""

    @property
    def names(self) -> tuple[str, ...]: ...


Place = TypeVar("Place", bound=Named)


def may_lie_on(name: Name, file_systems: Sequence[Named]) -> bool:
    """Whether the path, or some path of the template, lies on one of the file systems."""
    return bool(file_systems_of(name, file_systems))


def file_systems_of(name: Name, file_systems: Sequence[Place]) -> list[Place]:
    """The file system with the longest prefix above the name, and those that a template's fields
    can lead into."""
    found = _reachable(name, file_systems) if name.path is None else []
    above = [
        (len(prefix), each)
        for each in file_systems
        for prefix in map(encode, each.names)
        if name.head.startswith(prefix + b"/")
    ]
    if above:
        longest = max(above, key=lambda pair: pair[0])[1]
        found = [longest, *(each for each in found if each is not longest)]
    return found


def _reachable(name: Name, file_systems: Sequence[Place]) -> list[Place]:
    """Those whose prefix begins with what stands before the first field."""
    return [
        each
        for each in file_systems
        if any((encode(prefix) + b"/").startswith(name.head) for prefix in each.names)
    ]
