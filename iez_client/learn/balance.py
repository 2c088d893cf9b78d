"""Balance: OSTCost of layouts, beside what Lustre's own round robin makes of the same files."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iez_common.allocate import Osts, Policy, Requests, allocate
from iez_common.errors import AllocationError
from iez_common.extents import ost_bytes, parse_extents
from iez_common.records import Ost


@dataclass(frozen=True, slots=True)
class Laid:
    """A file with its stripes."""

    path: str
    size_bytes: int
    stripe_count: int
    stripe_size_bytes: int
    osts: tuple[int, ...]
    extents: str = ""  # of a composite layout


@dataclass(frozen=True, slots=True)
class Balance:
    """Fullest OST over the mean, by the bytes of these files alone."""

    file_system: str
    file_count: int
    ost_cost: float
    round_robin_cost: float


def balances(files: Sequence[Laid], state: str) -> list[Balance]:
    """For each file system of the state that a plan was made from."""
    found = []
    for each in json.loads(state):
        own = [file for file in files if file.osts and _lies_on(file, each["prefix"])]
        osts = [
            Ost(ost["index"], ost["size_bytes"], ost["available_bytes"], ost["oss"],
                frozenset(ost["states"]))
            for ost in each["osts"]
        ]  # fmt: skip
        sizes = {ost.index: ost.size_bytes for ost in osts if ost.size_bytes}
        if own and sizes and all(ost in sizes for file in own for ost in file.osts):
            cost = ost_cost(_loads(own), sizes)
            found.append(Balance(each["prefix"], len(own), cost, _round_robin(own, osts)))
    return found


def _lies_on(file: Laid, prefix: str) -> bool:
    return file.path.startswith(f"{prefix}/")


def ost_cost(loads: Mapping[int, int], sizes: Mapping[int, int]) -> float:
    shares = [loads.get(index, 0) / size for index, size in sizes.items()]
    mean = sum(shares) / len(shares)
    return max(shares) / mean if mean else 1.0


def _loads(files: Sequence[Laid]) -> dict[int, int]:
    loads: dict[int, int] = {}
    for file in files:
        extents = parse_extents(file.extents, file.osts)
        for ost, held in ost_bytes(file.size_bytes, file.stripe_size_bytes, extents).items():
            loads[ost] = loads.get(ost, 0) + held
    return loads


def _round_robin(files: Sequence[Laid], osts: Sequence[Ost]) -> float:
    """With the same stripe counts, created one after the other."""
    requests = Requests.make(
        write_bytes=[file.size_bytes for file in files],
        stripe_count=[file.stripe_count or len(file.osts) for file in files],
        overstripe=[not file.extents and len(set(file.osts)) < len(file.osts) for file in files],
    )
    policy = Policy(strategy="lustre-rr", pin_min_bytes=0, pfl="never")
    try:
        return float(allocate(requests, Osts.of(osts), policy).certificate.ostcost_new)
    except AllocationError:
        return float("nan")  # they do not fit
