"""Trace files in, one record a file out: sums, ranks, patterns, communicators, sizes, layouts."""

import itertools
import os
from pathlib import Path

import pytest
from trace_builder import START_NS, Trace, counts, written

from iez_client.parse.merge import Merge
from iez_client.parse.record import FileRecord
from iez_client.parse.table import FileTable, read_table
from iez_common._core import lib
from iez_common.layout import Component, Layout, plain

CREATED = lib.IEZ_FILE_CREATED
PLACED = lib.IEZ_PLACED + 1


def table_of(folder: Path, *traces: Trace) -> FileTable:
    for number, trace in enumerate(traces):
        trace.write(folder, f"node1.{trace.pid}.{number}.trace")
    return read_table(folder)


def records_of(folder: Path, *traces: Trace) -> dict[str, FileRecord]:
    table = table_of(folder, *traces)
    assert not table.damaged
    return {record.file_name: record for record in table.records()}


def ranks(count: int) -> list[Trace]:
    return [Trace(rank=rank, world_size=count, pid=100 + rank) for rank in range(count)]


def test_the_counts_of_threads_and_processes_add_up(tmp_path: Path) -> None:
    traces = ranks(3)
    for trace in traces:
        number = trace.file("/l/a", written(8192, at_s=5 + trace.rank), set_bytes=7, creates=1)
        trace.more(number, written(100, 50, lib.IEZ_STDIO, at_s=2))
        trace.more(number, counts(read_bytes=30, reads=3, layer_bytes={lib.IEZ_MPIIO: 8292}))
    a = records_of(tmp_path, *traces)["/l/a"]
    assert (a.write_bytes, a.writes) == (3 * 8292, 3 * 4)
    assert (a.posix_bytes, a.stdio_bytes, a.mpiio_bytes) == (3 * 8192, 300, 3 * 8292)
    assert (a.read_bytes, a.reads, a.opens, a.creates, a.records) == (90, 9, 3, 3, 3)
    assert (a.write_end, a.set_bytes) == (8192, 7)
    assert a.write_sizes == {"32": 6, "4096": 6}
    assert (a.first_write_s, a.last_write_s) == (START_NS / 1e9 + 2, START_NS / 1e9 + 7)


def test_counts_may_stand_before_their_file(tmp_path: Path) -> None:
    trace = Trace()
    trace.file("/l/a", written(10, 10))
    trace.more(1, written(4, 4))
    trace.blocks.reverse()
    assert records_of(tmp_path, trace)["/l/a"].write_bytes == 14


def test_zero_cells_and_unknown_blocks_are_passed_over(tmp_path: Path) -> None:
    trace = Trace()
    trace.zeros(3)
    trace.file("/l/a", written(10, 10))
    trace.other(0x495A0099, 5)
    trace.zeros(100)
    trace.file("/l/b", written(20, 10))
    trace.events([(1, 2, 3, 4, 1, 0, 0)] * 3, room=10)
    trace.file("/l/c", written(30, 10))
    trace.zeros(70_000)  # more than fits the buffer
    table = table_of(tmp_path, trace)
    assert [record.write_bytes for record in table.records()] == [10, 20, 30]
    assert not table.damaged
    assert table.totals.events == 3


def test_files_larger_than_the_buffer_are_read_whole(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(6000):
        trace.file(f"/l/{number:06}" + "x" * (number % 200), written(number + 1, 1 << 20))
    trace.events([(0,) * 7] * 50_000)
    trace.file("/l/last", written(5, 5))
    table = table_of(tmp_path, trace)
    assert len(table) == 6001
    assert int(table.write_bytes.sum()) == 6000 * 6001 // 2 + 5
    assert not table.damaged


def test_more_than_2_to_the_32_writes_of_a_size_are_counted(tmp_path: Path) -> None:
    traces = ranks(3)
    for trace in traces:
        own = counts(writes=4_000_000_000, layer_bytes={0: 1}, sizes={3: 4_000_000_000})
        trace.file("/l/a", own)
    table = table_of(tmp_path, *traces)
    assert table.record(0).write_sizes == {"8": 12_000_000_000}
    assert table.write_sizes() == {"8": 12_000_000_000}


def test_writes_of_many_sizes_are_counted(tmp_path: Path) -> None:
    traces = ranks(2)
    for trace in traces:
        trace.file("/l/a", counts(writes=32, layer_bytes={0: 1}, sizes=dict.fromkeys(range(32), 1)))
        trace.file("/l/b", counts(writes=3, layer_bytes={0: 1}, sizes={trace.rank: 1, 9: 2}))
    table = table_of(tmp_path, *traces)
    a, b = table.records()
    assert a.write_sizes == {str(1 << power): 2 for power in range(32)}
    assert b.write_sizes == {"1": 1, "2": 1, "512": 4}
    assert table.write_sizes() == a.write_sizes | {"1": 3, "2": 3, "512": 6}


def test_histograms_join_when_names_do(tmp_path: Path) -> None:
    trace = Trace()
    every = counts(writes=32, layer_bytes={0: 1}, sizes=dict.fromkeys(range(32), 3))
    trace.renamed("/l/1", "/l/x", 1, every)
    trace.renamed("/l/2", "/l/x", 2, counts(writes=1, layer_bytes={0: 1}, sizes={4: 1}))
    trace.renamed("/l/3", "/l/x", 3, every)
    (x,) = table_of(tmp_path, trace).records()
    assert x.write_sizes == {str(1 << power): 6 + (power == 4) for power in range(32)}


@pytest.mark.parametrize("order", [*itertools.permutations([(0, 0), (2, 3), (1, 1), (5, 5)])])
def test_ranks_are_kept_as_spans_in_any_order(order: tuple[tuple[int, int], ...]) -> None:
    merge = Merge()
    trace = Trace()
    trace.file("/l/a", written(1, 1))
    for low, high in order:
        for rank in range(low, high + 1):
            _add(merge, trace, rank)
    row = merge.core.rows[0]
    assert merge.ranks(row.writers.first) == [(0, 3), (5, 5)]
    assert merge.core.spans[row.writers.last].high == 5


def _add(merge: Merge, trace: Trace, rank: int) -> None:
    data = trace.data()
    descriptor = os.memfd_create("trace")
    try:
        os.write(descriptor, data)
        merge.add(descriptor, len(data), len(trace.head()), rank, rank)
    finally:
        os.close(descriptor)


def test_file_per_process_and_single_shared_file(tmp_path: Path) -> None:
    traces = ranks(4)
    for trace in traces:
        trace.file("/l/shared", written(10, 10))
        trace.file(f"/l/own.{trace.rank}", written(10, 10))
        trace.file("/l/read", counts(read_bytes=5, reads=1))
        if trace.rank in (0, 2, 3):
            trace.file("/l/some", written(10, 10))
    files = records_of(tmp_path, *traces)
    assert {name: (each.pattern, each.ranks, each.mpi_rank) for name, each in files.items()} == {
        "/l/shared": ("SSF", "0-3", 0),
        "/l/some": ("SSF", "0,2-3", 0),
        "/l/read": ("", "", -1),
    } | {f"/l/own.{rank}": ("FPP", str(rank), rank) for rank in range(4)}
    assert read_table(tmp_path).pattern == "mixed"


def test_processes_without_mpi_are_told_apart(tmp_path: Path) -> None:
    first, again, other = Trace(pid=5), Trace(pid=5, start_s=1), Trace(pid=6)
    for trace in (first, again):  # exec: the same process, another trace file
        trace.file("/l/a", written(10, 10))
    for trace in (first, other):
        trace.file("/l/b", written(10, 10))
    files = records_of(tmp_path, first, again, other)
    assert (files["/l/a"].pattern, files["/l/b"].pattern) == ("FPP", "SSF")
    assert files["/l/b"].ranks == ""
    assert read_table(tmp_path).totals.ranks == 0


def test_a_forked_child_writes_for_its_rank(tmp_path: Path) -> None:
    parent, child = Trace(rank=3, world_size=8, pid=5), Trace(rank=3, world_size=8, pid=6)
    for trace in (parent, child):
        trace.file("/l/a", written(10, 10))
    table = table_of(tmp_path, parent, child)
    assert (table.record(0).pattern, table.record(0).ranks) == ("FPP", "3")
    assert (table.totals.ranks, table.totals.processes) == (1, 2)


def test_the_rank_is_the_creators_else_the_lowest_writers(tmp_path: Path) -> None:
    traces = ranks(3)
    for trace in traces:
        trace.file("/l/a", written(10, 10), flags=CREATED if trace.rank == 2 else 0)
        if trace.rank:
            trace.file("/l/b", written(10, 10))
    files = records_of(tmp_path, *traces)
    assert (files["/l/a"].mpi_rank, files["/l/a"].created) == (2, True)
    assert (files["/l/b"].mpi_rank, files["/l/b"].created) == (1, False)


def test_the_rank_in_the_communicator_serves_where_there_is_no_other(tmp_path: Path) -> None:
    trace = Trace(comm_rank=4)
    trace.file("/l/a", written(10, 10))
    assert records_of(tmp_path, trace)["/l/a"].ranks == "4"


def test_communicators_have_an_identity_that_their_files_share(tmp_path: Path) -> None:
    traces = ranks(6)
    for trace in traces:
        half = trace.rank % 2
        trace.file("/l/world", written(10, 10), comm_size=6, comm_rank=trace.rank)
        trace.file(f"/l/half{half}.a", written(10, 10), comm_size=3)
        trace.file(f"/l/half{half}.b", comm_size=3)
        trace.file(f"/l/self{trace.rank}", comm_size=1)
        trace.file("/l/posix", written(10, 10))
    files = records_of(tmp_path, *traces)
    assert files["/l/world"].communicator == "world"
    assert files["/l/self3"].communicator == "self"
    assert files["/l/posix"].communicator == ""
    even, odd = (files[f"/l/half{half}.a"].communicator for half in (0, 1))
    assert len(even) == len(odd) == 8
    assert even != odd
    assert files["/l/half0.b"].communicator == even
    assert files["/l/half1.b"].communicator == odd
    assert (files["/l/half0.a"].communicator_size, files["/l/world"].communicator_size) == (3, 6)


def test_helper_files_of_mpi_libraries_do_not_count(tmp_path: Path) -> None:
    helpers = [
        "/l/out.locktest.0", "/l/out.locktest.17", "/l/out.lockedfile", "/l/out_cid-3-1234.sm",
        "/l/.out.shfp.123", "/l/.out.shfp.12.34", "/l/out.data.0", "/l/out.metadata.3",
    ]  # fmt: skip
    others = ["/l/out", "/l/other.data.0", "/l/locktest.0", "/l/x.shfp.1", "/l/a.sm", "/l/f.12"]
    traces = ranks(2)
    for trace in traces:
        for name in (*helpers, "/l/out"):
            trace.file(name, written(10, 10))
    for name in others[1:]:
        traces[0].file(name)
    table = table_of(tmp_path, *traces)
    found = {record.file_name: record.helper for record in table.records()}
    assert found == dict.fromkeys(helpers, True) | dict.fromkeys(others, False)
    assert table.pattern == "SSF"
    assert table.write_sizes() == {"8": 2}


def test_api_levels_access_and_outcome(tmp_path: Path) -> None:
    trace = Trace()
    flags = lib.IEZ_FILE_WRITE | lib.IEZ_FILE_APPEND | lib.IEZ_FILE_DIRECT
    trace.file("/l/a", apis=0b1101, flags=flags, outcome=lib.IEZ_REFUSED_ENOSPC + 1)
    a = records_of(tmp_path, trace)["/l/a"]
    assert a.api == ("POSIX", "MPI-IO", "HDF5")
    assert a.access == ("write", "append", "direct")
    assert a.outcome == "refused_enospc"


def test_size_and_layout_of_the_trace_where_the_file_is_gone(tmp_path: Path) -> None:
    first, second = Trace(pid=1), Trace(pid=2)
    layout = Layout((
        Component(stripe_count=1, stripe_size_bytes=1 << 20, extent_end_bytes=1 << 22),
        Component(stripe_size_bytes=1 << 22, osts=(4, 7, 9)),
    ))  # fmt: skip
    first.file("/gone/a", size_bytes=100, opened_s=1, flags=CREATED)
    second.file(
        "/gone/a",
        size_bytes=1 << 30,
        opened_s=2,
        layout=layout.record(),
        outcome=PLACED,
        flags=CREATED,
    )
    second.file("/gone/b", stripe_count=5)
    files = records_of(tmp_path, first, second)
    a = files["/gone/a"]
    assert (a.size_bytes, a.unseen_bytes) == (1 << 30, 1 << 30)
    assert (a.stripe_count, a.stripe_size, a.ost_list) == (3, 1 << 22, (4, 7, 9))
    assert (files["/gone/b"].size_bytes, files["/gone/b"].stripe_count) == (None, 5)


def test_a_layout_that_was_only_planned_is_not_the_files(tmp_path: Path) -> None:
    trace = Trace()
    planned = plain(stripe_count=2, osts=(1, 2)).record()
    trace.file("/gone/a", layout=planned, outcome=lib.IEZ_REFUSED_ENOSPC + 1, flags=CREATED)
    a = records_of(tmp_path, trace)["/gone/a"]
    assert (a.stripe_count, a.ost_list) == (None, ())


def test_what_was_never_opened_is_no_file_of_the_run(tmp_path: Path) -> None:
    trace = Trace()
    trace.file("/l/failed", opens=0)
    trace.file("/l/by-mpi-alone", opens=0, comm_size=2)
    trace.file("/l/opened")
    assert set(records_of(tmp_path, trace)) == {"/l/by-mpi-alone", "/l/opened"}


def test_directories_and_pipes_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    trace = Trace()
    for name in ("data", "pipe", "file"):
        trace.file(str(tmp_path / name))
    assert set(records_of(tmp_path, trace)) == {str(tmp_path / "file")}


def test_a_block_that_was_not_finished_is_passed_over(tmp_path: Path) -> None:
    trace = Trace()
    trace.file("/l/a", written(10, 10))
    trace.file("/l/half")
    trace.file("/l/b", written(20, 20))
    half = trace.blocks[1]
    for kind in (0, lib.IEZ_BLOCK_UNUSED):
        trace.blocks[1] = kind.to_bytes(4, "little") + half[4:]
        found = records_of(tmp_path, trace)
        assert {name: each.write_bytes for name, each in found.items()} == {"/l/a": 10, "/l/b": 20}


def test_size_and_layout_of_the_file_where_it_exists(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_bytes(b"x" * 1000)
    link.symlink_to(file)
    os.setxattr(file, "user.iez.lov", plain(2, 1 << 20, (3, 1)).wire())
    trace = Trace()
    planned = plain(1, 1 << 16).record()
    own = written(600, 600)
    trace.file(str(file), own, size_bytes=5, layout=planned, outcome=PLACED, flags=CREATED)
    trace.file(str(link), own, size_bytes=5)
    trace.file(str(tmp_path), size_bytes=5)  # a directory by now
    table = table_of(tmp_path / "traces", trace)
    found = {record.file_name: record for record in table.records()}
    record = found[str(file)]
    assert (record.size_bytes, record.unseen_bytes) == (1000, 400)
    assert (record.stripe_count, record.stripe_size, record.ost_list) == (2, 1 << 20, (3, 1))
    assert found[str(link)].size_bytes == found[str(tmp_path)].size_bytes == 5
    plainly = {record.file_name: record for record in table.records(stat=False)}[str(file)]
    assert (plainly.size_bytes, plainly.stripe_count, plainly.stripe_size) == (5, 1, 1 << 16)


def test_the_newest_run_is_taken(tmp_path: Path) -> None:
    for run, start_s, name in ((9, 10, "old"), (0, 20, "new"), (4, 0, "oldest")):
        trace = Trace(run=run, start_s=start_s, pid=run + 1)
        trace.file(f"/l/{name}", written(10, 10))
        trace.write(tmp_path)
    names = {run: read_table(tmp_path, run).record(0).file_name for run in (None, 1, 2, 3)}
    assert names == {None: "/l/new", 1: "/l/oldest", 2: "/l/old", 3: "/l/new"}


def test_headers_are_summed(tmp_path: Path) -> None:
    traces = ranks(2)
    for trace in traces:
        trace.header = {"dropped_files": 1, "dropped_writes": 2, "dropped_bytes": 300}
        trace.file("/l/a")
    traces[1].header["dropped_events"] = 5
    totals = table_of(tmp_path, *traces).totals
    assert totals.dropped == 2 + 4 + 5
    assert (totals.dropped_bytes, totals.world_size) == (600, 2)
    assert (dict(totals.hosts), dict(totals.programs)) == ({"node1": 2}, {"app": 2})


def test_names_are_bytes(tmp_path: Path) -> None:
    trace = Trace()
    trace.file(b'/l/\xff\xfe,"\n')
    assert list(records_of(tmp_path, trace)) == ['/l/\udcff\udcfe,"\n']
