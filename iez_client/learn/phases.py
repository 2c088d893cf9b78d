"""Phases: which of the foreseen files are written at the same time, and so share the OSTs.

A rank writes its files one after the other, all ranks write beside each other: the first files of
all ranks are a phase, the second ones the next. Each phase is spread over all OSTs; files that
merely add up to the same load would leave most OSTs idle at any moment.
"""

from collections.abc import Sequence
from dataclasses import replace

from iez_client.learn.foresee import Foreseen
from iez_client.observe.osts import ObservedFileSystem
from iez_client.request.decide import Decision

_PHASES_MAX = 200  # a process that writes more files than this has several of them in a phase


def phases(foreseen: Sequence[Foreseen]) -> list[list[Foreseen]]:
    """In the order in which they are written."""
    by_rank: dict[int, list[Foreseen]] = {}
    for each in sorted(foreseen, key=lambda each: each.first_write_s):
        by_rank.setdefault(each.prediction.mpi_rank, []).append(each)
    count = max(map(len, by_rank.values()), default=0)
    kept = min(count, _PHASES_MAX)
    found: list[list[Foreseen]] = [[] for _ in range(kept)]
    for own in by_rank.values():
        for turn, each in enumerate(own):
            found[turn * kept // count].append(each)
    return found


def after(observed: Sequence[ObservedFileSystem], decision: Decision) -> list[ObservedFileSystem]:
    """The OSTs once the files of a phase are written."""
    loads = {
        group.file_system.key: dict(
            zip(
                group.allocation.osts.index.tolist(),
                group.allocation.load_bytes.tolist(),
                strict=True,
            )
        )
        for group in decision.groups
    }
    return [_filled(each, loads.get(each.key, {})) for each in observed]


def _filled(file_system: ObservedFileSystem, loads: dict[int, int]) -> ObservedFileSystem:
    if not loads:
        return file_system
    observations = []
    for each in file_system.observations:
        left = max(0, each.ost.available_bytes - loads.get(each.ost.index, 0))
        observations.append(replace(each, ost=replace(each.ost, available_bytes=left)))
    return replace(file_system, observations=tuple(observations))
