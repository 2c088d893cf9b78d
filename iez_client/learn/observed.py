"""Observed: the traces of a run in, the files that it created out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from iez_client import place
from iez_client.parse.merge import merge_traces
from iez_client.parse.record import FileRecord
from iez_client.parse.table import FileTable
from iez_client.parse.traces import Process, traces_of
from iez_client.request.facts import access_bytes, count_ranks, final_bytes
from iez_common.errors import TraceError
from iez_common.knowledge import ObservedFile, Outcome

# So many files are looked at one by one; of more, what the traces say has to do.
_STAT_MAX = 20_000


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """What the traces say of a run."""

    files: tuple[FileRecord, ...]  # created by it, without helper files of MPI libraries
    rank_count: int  # 0: without MPI
    host_count: int
    started_s: float
    pids: dict[int, int]  # of the first process of each rank; -1: without a rank
    outcomes: tuple[Outcome, ...]  # of its plan, also for files that were there already


def observe_run(directory: Path, run: int, was_planned: bool) -> ObservedRun:
    """Where nothing was planned, nothing was missed either."""
    traces = traces_of(directory, run)
    if not traces.processes:
        raise TraceError(f"{directory}: the traces of this run are not there", "iez show")
    table = FileTable(merge_traces(traces))
    records = table.records(stat=len(table) <= _STAT_MAX)
    created = (each for each in records if each.created and not each.helper)
    processes = traces.processes
    return ObservedRun(
        files=tuple(each if was_planned else replace(each, outcome="") for each in created),
        rank_count=table.totals.world_size,
        host_count=len({process.host for process in processes}),
        started_s=min(process.start_ns for process in processes) / 1e9,
        pids=_pids(processes),
        outcomes=tuple(_outcomes(place.read_outcomes(directory, run)) if was_planned else ()),
    )


def _outcomes(counted: place.Outcomes) -> Iterator[Outcome]:
    for name, phrase in place.PHRASES.items():
        if counted[name]:
            yield Outcome(name.removeprefix("IEZ_").lower(), phrase, counted[name])


def _pids(processes: Sequence[Process]) -> dict[int, int]:
    found: dict[int, int] = {}
    for process in sorted(processes, key=lambda each: each.start_ns):
        found.setdefault(process.rank, process.pid)
    return found


def creation_name(record: FileRecord) -> str:
    """A plan is asked for this one: later names come by a rename."""
    return record.renamed_from[0] if record.renamed_from else record.file_name


def observed_file(
    record: FileRecord, template_id: int, field_values: tuple[str, ...]
) -> ObservedFile:
    sizes = {int(size): count for size, count in record.write_sizes.items()}
    return ObservedFile(
        path=creation_name(record),
        template_id=template_id,
        field_values=field_values,
        mpi_rank=record.mpi_rank,
        write_bytes=final_bytes(record.size_bytes or 0, record.write_end, record.write_bytes),
        first_write_s=record.first_write_s or 0.0,
        writers=max(1, count_ranks(record.ranks)),
        access_bytes=access_bytes(sizes, record.writes, record.write_bytes),
        stripe_count=max(0, record.stripe_count or 0),
        stripe_size_bytes=record.stripe_size or 0,
        ost_list=record.ost_list,
        outcome=record.outcome,
        extents=record.extents,
    )
