"""Interpreters: the words of one program in, its name and its own arguments out.

Of an interpreter the script is the program.
"""

# Lists of options are easier to read as texts.
# ruff: noqa: SIM905

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from iez_client.names.shell import SHELLS, shell_text

_PYTHON = re.compile(r"(?:python|pypy)w?[0-9.]*")
_JAVA_ONE = frozenset(
    "-cp -classpath --class-path -p --module-path --add-modules --add-opens --add-exports".split()
)
_SCRIPT_ONE = {  # options of interpreters that take the next word
    "perl": frozenset(("-I",)),
    "ruby": frozenset("-I -r -C -E".split()),
    "Rscript": frozenset(),
    "julia": frozenset("-p --procs -t --threads -L --load -J --sysimage -H --home -C".split()),
    "node": frozenset("-r --require --import --loader".split()),
    **dict.fromkeys(SHELLS, frozenset(("-o", "-O", "+O", "--rcfile", "--init-file"))),
}
_CODE = ("-e", "-E", "--eval", "-p", "--print")  # the program is the next word itself
_PYTHON_ONE = frozenset("-X -W --check-hash-based-pycs".split())
_RUNNERS = frozenset("mpi4py mpi4py.run mpi4py.futures cProfile profile pdb".split())
_RUNNER_ONE = frozenset("-o --outfile -s --sort -rc".split())


@dataclass(frozen=True, slots=True)
class Program:
    """A program, whatever it was started through."""

    name: str  # base name of the program or script
    arguments: tuple[str, ...]


def program_of(words: list[str]) -> Program:
    """The script of an interpreter, else the program itself."""
    if not words:
        return Program("", ())
    return _interpreted(words) or Program(base_name(words[0]), tuple(words[1:]))


def base_name(word: str) -> str:
    return PurePosixPath(word).name or word


def _interpreted(words: list[str]) -> Program | None:
    """The script of an interpreter; None where the program is none, or has no script."""
    name = base_name(words[0])
    if _PYTHON.fullmatch(name):
        return _python(words)
    if name == "java":
        return _java(words)
    if name not in _SCRIPT_ONE:
        return None
    text = shell_text(words) if name in SHELLS else None
    if text is not None:
        return Program(name, ("-c", *text.split()))
    at = 1
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        if words[at] in _CODE and name not in SHELLS and words[at] not in _SCRIPT_ONE[name]:
            return Program(name, (words[at], *" ".join(words[at + 1 :]).split()))
        at += 2 if words[at] in _SCRIPT_ONE[name] else 1
    return Program(base_name(words[at]), tuple(words[at + 1 :])) if at < len(words) else None


def _python(words: list[str]) -> Program | None:
    at = 1
    one = _PYTHON_ONE
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        word = words[at]
        switch = re.fullmatch(r"-([A-VY-Zabd-lnop-z]*)([cm])(.*)", word)  # -um works, too
        if switch:
            value, rest = switch[3], words[at + 1 :]
            if not value:
                value, rest = (rest[0], rest[1:]) if rest else ("", [])
            if switch[2] == "c":
                return Program(base_name(words[0]), ("-c", *value.split(), *rest))
            if value not in _RUNNERS:
                return Program(value, tuple(rest))
            one |= _RUNNER_ONE
            words, at = [words[0], *rest], 1
            continue
        at += 2 if word in one else 1
    return Program(base_name(words[at]), tuple(words[at + 1 :])) if at < len(words) else None


def _java(words: list[str]) -> Program | None:
    at = 1
    while at < len(words) and words[at].startswith("-"):
        if words[at] in ("-jar", "-m", "--module"):
            at += 1
            break
        at += 2 if words[at] in _JAVA_ONE else 1
    return Program(base_name(words[at]), tuple(words[at + 1 :])) if at < len(words) else None
