"""Identity: a command line in, the application that it is out."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from iez_client.names.interpreters import program_of
from iez_client.names.launchers import launched
from iez_client.names.shape import shape_of


@dataclass(frozen=True, slots=True)
class Identity:
    """Which application a command is. Two commands are the same one if their keys are."""

    key: str
    name: str
    program: str
    shape: str  # of the arguments; further programs of the launch behind ` : `


def identify(command: Sequence[str], name: str = "") -> Identity:
    """By the name that the user gave, else by the program and the shape of its arguments."""
    programs = [program_of(words) for words in launched(command).programs]
    first = programs[0]
    shapes = [shape_of(first.arguments)]
    shapes += [f"{each.name} {shape_of(each.arguments)}".rstrip() for each in programs[1:]]
    shape = " : ".join(shapes)
    known_by = name or f"{first.name}\0{shape}"
    key = sha256(known_by.encode("utf-8", "surrogateescape")).hexdigest()
    return Identity(key, name or first.name, first.name, shape)
