"""Helper files: those that MPI libraries make beside the files of a program, told by their names.

Open MPI (ompi/mca/sharedfp): NAME.locktest.RANK, NAME.lockedfile, NAME.data.RANK and
NAME.metadata.RANK, NAME_cid-N-PID.sm. ROMIO (ADIOI_Shfp_fname): .NAME.shfp.N or .NAME.shfp.PID.N.
"""

import re
from typing import TYPE_CHECKING

from iez_client.parse.merge import Merge
from iez_common._core import ffi, lib

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_END = re.compile(
    rb"(?:\.locktest\.\d+|\.lockedfile|_cid-\d+-\d+\.sm|\.shfp\.\d+(?:\.\d+)?|\.(?:meta)?data\.\d+)\Z"
)


def is_helper(merge: Merge, name: bytes) -> bool:
    found = _END.search(name)
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
    lib.iez_merge_helpers(merge.core, ffi.cast("uint8_t *", ffi.from_buffer(marked)))
    for row in np.flatnonzero(marked).tolist():
        marked[row] = is_helper(merge, merge.path(row))
    for row, name in renamed.items():
        marked[row] = is_helper(merge, name)
    return marked
