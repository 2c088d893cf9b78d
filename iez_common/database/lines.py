"""Lines: records as the JSON lines of an export, and back. A line that makes no sense is a
ValueError in words for a person."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, TypeVar, get_args, get_type_hints

from iez_common.knowledge import (
    Application,
    Field,
    FieldKind,
    ObservedFile,
    Outcome,
    PlannedLayout,
    Planning,
    Prediction,
    Run,
)

FORMAT = "iez database"
SCHEMA = 1
_NUMBERS = range(-(1 << 63), 1 << 63)
_IDENTITIES = range(1 << 64)
Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class Header:
    """The first line."""

    format: str
    schema: int


@dataclass(frozen=True, slots=True)
class End:
    """The last line: how many lines come before it."""

    line_count: int


@dataclass(frozen=True, slots=True)
class TemplateLine:
    """A template, and the epoch of its application that it belongs to."""

    epoch: int
    text: str
    fields: tuple[Field, ...]
    example: str
    file_count: int
    run_count: int
    id: int


KINDS: dict[str, type] = {
    "header": Header,
    "application": Application,
    "template": TemplateLine,
    "run": Run,
    "file": ObservedFile,
    "outcome": Outcome,
    "planning": Planning,
    "prediction": Prediction,
    "layout": PlannedLayout,
    "end": End,
}
_NAMES = {record: kind for kind, record in KINDS.items()}


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a record of a kind consists of."""

    names: tuple[str, ...]
    values_of: Callable[[object], tuple[object, ...]]
    converters: tuple[Callable[[Any], object], ...]


def to_line(record: object) -> bytes:
    """A record as a line. Bytes of names that are no UTF-8 become `\\udc80` and the like."""
    shape = _SHAPES[type(record)]
    values = dict(zip(shape.names, shape.values_of(record), strict=True))
    if isinstance(record, Prediction) and not math.isfinite(record.error):
        values["error"] = None
    line = {"kind": _NAMES[type(record)], **values}
    text = json.dumps(line, default=_default, separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"


def of_line(line: bytes) -> object:
    """The record of a line."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("it is not JSON") from None
    if not isinstance(values, dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - of a file, not of a caller
    kind = values.pop("kind", None)
    record = KINDS.get(kind) if isinstance(kind, str) else None
    if record is None:
        raise ValueError(f"{kind!r} is no kind of line")
    return _build(record, values)


def _default(value: object) -> object:
    shape = _SHAPES[type(value)]
    return dict(zip(shape.names, shape.values_of(value), strict=True))


def _build(record: type[Record], values: dict[str, Any]) -> Record:
    shape = _SHAPES[record]
    if values.keys() != set(shape.names):
        odd = sorted(values.keys() ^ set(shape.names))
        raise ValueError(f"{odd[0]!r} is missing or too much")
    built = []
    for name, convert in zip(shape.names, shape.converters, strict=True):
        try:
            built.append(convert(values[name]))
        except (TypeError, ValueError):
            raise ValueError(f"{name!r} makes no sense") from None
    return record(*built)


def _number(value: Any) -> int:
    if type(value) is not int or value not in _NUMBERS:
        raise ValueError
    return value


def _identity(value: Any) -> int:
    if type(value) is not int or value not in _IDENTITIES:
        raise ValueError
    return value


def _real(value: Any) -> float:
    """JSON has no infinite numbers: null stands for them."""
    if value is None:
        return math.inf
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError
    return float(value)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError
    value.encode("utf-8", "surrogateescape")  # other halves of surrogates name no bytes
    return value


def _kind(value: Any) -> str:
    if value not in get_args(FieldKind):
        raise ValueError
    return str(value)


def _tuple_of(convert: Callable[[Any], object]) -> Callable[[Any], object]:
    def convert_all(values: Any) -> tuple[object, ...]:
        if type(values) is not list:
            raise ValueError
        return tuple(map(convert, values))

    return convert_all


_CONVERTERS: dict[object, Callable[[Any], object]] = {
    int: _number,
    float: _real,
    str: _text,
    FieldKind: _kind,
    tuple[int, ...]: _tuple_of(_number),
    tuple[str, ...]: _tuple_of(_text),
    tuple[Field, ...]: _tuple_of(lambda values: _build(Field, values)),
}


def _shape_of(record: type) -> _Shape:
    hints = get_type_hints(record)
    names = tuple(field.name for field in fields(record))
    values_of = attrgetter(*names) if len(names) > 1 else lambda one: (getattr(one, names[0]),)
    converters = {name: _CONVERTERS[hints[name]] for name in names}
    if record is Run:
        converters["identity"] = _identity
    return _Shape(names, values_of, tuple(converters.values()))


_SHAPES = {record: _shape_of(record) for record in (*KINDS.values(), Field)}
