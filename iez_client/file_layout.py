"""The layout that a file has: what its extended attributes say."""

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iez_common.errors import LayoutError, reason

if TYPE_CHECKING:
    from iez_common.layout import WireLayout

# Where a layout can be read, and who put it there.
SOURCES = {"lustre.lov": "lustre", "user.iez.lov": "mock"}
# "There is no such attribute", in the words of one file system or another.
_NONE_HERE = {errno.ENODATA, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM}


@dataclass(frozen=True, slots=True)
class FileLayout:
    """A file's layout; `layout` is None where the file has none or could not be read."""

    path: str
    source: str = ""
    layout: "WireLayout | None" = None
    error: str = ""


def read_layout(path: str) -> FileLayout:
    """What a file's extended attributes say."""
    from iez_common.layout import read_wire

    for attribute, source in SOURCES.items():
        try:
            data = os.getxattr(path, attribute)
        except OSError as error:
            if error.errno in _NONE_HERE:
                continue
            return FileLayout(path, error=reason(error))
        try:
            return FileLayout(path, source, read_wire(data))
        except LayoutError as error:
            return FileLayout(path, error=f"{attribute}: {error.message}")
    return FileLayout(path)
