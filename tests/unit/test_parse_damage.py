"""Trace files that are not whole: what is whole is used, the rest is named, nothing crashes."""

import os
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzz_programs import run_fuzzer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trace_builder import CELL, Trace, written

from iez_client.cli.show_report import summarise
from iez_client.parse.event_rows import event_rows
from iez_client.parse.events import pack
from iez_client.parse.table import FileTable, read_table
from iez_common._core import ffi, lib
from iez_common.errors import IezError, InputError, TraceError, UsageError
from iez_common.layout import plain

HEADER_BYTES = ffi.sizeof("struct iez_trace_header")


def rich_trace(rank: int = 1) -> Trace:
    """A trace with every kind of block."""
    trace = Trace(rank=rank, world_size=4, pid=10 + rank)
    number = trace.file("/l/a", written(4096), comm_size=4, layout=plain(2, 1 << 20).record())
    trace.more(number, written(100, 10))
    trace.renamed("/l/dir/t.tmp", "/l/dir/t", 2, written(5, 5))
    trace.zeros(2)
    trace.file("/l/out.locktest.1", flags=lib.IEZ_FILE_UNLINKED, ended_s=2)
    trace.renamed("/l/dir", "/l/moved", 3, opens=0)
    trace.other(0x495A0077, 3)
    trace.events([(i, i * 8, 5, 8, number, 0, 0) for i in range(20)], room=4)
    trace.file("/l/dir/u", written(7, 7))
    trace.more(99, written(1, 1))
    trace.zeros(4)
    return trace


def reasons(folder: Path) -> dict[str, str]:
    return {each.file: each.reason for each in read_table(folder).damaged}


def test_what_is_no_directory_of_traces(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    for name in ("file", "empty", "missing"):
        with pytest.raises(InputError) as raised:
            read_table(tmp_path / name)
        assert raised.value.hint
        assert raised.value.exit_code == 66


def test_a_directory_without_a_usable_trace(tmp_path: Path) -> None:
    (tmp_path / "a.trace").write_bytes(b"")
    with pytest.raises(TraceError, match="none of its trace files can be used") as raised:
        read_table(tmp_path)
    assert raised.value.exit_code == 65


def test_a_run_that_is_not_there(tmp_path: Path) -> None:
    rich_trace().write(tmp_path)
    for run in (0, 2):
        with pytest.raises(UsageError, match=f"there is no run {run}"):
            read_table(tmp_path, run)


def test_every_file_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    whole = Trace()
    whole.file("/l/whole", written(10, 10))
    whole.write(tmp_path, "whole.trace")
    data = whole.data()
    other = Trace()
    other.header = {"version": 2}
    bad = {
        "empty": b"",
        "foreign": b"#!/bin/sh\n" * 100,
        "half": bytes(len(data)),
        "version": other.data(),
        "short": data[:100],
    }
    for name, content in bad.items():
        (tmp_path / f"{name}.trace").write_bytes(content)
    (tmp_path / "folder.trace").mkdir()
    os.mkfifo(tmp_path / "fifo.trace")
    (tmp_path / "gone.trace").symlink_to("nowhere")
    (tmp_path / "notes.txt").write_text("not looked at")
    found = reasons(tmp_path)
    begins = {name.removesuffix(".trace"): reason.split()[0] for name, reason in found.items()}
    assert begins == {
        "empty": "empty",
        "foreign": "foreign:",
        "half": "half-written:",
        "version": "of",
        "short": "truncated:",
        "folder": "not",
        "fifo": "not",
        "gone": "cannot",
    }
    assert [record.file_name for record in read_table(tmp_path).records()] == ["/l/whole"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    rich_trace().write(tmp_path, "a.trace")
    rich_trace().write(tmp_path, "b.trace").chmod(0)
    assert reasons(tmp_path)["b.trace"] == "cannot be read: permission denied"


def test_a_truncated_file_is_used_as_far_as_it_goes(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(5):
        trace.file(f"/l/{number}", written(10, 10))
    data = trace.data()
    block = len(trace.blocks[0])
    for cut in (HEADER_BYTES + 3 * block + 32, HEADER_BYTES + 3 * block + 5, len(data) - 2 * block):
        (tmp_path / "a.trace").write_bytes(data[:cut])
        table = read_table(tmp_path)
        assert [record.file_name for record in table.records()] == ["/l/0", "/l/1", "/l/2"]
        at_a_border = (cut - HEADER_BYTES) % block == 0
        expected = {} if at_a_border else {"a.trace": "truncated: 3 of its files are used"}
        assert reasons(tmp_path) == expected


def test_behind_damage_the_next_block_is_found(tmp_path: Path) -> None:
    trace = Trace()
    for number in range(3):
        trace.file(f"/l/{number}", written(10, 10))
    for spoil in (b"\xff" * 8, b"\x01\x00\x5a\x49\x00\x00\x00\x00", b"\x01\x00\x5a\x49\x01\0\0\0"):
        trace.blocks[1] = spoil + trace.blocks[1][8:]
        trace.write(tmp_path, "a.trace")
        table = read_table(tmp_path)
        assert [record.file_name for record in table.records()] == ["/l/0", "/l/2"]
        assert reasons(tmp_path)["a.trace"].startswith("damaged: ")
        assert reasons(tmp_path)["a.trace"].endswith("2 of its files are used")


def test_counts_without_a_file_are_told(tmp_path: Path) -> None:
    trace = Trace()
    trace.file("/l/a")
    trace.more(77, written(10, 10))
    trace.write(tmp_path, "a.trace")
    what = "damaged: 1 blocks belong to no file; 1 of its files is used"
    assert reasons(tmp_path) == {"a.trace": what}


@pytest.mark.parametrize(
    "values",
    [{"path_bytes": 0}, {"path_bytes": 3}, {"path_bytes": 60000}, {"layout_bytes": 60000}],
)
def test_lengths_that_lead_out_of_the_block_are_not_followed(
    tmp_path: Path, values: dict[str, int]
) -> None:
    trace = Trace()
    trace.file("/l/abc", written(10, 10))
    block = bytearray(trace.blocks[0])
    file = ffi.from_buffer("struct iez_trace_file *", block)
    for name, value in values.items():
        setattr(file, name, value)
    trace.blocks[0] = bytes(block)
    trace.file("/l/b")
    trace.write(tmp_path, "a.trace")
    assert [record.file_name for record in read_table(tmp_path).records()] == ["/l/b"]


# Fuzzing: mutations of one trace among whole ones.

ODD = [0, 1, 2, 7, 31, 32, 0xFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x495A0001, 0x495A0004, 0x495A0005]


def flip(data: bytearray, dice: random.Random) -> None:
    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)


def set_word(data: bytearray, dice: random.Random) -> None:
    at = dice.randrange(len(data) // 4) * 4
    value = dice.choice([*ODD, dice.getrandbits(32)])
    data[at : at + 4] = value.to_bytes(4, "little")


def set_cells(data: bytearray, dice: random.Random) -> None:
    """The length of some block."""
    at = HEADER_BYTES + dice.randrange((len(data) - HEADER_BYTES) // CELL) * CELL + 4
    data[at : at + 4] = dice.choice([0, 1, 2, 7, 10, 12, 40, 0xFFFFFFFF]).to_bytes(4, "little")


def truncate(data: bytearray, dice: random.Random) -> None:
    del data[dice.randrange(len(data)) :]


def shuffle(data: bytearray, dice: random.Random) -> None:
    """Cells in another order."""
    body = bytes(data[HEADER_BYTES:])
    size = CELL * dice.choice([1, 2, 7, 11])
    parts = [body[at : at + size] for at in range(0, len(body), size)]
    dice.shuffle(parts)
    data[HEADER_BYTES:] = b"".join(parts)


def copy(data: bytearray, dice: random.Random) -> None:
    size = dice.randrange(300)
    start, to = dice.randrange(len(data)), dice.randrange(len(data))
    data[to : to + size] = data[start : start + size]


def erase(data: bytearray, dice: random.Random) -> None:
    start, size = dice.randrange(len(data)), dice.randrange(200)
    data[start : start + size] = bytes(len(data[start : start + size]))


MUTATIONS: list[Callable[[bytearray, random.Random], None]] = [
    flip, set_word, set_cells, truncate, shuffle, copy, erase,
]  # fmt: skip
VARIANTS = 16
EXAMPLES = 640  # times VARIANTS: more than 10^4 damaged files


def mutate(data: bytes, dice: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(dice.randint(1, 3)):
        if len(changed) > HEADER_BYTES + CELL:
            dice.choice(MUTATIONS)(changed, dice)
    return bytes(changed)


def use_everything(table: FileTable, folder: Path) -> None:
    summarise(table, 3, stat=False)
    for row in event_rows(table, []):
        assert len(row) == 8
    for path in folder.iterdir():
        pack(path)


@pytest.fixture(scope="module")
def fuzz_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz")
    for rank in (0, 2):
        trace = Trace(rank=rank, world_size=4, pid=10 + rank)
        trace.file(f"/whole/{rank}", written(1000 + rank))
        trace.file("/whole/shared", written(50))
        trace.write(folder, f"whole.{rank}.trace")
    return folder


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.booleans())
def test_no_damage_does_harm(fuzz_folder: Path, dice: random.Random, is_packed: bool) -> None:
    damaged = fuzz_folder / "damaged.trace"
    damaged.write_bytes(rich_trace().data())
    if is_packed:
        without_loss = Trace(rank=1, world_size=4)
        without_loss.file("/l/a")
        without_loss.events([(i, i * 8, 5, 8, 1, 0, 0) for i in range(20)])
        damaged.write_bytes(without_loss.data())
        assert pack(damaged)
    original = damaged.read_bytes()
    for variant in range(VARIANTS):
        damaged.write_bytes(mutate(original, dice))
        try:
            table = read_table(fuzz_folder)
        except IezError:
            continue
        found = {each.file_name: each.write_bytes for each in table.records(stat=False)}
        # With another number in its header the damaged file may be a run of its own.
        if any(process.run == 7 for process in table.traces.processes):
            assert (found["/whole/0"], found["/whole/2"]) == (1000, 1002)
            assert found["/whole/shared"] == 100
        if variant == 0:
            use_everything(table, fuzz_folder)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=2000))
def test_random_blocks_are_read_without_harm(fuzz_folder: Path, data: bytes) -> None:
    (fuzz_folder / "damaged.trace").write_bytes(Trace(rank=3).head() + data)
    found = {each.file_name for each in read_table(fuzz_folder).records(stat=False)}
    assert {"/whole/0", "/whole/2", "/whole/shared"} <= found


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_traces_are_read_within_their_bounds(tmp_path: Path, seed: int) -> None:
    """The same under AddressSanitizer, which sees every byte that is read outside the file."""
    trace = rich_trace()
    for number in range(40):
        trace.file(f"/l/more/{number}", written(number + 1, 10))
    path = trace.write(tmp_path)
    sources = ("trace_merge", "trace_table", "plan", "template", "layout")
    reached = run_fuzzer(tmp_path, "fuzz_trace", sources, str(path), str(seed), "10000")
    assert reached["files"] > 100_000
    assert reached["damaged"] > 5_000
    assert reached["found"] > 5_000
    assert reached["events"] > 5_000


# Memory and time.


def shared_traces(folder: Path, processes: int, files: int = 100) -> None:
    for rank in range(processes):
        trace = Trace(rank=rank, world_size=processes, pid=1000 + rank)
        for number in range(files):
            trace.file(f"/l/{number}", written(4096), layout=plain(2, 1 << 20).record())
        trace.write(folder)


def test_memory_does_not_grow_with_the_number_of_processes(tmp_path: Path) -> None:
    used = []
    for processes in (50, 2000):
        folder = tmp_path / str(processes)
        shared_traces(folder, processes)
        tracemalloc.start()
        table = read_table(folder)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(table) == 100
        assert table.record(0).ranks == f"0-{processes - 1}"
        used.append((table.merge.memory_bytes, peak))
    (few, few_peak), (many, many_peak) = used
    assert many == few
    # Beyond the list of trace files itself.
    assert (many_peak - few_peak) / 1950 < 1500


def test_the_ranks_of_every_second_process_take_little(tmp_path: Path) -> None:
    for rank in range(0, 400, 2):
        trace = Trace(rank=rank, world_size=400, pid=1000 + rank)
        trace.file("/l/a", written(10, 10))
        trace.write(tmp_path)
    table = read_table(tmp_path)
    assert table.record(0).ranks.startswith("0,2,4,")
    assert table.merge.core.span_count <= 201
