"""Events: read as they are, packed without loss, and small."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from trace_builder import START_NS, Trace, written

from iez_client.parse.columns import dtype_of
from iez_client.parse.event_rows import event_rows
from iez_client.parse.events import events_of, pack, read_trace
from iez_client.parse.pack import CHUNK_EVENTS, pack_events, unpack_events
from iez_client.parse.table import read_table
from iez_common._core import ffi, lib
from iez_common.errors import TraceError

EVENT = dtype_of("struct iez_trace_event")


def test_the_type_is_the_structs_own() -> None:
    event = ffi.new("struct iez_trace_event *", [1, 2, 3, 4, 5, 6, 7])
    array = np.frombuffer(ffi.buffer(event), EVENT)
    assert array[0].item() == (1, 2, 3, 4, 5, 6, 7)
    assert EVENT.itemsize == ffi.sizeof("struct iez_trace_event")


def realistic(count: int, stride: int, seed: int = 1) -> np.ndarray:
    """Writes of 4 KiB with noisy times, by turns to five files."""
    noise = np.random.default_rng(seed)
    events = np.zeros(count, EVENT)
    events["duration_ns"] = 1500 + noise.gamma(2, 600, count)
    gaps = (200 + noise.gamma(2, 300, count)).astype("u8")
    events["start_ns"] = np.cumsum(events["duration_ns"] + gaps)
    events["length"] = 4096
    events["file"] = 1 + np.arange(count) // 1000 % 5
    events["offset"] = np.arange(count, dtype="u8") * stride
    return events


def trace_with(events: np.ndarray) -> Trace:
    trace = Trace(rank=3, world_size=4)
    for number in range(1, 6):
        trace.file(f"/l/{number}", written(10, 10))
    half = len(events) // 2
    trace.events(events[:half].tolist(), room=3)
    trace.file("/l/between")
    trace.events(events[half:].tolist())
    trace.zeros(50)
    return trace


def test_events_of_all_blocks_are_read_in_order(tmp_path: Path) -> None:
    events = realistic(1000, 4096)
    path = trace_with(events).write(tmp_path)
    trace = events_of(read_trace(path))
    assert (trace.events == events).all()
    assert trace.damage == ""


@pytest.mark.parametrize("stride", [4096, 4096 * 64], ids=["sequential", "strided"])
def test_packed_events_are_the_same_and_take_at_most_6_bytes(tmp_path: Path, stride: int) -> None:
    events = realistic(50_000, stride)
    path = trace_with(events).write(tmp_path)
    before = [record.write_bytes for record in read_table(tmp_path).records()]
    assert pack(path)
    assert path.stat().st_size / len(events) < 6
    assert (events_of(read_trace(path)).events == events).all()
    table = read_table(tmp_path)
    assert [record.write_bytes for record in table.records()] == before
    assert table.totals.events == len(events)
    assert not table.damaged
    assert not pack(path), "there is nothing left to pack"


@settings(max_examples=300, deadline=None)
@given(npst.arrays(EVENT, st.integers(0, 60)))
def test_any_events_survive_packing(events: np.ndarray) -> None:
    assert (unpack_events(pack_events(events), EVENT) == events).all()


def test_many_events_survive_packing() -> None:
    events = realistic(CHUNK_EVENTS + 10, 4096)
    events["offset"][::7] = lib.IEZ_SIZE_UNKNOWN
    assert (unpack_events(pack_events(events), EVENT) == events).all()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 400))
def test_damaged_packed_events_are_told(spoil: bytes, at: int) -> None:
    data = bytearray(pack_events(realistic(100, 4096)))
    data[at : at + len(spoil)] = spoil
    try:
        assert len(unpack_events(bytes(data), EVENT)) < CHUNK_EVENTS
    except TraceError as error:
        assert "damaged" in error.message


def test_a_damaged_file_is_not_rewritten(tmp_path: Path) -> None:
    data = bytearray(trace_with(realistic(100, 4096)).data())
    data[576:580] = b"\xff" * 4  # the first block
    for content in (bytes(data), bytes(data[:-2000]), b"", b"foreign" * 100):
        path = tmp_path / "a.trace"
        path.write_bytes(content)
        assert not pack(path)
        assert path.read_bytes() == content
    assert not pack(tmp_path / "missing.trace")


def test_a_file_without_events_is_left_alone(tmp_path: Path) -> None:
    trace = Trace()
    trace.file("/l/a")
    assert not pack(trace.write(tmp_path))


def test_rows_have_final_names_and_times_of_the_clock(tmp_path: Path) -> None:
    first, second = Trace(rank=0, pid=1), Trace(rank=1, pid=2, start_s=1)
    number = first.renamed("/l/a.tmp", "/l/a", 9, written(10, 10, at_s=1))
    first.events([(5, 0, 2, 10, number, 0, lib.IEZ_STDIO)])
    other = second.file("/l/b.tmp", written(10, 10, at_s=1))
    second.events([(7, lib.IEZ_SIZE_UNKNOWN, 3, 10, other, 4, 99), (8, 1, 1, 1, 77, 0, 0)])
    first.renamed("/l/b.tmp", "/l/b", 9, opens=0)
    for trace in (first, second):
        trace.write(tmp_path)
    rows = list(event_rows(read_table(tmp_path), []))
    start_s = START_NS // 10**9
    assert rows[1:] == [
        (f"{start_s}.000000005", "0.000000002", "/l/a", 0, 10, 0, 0, "STDIO"),
        (f"{start_s + 1}.000000007", "0.000000003", "/l/b", "", 10, 1, 4, ""),
        (f"{start_s + 1}.000000008", "0.000000001", "", 1, 1, 1, 0, "POSIX"),
    ]
