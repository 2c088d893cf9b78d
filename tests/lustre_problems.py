"""OSTs and files for the tests of Lustre's own allocators, which look at space and states alone."""

import numpy as np

from iez_common.allocate.columns import Osts
from iez_common.allocate.problem import Problem

GIB = 1 << 30
THREE_BY_FIVE = [ost // 5 for ost in range(15)]


def osts_of(servers, available_bytes=10 * GIB, states=None):
    """OSTs of 10 GiB; `states` maps positions to a state."""
    given = [frozenset({states[i]}) if states and i in states else () for i in range(len(servers))]
    available = np.broadcast_to(available_bytes, len(servers))
    return Osts.make([10 * GIB] * len(servers), available, oss=servers, states=given)


def problem_of(osts, write_bytes, stripe_count, overstripe=False):
    rows = len(write_bytes)
    return Problem(
        np.array(write_bytes, np.int64),
        np.array(np.broadcast_to(stripe_count, rows), np.int64),
        np.full(rows, overstripe),
        osts,
        usable=np.ones(len(osts), np.bool_),
        free_bytes=osts.available_bytes,
        speed=np.ones(len(osts)),
        offset=np.zeros(len(osts)),
    )
