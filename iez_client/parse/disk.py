"""Disk: what a file's own size and layout are after the job, where it still exists."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iez_client.file_layout import read_layout
from iez_common.errors import LayoutError
from iez_common.extents import format_extents
from iez_common.layout import ALL_STRIPES, EOF_BYTES, Component, WireComponent, read_record


@dataclass(frozen=True, slots=True)
class Stripes:
    """The layout in the terms of a table: that of the component which holds the file's end."""

    count: int | None = None
    size_bytes: int | None = None
    osts: tuple[int, ...] = ()
    extents: str = ""  # of a composite layout


@dataclass(frozen=True, slots=True)
class OnDisk:
    size_bytes: int
    stripes: Stripes


def is_no_file(name: bytes) -> bool:
    """Whether it is there and is something else: a directory or a pipe, opened like a file."""
    try:
        return not stat.S_ISREG(Path(os.fsdecode(name)).stat().st_mode)
    except (OSError, ValueError):
        return False


def look(name: bytes) -> OnDisk | None:
    """The file as it is now; None if it is gone, or no regular file."""
    path = os.fsdecode(name)
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    layout = read_layout(path).layout
    stripes = stripes_of(layout.components, status.st_size) if layout else Stripes()
    return OnDisk(status.st_size, stripes)


def stripes_of_record(data: bytes, size_bytes: int) -> Stripes:
    """Those of a plan's record, which the trace holds; none if the record is damaged."""
    try:
        return stripes_of(read_record(data).components, size_bytes)
    except LayoutError:
        return Stripes()


def stripes_of(components: Sequence[Component | WireComponent], size_bytes: int) -> Stripes:
    holds = (each for each in components if size_bytes <= each.extent_end_bytes)
    chosen = next(holds, components[-1])
    count = len(chosen.osts) or chosen.stripe_count
    osts = tuple(ost for each in components for ost in each.osts)
    count = -1 if count == ALL_STRIPES else count
    extents = ""
    if len(components) > 1:
        ends = (None if c.extent_end_bytes == EOF_BYTES else c.extent_end_bytes for c in components)
        extents = format_extents(zip(ends, (len(c.osts) for c in components), strict=True))
    return Stripes(count or None, chosen.stripe_size_bytes or None, osts, extents)
