"""Helper files: those that MPI libraries make beside the files of a program, told by their names.

Open MPI (ompi/mca/sharedfp): NAME.locktest.RANK, NAME.lockedfile, NAME.data.RANK and
NAME.metadata.RANK, NAME_cid-N-PID.sm. ROMIO (ADIOI_Shfp_fname): .NAME.shfp.N or .NAME.shfp.PID.N.
"""

import re
from typing import TYPE_CHECKING

from iez_client.parse.merge import Merge

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_END = (
    rb"(?:\.locktest\.\d+|\.lockedfile|_cid-\d+-\d+\.sm|\.shfp\.\d+(?:\.\d+)?|\.(?:meta)?data\.\d+)"
)
_IN_TEXTS = re.compile(_END + rb"\0")
_IN_NAME = re.compile(_END + rb"\Z")


def is_helper(merge: Merge, name: bytes) -> bool:
    found = _IN_NAME.search(name)
    if found is None:
        return False
    if found[0].startswith(b".shfp."):
        return name.rpartition(b"/")[2].startswith(b".")
    if found[0].startswith((b".data.", b".metadata.")):
        # Programs use such names too: it is the library's only beside the file itself.
        return merge.find(name[: found.start()]) is not None
    return True


def helper_rows(merge: Merge, renamed: dict[int, bytes]) -> "NDArray[np.bool_]":
    """Which rows are helper files, by their final names."""
    import numpy as np

    marked = np.zeros(merge.row_count, dtype=bool)
    rows = merge.rows
    # One search through all texts: paths stand there in the order of the rows.
    ends = [found.end() - 1 for found in _IN_TEXTS.finditer(merge.texts)]
    path_ends = rows["path_at"] + rows["path_bytes"]
    places = np.searchsorted(path_ends, np.array(ends, dtype=np.uint64))
    for end, row in zip(ends, places.tolist(), strict=True):
        if row < len(rows) and int(path_ends[row]) == end:
            marked[row] = is_helper(merge, merge.path(row))
    for row, name in renamed.items():
        marked[row] = is_helper(merge, name)
    return marked
