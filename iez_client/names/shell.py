"""Shell: the text of `sh -c` in, its one command out, without redirections and without what only
prepares it: `module load x && cd d && ./app in.nml > log 2>&1` is `./app in.nml`, in `d`."""

# Light enough for the start of a job.
# ruff: noqa: PTH118

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

SHELLS = ("sh", "bash", "dash", "ksh", "zsh")
_PREPARING = frozenset(("cd", "module", "export", "source", ".", "ulimit", "set", "umask"))
_TOKEN = re.compile(
    r"""[ \t]*(?:
    (?P<redirection>(?:[0-9]*(?:>>|>\||>&|<&|<>|>|<)|&>>?)[ \t]*)
    |(?P<end>&&|;|\n)
    |(?P<word>(?:'[^']*'|"(?:\\.|[^"\\`])*"|\\.|[^\s;&|<>()`'"\\])+)
    )[ \t]*""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """The one command of a text."""

    words: tuple[str, ...]
    directory: str  # into which the text changes before; empty: none, or it cannot be told


def shell_text(words: Sequence[str]) -> str | None:
    """What a shell is given behind -c."""
    for at, word in enumerate(words[1:-1], 1):
        if not word.startswith("-"):
            return None
        if re.fullmatch(r"-[a-z]*c[a-z]*", word):
            return words[at + 1]
    return None


def command_of(text: str | None) -> ShellCommand | None:
    """None: the text is not one command."""
    commands = _commands(text or "")
    if commands is None:
        return None
    directory = ""
    while commands and commands[0][0] in _PREPARING:
        name, *arguments = split(" ".join(commands.pop(0)))
        if name == "cd":
            directory = os.path.join(directory, _target(arguments))
    # A first word that is a variable may be anything.
    if len(commands) != 1 or re.match(r'"?\$', commands[0][0]) or "$(" in " ".join(commands[0]):
        return None
    return ShellCommand(tuple(split(" ".join(commands[0]))), directory)


def split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # quotes that do not end
        return text.split()


def _commands(text: str) -> list[list[str]] | None:
    """The words of each command, still quoted, without redirections; None where commands are
    joined otherwise than one after the other."""
    commands: list[list[str]] = [[]]
    at = 0
    text = text.strip()
    is_target = False  # of a redirection
    while at < len(text):
        token = _TOKEN.match(text, at)
        if not token or (is_target and not token["word"]):
            return None
        at = token.end()
        if token["end"]:
            commands.append([])
        elif token["word"] and not is_target:
            commands[-1].append(token["word"])
        is_target = bool(token["redirection"])
    return [command for command in commands if command]


def _target(arguments: Sequence[str]) -> str:
    """Of cd."""
    target = arguments[-1] if arguments else ""
    return "" if target.startswith(("-", "~")) or "$" in target else target
