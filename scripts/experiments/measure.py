"""Measure: a case is observed once, then run with Lustre's own placement and with ours in turn."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cases import OST_BYTES, OST_COUNT, OSTS_PER_OSS, Case
from stage import Sample, Stage

from iez_common.allocate import Policy, allocate
from iez_common.records import Ost, Request

Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a case: the runs of Lustre (the observed one is the first) and of iez."""

    case: Case
    lustre: tuple[Sample, ...]
    iez: tuple[Sample, ...]

    @property
    def write_ratio(self) -> float:
        return rate(self.iez, "write") / rate(self.lustre, "write")

    @property
    def read_ratio(self) -> float:
        return rate(self.iez, "read") / rate(self.lustre, "read")

    @property
    def limit_fraction(self) -> float:
        """What a placed run reached of all that the OSTs can do together."""
        return rate(self.iez, "write") / sum(self.case.speeds)

    @property
    def spread(self) -> float:
        """How far the runs of one kind lie apart, at the most; as a share."""
        found = []
        for samples in (self.lustre, self.iez):
            for what in ("write", "read"):
                rates = [rate([sample], what) for sample in samples]
                found.append((max(rates) - min(rates)) / statistics.median(rates))
        return max(found)

    @property
    def bound(self) -> float:
        """No choice of OSTs has a lower OSTCost for files with so many stripes."""
        osts = [
            Ost(index, OST_BYTES, OST_BYTES, bandwidth_bytes_per_s=speed)
            for index, speed in enumerate(self.case.speeds)
        ]
        requests = [Request(size, stripe_count) for size, stripe_count in self.iez[0].files]
        policy = Policy(objective="bandwidth", pfl="never", pin_min_bytes=0)
        seconds = allocate(requests, osts, policy).certificate.bound
        return seconds * sum(self.case.speeds) / sum(request.write_bytes for request in requests)

    def cost(self, samples: Sequence[Sample]) -> float:
        """OSTCost: the OST that is done last over the mean, by its speed."""
        return statistics.median(cost_of(sample.load_bytes, self.case.speeds) for sample in samples)


def rate(samples: Sequence[Sample], what: str) -> float:
    """The median, in bytes/s."""
    if what == "write":
        return statistics.median(sample.write_bytes_per_s for sample in samples)
    return statistics.median(sample.read_bytes_per_s for sample in samples)


def cost_of(load_bytes: Sequence[int], speeds: Sequence[float]) -> float:
    seconds = max(load / speed for load, speed in zip(load_bytes, speeds, strict=True))
    return seconds * sum(speeds) / sum(load_bytes)


def by_server(values: Sequence[int]) -> list[int]:
    return [sum(values[at : at + OSTS_PER_OSS]) for at in range(0, OST_COUNT, OSTS_PER_OSS)]


def run_case(case: Case, repeats: int, note: Note) -> Result:
    """The two take turns: Lustre iez, iez Lustre, …"""
    lustre: list[Sample] = []
    iez: list[Sample] = []
    with Stage(case) as stage:
        note(f"{case.name}: observed")
        stage.observed()
        for turn in range(repeats):
            note(f"{case.name}: {turn + 1} of {repeats}")
            pair = [(lustre, stage.plain), (iez, stage.placed)]
            for samples, run in pair if turn % 2 == 0 else reversed(pair):
                samples.append(run())
    return Result(case, tuple(lustre), tuple(iez))
