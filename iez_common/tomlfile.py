"""TOML: typed reading of small files, with errors that name the file, the line and the key."""

import math
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from iez_common.errors import ConfigError, IezError, InputError, reason
from iez_common.units import INDICES_MAX, parse_indices, parse_size_bytes

Word = TypeVar("Word", bound=str)


@dataclass(frozen=True, slots=True)
class Table:
    """One table of a TOML file."""

    path: Path
    text: str = field(repr=False)
    values: dict[str, object]
    error: type[IezError]
    number: int = 0  # of this table among those of the same name, to find its lines again
    name: str = ""  # of this table, if it stands once

    def trouble(self, key: str, what: str, hint: str = "") -> IezError:
        """An error about `key`, to be raised."""
        line = self._line_of(key)
        where = f"{self.path}, line {line}" if line else f"{self.path}"
        return self.error(f"{where}: {key}: {what}", hint)

    def _line_of(self, key: str) -> int:
        """Where `key` is set: in this table's part of the file; 0 if it cannot be told."""
        wanted = re.compile(rf"\s*\[*\s*[\"']?{re.escape(key)}[\"']?\s*(=|\.|\])")
        tables, is_inside = 0, not self.name
        for number, line in enumerate(self.text.splitlines(), 1):
            if line.lstrip().startswith("[["):
                tables += 1
            if not is_inside:
                is_inside = re.match(rf"\s*\[?\s*{re.escape(self.name)}\b", line) is not None
            elif tables >= self.number and wanted.match(line):
                return number
        return 0

    def allow(self, keys: Iterable[str]) -> None:
        """Refuses any key that is not one of `keys`: a typing error must not go unseen."""
        known = sorted(keys)
        for key in self.values:
            if key not in known:
                raise self.trouble(key, "no such setting", f"one of: {', '.join(known)}")

    def integer(self, key: str, default: int, low: int = 0, high: int = 1 << 62) -> int:
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.trouble(key, "is not a whole number", f"{key} = {default}")
        if not low <= value <= high:
            raise self.trouble(key, f"{value} is not between {low} and {high}")
        return value

    def real(self, key: str, default: float, low: float, high: float) -> float:
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
            raise self.trouble(key, "is not a number", f"{key} = {default}")
        if not low <= value <= high:
            what = f"{value} is not between {low:g} and {high:g}"
            raise self.trouble(key, what, f"{key} = {default}")
        return float(value)

    def string(self, key: str, default: str = "") -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.trouble(key, "is not a text in quotes", f'{key} = "…"')
        return value

    def choice(self, key: str, default: Word, known: Iterable[Word]) -> Word:
        """One of the words that are known."""
        value, words = self.string(key, default), list(known)
        for word in words:
            if word == value:
                return word
        raise self.trouble(key, f"there is no {value!r}", f"one of: {', '.join(words)}")

    def strings(self, key: str) -> tuple[str, ...]:
        """A list of texts; one text alone is a list of one."""
        value = self.values.get(key, [])
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.trouble(key, "is not a list of texts", f'{key} = ["…", "…"]')
        return tuple(value)

    def size_bytes(self, key: str, default_bytes: int) -> int:
        """A number of bytes, or a text such as "10G"."""
        value = self.values.get(key, default_bytes)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        if isinstance(value, str):
            try:
                return parse_size_bytes(value)
            except ValueError as error:
                raise self.trouble(key, str(error)) from None
        raise self.trouble(key, "is not a size", f'{key} = "10G"')

    def indices(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """A set such as "0-14,20"; a bare number n is 0 … n-1."""
        value = self.values.get(key)
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 65536:
            return tuple(range(value))
        if isinstance(value, str):
            try:
                return parse_indices(value)
            except ValueError as error:
                raise self.trouble(key, str(error)) from None
        raise self.trouble(key, "is neither a number nor a set", f'{key} = "0-14,20"')

    def index_set(self, key: str) -> frozenset[int]:
        """A set such as "3,7-9", or a list of numbers; empty where it is not there. A bare number
        is refused: it could mean one index or that many."""
        value = self.values.get(key, [])
        if isinstance(value, list) and all(type(each) is int and each >= 0 for each in value):
            if max(value, default=0) >= INDICES_MAX:
                raise self.trouble(
                    key, f"{max(value)} is above the largest index, {INDICES_MAX - 1}"
                )
            return frozenset(value)
        if not isinstance(value, str):
            raise self.trouble(key, "is not a set", f'{key} = "3,7-9"')
        return frozenset(self.indices(key, ()))

    def table(self, key: str) -> "Table":
        """The table `[key]`; an empty one where it is not there."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.trouble(key, "is not a table", f"write [{key}] above its lines")
        return Table(self.path, self.text, value, self.error, name=key)

    def tables(self, key: str) -> list["Table"]:
        """The tables of `[[key]]`."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.trouble(key, "is not a list of tables", f"write [[{key}]] above each")
        return [
            Table(self.path, self.text, item, self.error, number)
            for number, item in enumerate(value, 1)
        ]


def read(path: Path, error: type[IezError] = ConfigError) -> Table:
    """The file's top table."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as trouble:
        raise InputError(f"{path}: {reason(trouble)}") from None
    except UnicodeDecodeError:
        raise error(f"{path}: it is not UTF-8 text") from None
    try:
        values: dict[str, object] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as trouble:
        raise error(f"{path}: {trouble}", "the file is TOML: name = value") from None
    except (RecursionError, ValueError):
        raise error(f"{path}: it is nested too deeply, or a number is too long") from None
    return Table(path, text, values, error)
