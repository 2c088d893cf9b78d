"""Allocate: what jobs will write and the state of every OST in, OSTs for each file out.

    allocate(requests, osts, policy) -> Allocation

It is pure: no file, socket, clock or hidden state. docs/allocator.md says how it works.
"""

from iez_common.allocate.allocation import Allocation, Part, Placement
from iez_common.allocate.allocator import STRATEGIES, allocate
from iez_common.allocate.certificate import Certificate
from iez_common.allocate.columns import Osts, Requests
from iez_common.allocate.policy import Policy

__all__ = [
    "STRATEGIES", "Allocation", "Certificate", "Osts", "Part", "Placement", "Policy", "Requests",
    "allocate",
]  # fmt: skip
