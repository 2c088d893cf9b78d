"""Roots: the words of a command that file names begin with, under symbols that stay the same when
the words change: `{--out}`, `{-o}`, `{1}` for the first word by itself, `{cwd}`."""

import os
import re
from collections.abc import Iterator, Sequence

from iez_client.names.interpreters import program_of
from iez_client.names.launchers import launched
from iez_client.names.shape import arguments_of, is_number

CURRENT = "{cwd}"
_SYMBOL_NAME = re.compile(r"[^{}/\\#*\0]+")
_OUTPUT = re.compile(r"out|dump|ckpt|checkpoint|write|scratch|work|restart|-o\b|of=", re.IGNORECASE)


class Roots:
    """Where the files of one run may lie."""

    def __init__(self, roots: Sequence[tuple[str, str]]) -> None:
        """Pairs of symbol and absolute path. Of equal paths the first counts when a path is
        split; of equal symbols the first counts altogether."""
        self._path_of: dict[str, str] = {}
        for symbol, path in roots:
            self._path_of.setdefault(symbol, path)
        self._symbol_of: dict[str, str] = {}
        for symbol, path in self._path_of.items():
            self._symbol_of.setdefault(path, symbol)
        longest_first = sorted(self._symbol_of, key=len, reverse=True)
        # A root ends where a component does, or where at least no word goes on.
        ends = [
            re.escape(path) + ("(?![^\\W_])" if path[-1:].isalnum() else "")
            for path in longest_first
        ]
        self._begins = re.compile("|".join(ends) or r"(?!)").match

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Roots) and self._path_of == other._path_of

    def __hash__(self) -> int:
        return hash(self.items())

    def __repr__(self) -> str:
        return f"Roots({list(self.items())!r})"

    def items(self) -> tuple[tuple[str, str], ...]:
        """Symbols and their paths."""
        return tuple(self._path_of.items())

    def split(self, path: str) -> tuple[str, str]:
        """The symbol of the longest root that the path begins with, and what follows it."""
        found = self._begins(path)
        if not found:
            return "", path
        return self._symbol_of[found[0]], path[found.end() :]

    def join(self, symbol: str, rest: str) -> str | None:
        """The path; None: this command has no such root."""
        if not symbol:
            return rest
        root = self._path_of.get(symbol)
        return None if root is None else root + rest


def roots_of(command: Sequence[str], directory: str) -> Roots:
    """All words of the command, made absolute. A number is no root: it would be found in the names
    of numbered files."""
    found = launched(command)
    directory = _absolute(found.directory, directory)
    words = []
    for number, program in enumerate(found.programs, 1):
        own = _words(program_of(program).arguments)
        words += [(symbol if number == 1 else f"{number}:{symbol}", word) for symbol, word in own]
    # Of two options with the same path, the one that names what is written.
    words.sort(key=lambda pair: not _OUTPUT.search(pair[0]))
    roots = [
        (f"{{{symbol}}}", _absolute(word, directory))
        for symbol, word in words
        if word and not is_number(word) and _SYMBOL_NAME.fullmatch(symbol)
    ]
    roots.append((CURRENT, directory))
    return Roots([pair for pair in roots if pair[1] != "/"])


def _words(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What can be a path, with a symbol for each."""
    seen: dict[str, int] = {}
    count = 0
    for argument in arguments_of(arguments):
        if argument.value is None:
            continue
        if argument.option:
            symbol = argument.option + ("" if argument.option.startswith("-") else "=")
        else:
            count += 1
            symbol = str(count)
        seen[symbol] = seen.get(symbol, 0) + 1
        yield (symbol if seen[symbol] == 1 else f"{symbol}.{seen[symbol]}"), argument.value


def _absolute(word: str, directory: str) -> str:
    path = os.path.normpath(f"{directory}/{word}" if not word.startswith("/") else word)
    return path[1:] if path.startswith("//") else path
