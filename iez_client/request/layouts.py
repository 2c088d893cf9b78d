"""Layouts: what was decided in, the CSV or JSON file out that `iez plan build --from` takes."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from iez_client.plan.source import COLUMNS
from iez_client.request.decide import Decided
from iez_common.allocate import Placement
from iez_common.atomic import replacing
from iez_common.layout import EOF_BYTES, Component, Layout
from iez_common.units import format_size


def is_json(path: Path) -> bool:
    """As the reader of plans decides."""
    return path.suffix.lower() == ".json"


def needs_json(placement: Placement) -> bool:
    """Whether a row of a CSV file cannot say it."""
    return bool(placement.parts) or (placement.overstripe and not placement.osts)


def write_layouts(path: Path, groups: Sequence[Decided]) -> int:
    """Files that are left to Lustre are not in it. Returns how many are."""
    rows = list(_placed(groups))
    with replacing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", "surrogateescape", newline="")
        if is_json(path):
            files = ({"path": name, **layout_json(placement)} for name, placement in rows)
            lines = (json.dumps(each, ensure_ascii=False) for each in files)
            text.write('{"files": [\n' + ",\n".join(lines) + "\n]}\n")
        else:
            out = csv.writer(text, lineterminator="\n")
            out.writerow(COLUMNS)
            out.writerows(_row(name, placement) for name, placement in rows)
        text.flush()
        text.detach()
    return len(rows)


def _placed(groups: Sequence[Decided]) -> Iterator[tuple[str, Placement]]:
    for group in groups:
        for file, placement in zip(group.files, group.allocation, strict=True):
            if placement.rung != "nothing":
                yield file.path, placement


def _row(name: str, placement: Placement) -> tuple[str, ...]:
    size = format_size(placement.stripe_size_bytes)
    listed = " ".join(map(str, placement.osts))
    return (name, "" if listed else str(placement.stripe_count), size, listed, _pool(placement))


def layout_json(placement: Placement) -> dict[str, object]:
    """In the form of a JSON source."""
    pool = {"pool": _pool(placement)} if _pool(placement) else {}
    if placement.parts:
        return {
            "components": [
                {
                    "end": "eof" if part.end_bytes is None else part.end_bytes,
                    "stripe_size": part.stripe_size_bytes,
                    "osts": list(part.osts),
                }
                | pool
                for part in placement.parts
            ]
        }
    where: dict[str, object] = {"stripe_count": placement.stripe_count}
    if placement.osts:
        where = {"osts": list(placement.osts)}
    if placement.overstripe:
        where["overstripe"] = True
    return {"stripe_size": placement.stripe_size_bytes} | where | pool


def layout_of(placement: Placement) -> Layout:
    """In the form of a plan."""
    pool = _pool(placement)
    if placement.parts:
        return Layout(
            tuple(
                Component(
                    stripe_size_bytes=part.stripe_size_bytes,
                    osts=part.osts,
                    pool=pool,
                    extent_end_bytes=EOF_BYTES if part.end_bytes is None else part.end_bytes,
                )
                for part in placement.parts
            )
        )
    osts = placement.osts
    count = 0 if osts else placement.stripe_count
    size_bytes = placement.stripe_size_bytes
    return Layout((Component(count, size_bytes, osts, pool, placement.overstripe),))


def _pool(placement: Placement) -> str:
    """A site that does not allow pools is not told of one."""
    return placement.pool if placement.rung in ("pool", "list") else ""
