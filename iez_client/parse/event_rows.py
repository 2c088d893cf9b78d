"""Event rows: the events of a run with the names of their files, for `iez parse --events`."""

from collections.abc import Iterator

from iez_client.parse.events import blocks_of, events_of, read_trace, struct_at
from iez_client.parse.names import RENAMED, UNLINKED, Rename
from iez_client.parse.record import APIS
from iez_client.parse.table import FileTable
from iez_client.parse.traces import SIZE_UNKNOWN, Damage
from iez_client.plan.template import decode
from iez_common._core import ffi, lib
from iez_common.errors import TraceError

COLUMNS = (
    "time_s", "duration_s", "file_name", "offset", "length", "mpi_rank", "thread", "api",
)  # fmt: skip
_SECOND_NS = 1_000_000_000


def event_rows(table: FileTable, damaged: list[Damage]) -> Iterator[tuple[object, ...]]:
    """The heading, then one row an event, process by process. Files whose events are not whole are
    added to `damaged`."""
    yield COLUMNS
    for process in table.traces.processes:
        try:
            data = read_trace(process.path)
        except TraceError:
            continue  # named already, when its files were merged
        names = _names(table, data)
        trace = events_of(data)
        if trace.damage:
            damaged.append(Damage(process.path.name, trace.damage))
        for event in trace.events.tolist():
            start_ns, offset, duration_ns, length, file, thread, api = event
            yield (
                _seconds(process.start_ns + start_ns),
                _seconds(duration_ns),
                names.get(file, ""),
                "" if offset == SIZE_UNKNOWN else offset,
                length,
                process.rank,
                thread,
                APIS[api] if api < len(APIS) else "",
            )


def _seconds(time_ns: int) -> str:
    return f"{time_ns // _SECOND_NS}.{time_ns % _SECOND_NS:09d}"


def _names(table: FileTable, data: bytes) -> dict[int, str]:
    """The final names of a process's files, by number."""
    last: dict[int, bytes] = {}
    for block in blocks_of(data, int(lib.IEZ_BLOCK_NAME)):
        name = struct_at("struct iez_trace_name *", data, block.start)
        start = block.start + ffi.sizeof("struct iez_trace_name")
        last[name.file] = data[start : start + name.bytes].partition(b"\0")[0]
    names = {}
    for block in blocks_of(data, int(lib.IEZ_BLOCK_FILE)):
        file = struct_at("struct iez_trace_file *", data, block.start)
        start = block.start + ffi.sizeof("struct iez_trace_file")
        path = data[start : start + file.path_bytes]
        names[int(file.number)] = decode(_final_name(table, file, path, last.get(file.number)))
    return names


def _final_name(table: FileTable, file: "ffi.CData", path: bytes, renamed: bytes | None) -> bytes:
    names = table.names
    if not file.flags & (RENAMED | UNLINKED):
        row = table.merge.find(path)
        return path if row is None else names.moved.get(row, path)
    name = renamed or path
    if names.renames is None or file.flags & UNLINKED:
        return name
    return names.renames.follow(Rename(int(file.ended_ns), -1, path, name, False), name)[-1]
