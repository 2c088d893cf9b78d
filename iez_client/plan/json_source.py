"""JSON source: the form for layouts that a row of a CSV file cannot say."""

import json
from typing import TextIO

from iez_client.plan.draft import Draft, Rule
from iez_client.plan.template import Name, parse
from iez_common.errors import IezError, LayoutError, SourceError
from iez_common.layout import ALL_STRIPES, EOF_BYTES, Component, Layout
from iez_common.units import parse_size_bytes

_LAYOUT_KEYS = {"stripe_count", "stripe_size", "osts", "pool", "overstripe", "mdt", "components"}
_COMPONENT_KEYS = (_LAYOUT_KEYS - {"components"}) | {"end"}
_FILE_KEYS = _LAYOUT_KEYS | {"path", "layouts", "choose"}
_CHOOSE_KEYS = {"field", "first"}


def read_json(file: TextIO, draft: Draft) -> None:
    """Reads `{"files": [...]}`."""
    draft.unit = "file"
    try:
        whole = json.load(file)
    except json.JSONDecodeError as error:
        raise SourceError(f"{draft.origin}, line {error.lineno}: {error.msg}") from None
    except RecursionError:
        raise SourceError(f"{draft.origin}: it is nested too deeply") from None
    if not isinstance(whole, dict) or not isinstance(whole.get("files"), list):
        raise SourceError(f"{draft.origin}: no list of files", '{"files": [{"path": …}, …]}')
    for number, item in enumerate(whole["files"], 1):
        try:
            _read_file(_mapping(item, _FILE_KEYS), draft, number)
        except IezError as error:
            raise SourceError(f"{draft.where(number)}: {error.message}", error.hint) from None


def _read_file(item: dict[str, object], draft: Draft, number: int) -> None:
    path = item.get("path")
    if not isinstance(path, str):
        raise SourceError("it has no path")
    name = parse(path)
    if "layouts" not in item:
        if "choose" in item:
            raise SourceError("choose is there without layouts")
        draft.add_name(name, draft.add_layout(_layout(item)), number)
        return
    extra = sorted(_LAYOUT_KEYS & item.keys())
    if extra:
        raise SourceError(f"{extra[0]} stands beside layouts", "put it into each of the layouts")
    layouts = _list(item["layouts"], "layouts")
    if not layouts:
        raise SourceError("layouts is empty")
    options = [draft.add_layout(_layout(_mapping(each, _LAYOUT_KEYS))) for each in layouts]
    if name.path is not None:
        raise SourceError("a path without # cannot choose among layouts")
    field, first = _choice(item.get("choose", {}), name, len(options))
    draft.add_rule(Rule(name, options, number, field, first))


def _choice(value: object, name: Name, option_count: int) -> tuple[int, int]:
    """The field that chooses, counted among all fields of the template, and its first value."""
    choose = _mapping(value, _CHOOSE_KEYS)
    numbers = name.numbers
    if not numbers:
        if option_count > 1:
            raise SourceError("the template has no # that could choose among its layouts")
        return 0, 0
    place = _integer(choose, "field", len(numbers) - 1)
    if not 0 <= place < len(numbers):
        raise SourceError(
            f"choose: field {place} does not exist: the template has {len(numbers)} #",
            "they count from 0",
        )
    first = _integer(choose, "first", 0)
    if not 0 <= first < 1 << 63:
        raise SourceError(f"choose: first is {first}, which is no value of a field")
    return numbers[place], first


def _layout(item: dict[str, object]) -> Layout:
    if "components" not in item:
        return Layout((_component(item, EOF_BYTES),))
    extra = sorted((_LAYOUT_KEYS - {"components"}) & item.keys())
    if extra:
        raise SourceError(f"{extra[0]} stands beside components", "put it into each component")
    components = []
    for each in _list(item["components"], "components"):
        component = _mapping(each, _COMPONENT_KEYS)
        if "end" not in component:
            raise SourceError("a component has no end", '"end": "64M", for the last "end": "eof"')
        end = component["end"]
        is_eof = isinstance(end, str) and end.lower() == "eof"
        end_bytes = EOF_BYTES if is_eof else _size_bytes(component, "end")
        components.append(_component(component, end_bytes))
    return Layout(tuple(components))


def _component(item: dict[str, object], extent_end_bytes: int) -> Component:
    osts = []
    for ost in _list(item.get("osts", []), "osts"):
        if isinstance(ost, bool) or not isinstance(ost, int):
            raise LayoutError(f"osts: {ost!r} is not a number")
        osts.append(ost)
    pool = item.get("pool", "")
    if not isinstance(pool, str):
        raise LayoutError("pool is not a text")
    count = _integer(item, "stripe_count", 0)
    repeats = len(set(osts)) < len(osts)
    return Component(
        stripe_count=ALL_STRIPES if count == -1 else count,
        stripe_size_bytes=_size_bytes(item, "stripe_size"),
        osts=tuple(osts),
        pool=pool,
        overstripe=_flag(item, "overstripe") if "overstripe" in item else repeats,
        mdt=_flag(item, "mdt"),
        extent_end_bytes=extent_end_bytes,
    )


def _mapping(value: object, keys: set[str]) -> dict[str, object]:
    if not isinstance(value, dict):
        raise SourceError("something stands where {…} is expected")
    for key in value:
        if key not in keys:
            raise SourceError(f"unknown key {key!r}", f"one of: {', '.join(sorted(keys))}")
    return value


def _list(value: object, key: str) -> list[object]:
    if not isinstance(value, list):
        raise SourceError(f"{key} is not a list")
    return value


def _integer(item: dict[str, object], key: str, default: int) -> int:
    value = item.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise SourceError(f"{key} is not a whole number")
    return value


def _flag(item: dict[str, object], key: str) -> bool:
    value = item.get(key, False)
    if not isinstance(value, bool):
        raise SourceError(f"{key} is neither true nor false")
    return value


def _size_bytes(item: dict[str, object], key: str) -> int:
    value = item.get(key, 0)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise SourceError(f"{key} is neither a number nor a size such as 4M")
    try:
        return parse_size_bytes(value)
    except ValueError as error:
        raise SourceError(f"{key}: {error}") from None
