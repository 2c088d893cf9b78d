"""Files that are renamed or removed, by the process that wrote them or by another one."""

from pathlib import Path

from trace_builder import Trace, written

from iez_client.parse.record import FileRecord
from iez_client.parse.table import read_table
from iez_common._core import lib

UNLINKED = lib.IEZ_FILE_UNLINKED


def records_of(folder: Path, *traces: Trace) -> dict[str, FileRecord]:
    for number, trace in enumerate(traces):
        trace.write(folder, f"node1.{trace.pid}.{number}.trace")
    table = read_table(folder)
    assert not table.damaged
    return {record.file_name: record for record in table.records()}


def two() -> tuple[Trace, Trace]:
    return Trace(rank=0, world_size=2, pid=1), Trace(rank=1, world_size=2, pid=2)


def test_a_temporary_file_has_its_final_name(tmp_path: Path) -> None:
    trace = Trace()
    trace.renamed("/l/x.tmp", "/l/x", 2, written(10, 10))
    files = records_of(tmp_path, trace)
    assert list(files) == ["/l/x"]
    assert files["/l/x"].renamed_from == ("/l/x.tmp",)
    assert (files["/l/x"].write_bytes, files["/l/x"].unlinked) == (10, False)


def test_a_link_is_another_name_only_where_the_first_was_removed(tmp_path: Path) -> None:
    trace, linked = Trace(), lib.IEZ_FILE_LINKED
    trace.name(trace.file("/l/a", written(10, 10), flags=linked), "/l/a.link")
    ended = {"ended_s": 3, "flags": linked | lib.IEZ_FILE_RENAMED}
    trace.name(trace.file("/l/b.tmp", written(20, 20), **ended), "/l/b")
    files = records_of(tmp_path, trace)
    assert {name: each.write_bytes for name, each in files.items()} == {"/l/a": 10, "/l/b": 20}
    assert files["/l/b"].renamed_from == ("/l/b.tmp",)


def test_the_last_name_wins(tmp_path: Path) -> None:
    trace = Trace()
    trace.name(trace.renamed("/l/a", "/l/b", 2, written(10, 10)), "/l/c")
    assert records_of(tmp_path, trace)["/l/c"].write_bytes == 10


def test_each_step_of_a_loop_is_a_file(tmp_path: Path) -> None:
    trace = Trace()
    for step in range(5):
        trace.renamed("/l/tmp", f"/l/step{step}", step + 1, written(step + 1, 100, at_s=step + 0.5))
    trace.file("/l/tmp", written(100, 100, at_s=9))
    files = records_of(tmp_path, trace)
    found = {name: record.write_bytes for name, record in files.items()}
    assert found == {f"/l/step{step}": step + 1 for step in range(5)} | {"/l/tmp": 100}


def test_what_other_ranks_wrote_goes_with_the_rename(tmp_path: Path) -> None:
    first, second = two()
    first.renamed("/l/tmp", "/l/a", 5, written(10, 10, at_s=1))
    first.renamed("/l/tmp", "/l/b", 9, opens=0)
    second.file("/l/tmp", written(7, 7, at_s=6))
    files = records_of(tmp_path, first, second)
    assert {name: each.write_bytes for name, each in files.items()} == {"/l/a": 10, "/l/b": 7}
    assert files["/l/b"].ranks == "1"


def test_what_was_written_after_the_rename_is_another_file(tmp_path: Path) -> None:
    first, second = two()
    first.renamed("/l/tmp", "/l/a", 5, written(10, 10, at_s=1))
    second.file("/l/tmp", written(7, 7, at_s=6), opened_s=6)
    files = records_of(tmp_path, first, second)
    assert {name: each.write_bytes for name, each in files.items()} == {"/l/a": 10, "/l/tmp": 7}


def test_a_file_that_is_first_read_after_the_rename_is_another_one(tmp_path: Path) -> None:
    first, second = two()
    first.renamed("/l/tmp", "/l/a", 5, written(10, 10, at_s=1))
    second.file("/l/tmp", opened_s=6)
    assert set(records_of(tmp_path, first, second)) == {"/l/a", "/l/tmp"}


def test_chains_of_renames_by_several_processes(tmp_path: Path) -> None:
    first, second = two()
    first.renamed("/l/a", "/l/b", 2, written(10, 10, at_s=1))
    second.renamed("/l/b", "/l/c", 3, opens=0)
    first.renamed("/l/c", "/l/d", 4, opens=0)
    files = records_of(tmp_path, first, second)
    assert list(files) == ["/l/d"]
    assert files["/l/d"].renamed_from == ("/l/a", "/l/b", "/l/c")


def test_files_that_are_swapped_keep_apart(tmp_path: Path) -> None:
    trace = Trace()
    trace.renamed("/l/a", "/l/t", 1, written(1, 1, at_s=0.5))
    trace.renamed("/l/b", "/l/a", 2, written(2, 2, at_s=0.5))
    trace.renamed("/l/t", "/l/b", 3, opens=0)
    files = records_of(tmp_path, trace)
    assert {name: each.write_bytes for name, each in files.items()} == {"/l/a": 2, "/l/b": 1}


def test_renames_to_and_fro_end(tmp_path: Path) -> None:
    trace = Trace()
    for turn in range(0, 3000, 2):
        trace.renamed("/l/a", "/l/b", turn + 1, written(1, 1, at_s=turn + 0.5))
        trace.renamed("/l/b", "/l/a", turn + 2, opens=0)
    files = records_of(tmp_path, trace)
    assert sum(each.write_bytes for each in files.values()) == 1500
    assert set(files) <= {"/l/a", "/l/b"}


def test_a_renamed_directory_takes_its_files_along(tmp_path: Path) -> None:
    first, second = two()
    first.file("/l/dir/x", written(10, 10, at_s=1))
    second.file("/l/dir/sub/y", written(20, 20, at_s=1))
    second.renamed("/l/dir/z.tmp", "/l/dir/z", 2, written(5, 5))
    second.file("/l/directory", written(3, 3, at_s=1))
    second.file("/l/dir/late", written(4, 4, at_s=9), opened_s=9)
    first.renamed("/l/dir", "/l/done", 5, opens=0)
    files = records_of(tmp_path, first, second)
    assert {name: each.write_bytes for name, each in files.items()} == {
        "/l/done/x": 10,
        "/l/done/sub/y": 20,
        "/l/done/z": 5,
        "/l/directory": 3,
        "/l/dir/late": 4,
    }
    assert files["/l/done/x"].renamed_from == ("/l/dir/x",)
    assert files["/l/done/z"].renamed_from == ("/l/dir/z.tmp", "/l/dir/z")


def test_a_file_and_then_its_directory_are_renamed_by_others(tmp_path: Path) -> None:
    last, mover_of_all, mover, writer = (Trace(pid=pid) for pid in range(1, 5))
    writer.file("/l/dir/a", written(10, 10, at_s=1))
    mover.renamed("/l/dir/a", "/l/dir/b", 2, opens=0)
    mover_of_all.renamed("/l/dir", "/l/done", 3, opens=0)
    last.renamed("/l/done/b", "/l/done/c", 4, opens=0)
    files = records_of(tmp_path, last, mover_of_all, mover, writer)
    assert list(files) == ["/l/done/c"]
    assert files["/l/done/c"].renamed_from == ("/l/dir/a", "/l/dir/b", "/l/done/b")


def test_renames_of_what_is_no_file_of_the_run_are_left_out(tmp_path: Path) -> None:
    trace = Trace()
    trace.renamed("/l/other", "/l/more", 2, opens=0)
    trace.file("/l/gone", opens=0, flags=UNLINKED, ended_s=2)
    trace.file("/l/a", written(10, 10))
    assert list(records_of(tmp_path, trace)) == ["/l/a"]


def test_names_that_could_not_be_opened_are_no_files(tmp_path: Path) -> None:
    first, second = two()
    first.file("/l/missing/a", opens=0, apis=0, outcome=1)
    first.file("/l/inherited", opens=0, flags=lib.IEZ_FILE_FOUND)
    first.file("/l/by_mpi", opens=0, comm_size=2, apis=0b100)
    first.file("/l/b", opens=0)
    second.file("/l/b", written(10, 10))
    assert sorted(records_of(tmp_path, first, second)) == ["/l/b", "/l/by_mpi", "/l/inherited"]


def test_removed_files_stay_in_the_table(tmp_path: Path) -> None:
    first, second = two()
    first.file("/l/a", written(10, 10), flags=UNLINKED, ended_s=5)
    second.file("/l/a", written(7, 7, at_s=2))
    second.file("/l/b", written(7, 7, at_s=2))
    first.file("/l/b", opens=0, flags=UNLINKED, ended_s=5)
    first.file("/l/c", written(1, 1), flags=UNLINKED, ended_s=5)
    second.file("/l/c", written(2, 2, at_s=6), opened_s=6)
    second.renamed("/l/d.tmp", "/l/d", 3, written(1, 1), flags=UNLINKED)
    files = records_of(tmp_path, first, second)
    found = {name: (each.write_bytes, each.unlinked) for name, each in files.items()}
    assert found == {
        "/l/a": (17, True),
        "/l/b": (7, True),
        "/l/c": (3, False),
        "/l/d": (1, True),
    }


def test_a_file_that_exists_is_not_removed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"123")
    trace = Trace()
    trace.file(str(path), written(10, 10), flags=UNLINKED, ended_s=5)
    record = records_of(tmp_path / "traces", trace)[str(path)]
    assert (record.unlinked, record.size_bytes) == (False, 3)


def test_all_names_of_a_replaced_file_come_together(tmp_path: Path) -> None:
    first, second = two()
    first.file("/l/x", written(1, 1, at_s=1))
    first.renamed("/l/x.tmp1", "/l/x", 2, written(10, 10, at_s=1), size_bytes=10, opened_s=1)
    second.renamed("/l/x.tmp2", "/l/x", 3, written(20, 20, at_s=2), size_bytes=20, opened_s=2)
    x = records_of(tmp_path, first, second)["/l/x"]
    assert (x.write_bytes, x.size_bytes, x.ranks) == (31, 20, "0-1")
    assert x.renamed_from == ("/l/x.tmp1", "/l/x.tmp2")


def test_a_rename_without_its_name_stays_where_it_was(tmp_path: Path) -> None:
    trace = Trace()
    trace.file("/l/a", written(10, 10), flags=lib.IEZ_FILE_RENAMED, ended_s=1)
    assert list(records_of(tmp_path, trace)) == ["/l/a"]
