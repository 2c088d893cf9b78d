"""Traced: a record of `iez parse` in, the file that the next run will write out."""

import json
from typing import TypeVar

from iez_client.plan.template import escape, parse
from iez_client.request.facts import access_bytes, count_ranks, final_bytes
from iez_client.request.row import Row, Wanted, is_number
from iez_common.allocate.columns import BYTES_MAX
from iez_common.errors import SourceError
from iez_common.records import Request

MARK = "file_name"  # the column that tells such a table
NEEDED = (
    MARK, "write_bytes", "writes", "size_bytes", "ranks", "created", "write_end", "renamed_from",
    "helper", "write_sizes",
)  # fmt: skip
Kind = TypeVar("Kind", list[object], dict[str, object])


def is_helper(row: Row) -> bool:
    return row.flag("helper")


def is_created(row: Row) -> bool:
    return row.flag("created")


def wanted_of(row: Row) -> Wanted:
    """The file under the name with which it was created: a plan is asked at that moment."""
    earlier: list[object] = _json(row, "renamed_from", list)
    first = earlier[0] if earlier else row.text(MARK)
    if not isinstance(first, str):
        raise _damaged(row, "renamed_from")
    try:
        name = parse(escape(first))
    except SourceError as error:
        raise row.trouble(error.message, error.hint) from None
    return Wanted(
        name,
        row.where,
        Request(
            write_bytes=_bytes(row),
            writers=max(1, _count_ranks(row)),
            access_bytes=_access_bytes(row),
            name=name.text,
        ),
    )


def _bytes(row: Row) -> int:
    sizes = (row.size_bytes(key, 0) for key in ("size_bytes", "write_end", "write_bytes"))
    return final_bytes(*sizes)


def _count_ranks(row: Row) -> int:
    try:
        return count_ranks(row.text("ranks"))
    except ValueError:
        raise _damaged(row, "ranks") from None


def _access_bytes(row: Row) -> int:
    sizes: dict[int, int] = {}
    counted: dict[str, object] = _json(row, "write_sizes", dict)
    for size, count in counted.items():
        if not is_number(size) or int(size) > BYTES_MAX or not isinstance(count, int):
            raise _damaged(row, "write_sizes")
        sizes[int(size)] = count
    writes = row.integer("writes", 0, 0, BYTES_MAX)
    return access_bytes(sizes, writes, row.size_bytes("write_bytes", 0))


def _json(row: Row, key: str, kind: type[Kind]) -> Kind:
    """A list or an object; inside of a cell it is JSON."""
    value = row.cells.get(key) if row.has(key) else kind()
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = None
    if not isinstance(value, kind):
        raise _damaged(row, key)
    return value


def _damaged(row: Row, key: str) -> SourceError:
    return row.trouble(f"{key} is not as iez parse writes it", "iez parse TRACE_DIR --csv FILE")
