"""Rows: the cells of a CSV file or the values of a JSON file, with errors that name the place."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from iez_client.plan.template import Name
from iez_common.allocate.columns import BYTES_MAX
from iez_common.errors import SourceError
from iez_common.records import Request
from iez_common.units import parse_size_bytes

WRITERS_MAX = 1 << 40
_DIGITS_MAX = 100  # Python itself refuses to convert some thousands


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file that will be written."""

    name: Name  # a path, or a template for many
    where: str  # its row
    request: Request

    @property
    def path(self) -> str:
        return self.name.text


@dataclass(frozen=True, slots=True)
class Row:
    """One row. An empty cell, null and a key that is not there are the same."""

    where: str  # files.csv, line 3
    cells: Mapping[str, object]

    def trouble(self, what: str, hint: str = "") -> SourceError:
        return SourceError(f"{self.where}: {what}", hint)

    def has(self, key: str) -> bool:
        value = self.cells.get(key)
        return value is not None and (not isinstance(value, str) or bool(value.strip()))

    def text(self, key: str) -> str:
        value = self.cells.get(key) if self.has(key) else ""
        if not isinstance(value, str):
            raise self.trouble(f"{key} is not a text", f'"{key}": "…"')
        return value

    def size_bytes(self, key: str, default_bytes: int | None = None) -> int:
        """Bytes, or a size such as 4G; without a default it must be there."""
        if not self.has(key):
            if default_bytes is None:
                raise self.trouble(f"{key} is empty", f"{key} is a size such as 4G")
            return default_bytes
        value = self.cells[key]
        if isinstance(value, str):
            try:
                value = parse_size_bytes(value)
            except ValueError as error:
                raise self.trouble(
                    f"{key}: {error}", "bytes, or K, M, G, T behind a number"
                ) from None
        return self._within(key, value, 0, BYTES_MAX)

    def integer(self, key: str, default: int, low: int, high: int) -> int:
        if not self.has(key):
            return default
        value = self.cells[key]
        if isinstance(value, str) and is_number(value.strip()):
            value = int(value)
        return self._within(key, value, low, high)

    def flag(self, key: str) -> bool:
        value = self.cells.get(key) if self.has(key) else False
        if isinstance(value, str):
            value = {"true": True, "1": True, "false": False, "0": False}.get(value.strip().lower())
        if not isinstance(value, bool):
            raise self.trouble(f"{key} is neither true nor false", "leave it empty for false")
        return value

    def _within(self, key: str, value: object, low: int, high: int) -> int:
        if isinstance(value, float) and math.isfinite(value) and value == int(value):
            value = int(value)  # JSON has only one kind of number
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.trouble(f"{key}: {value!r} is not a whole number", f"{low} to {high}")
        if not low <= value <= high:
            raise self.trouble(f"{key}: {value} is out of range", f"{low} to {high}")
        return value


def is_number(text: str) -> bool:
    """Whether it is a whole number that Python converts."""
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX
