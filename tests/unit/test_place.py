"""The line at the end of a job, from the traces of its processes."""

from pathlib import Path

import pytest

from iez_client.place import PHRASES, read_outcomes, summary
from iez_common._core import ffi, lib

OUTCOMES = {name: number for number, name in ffi.typeof("enum iez_outcome").elements.items()}


def write_outcomes(directory: Path, name: str, run: int = 7, **counts: int) -> Path:
    file = ffi.new("struct iez_trace_header *")
    file.magic = lib.IEZ_TRACE_MAGIC
    file.version = lib.IEZ_TRACE_VERSION
    file.header_bytes = ffi.sizeof("struct iez_trace_header")
    file.run = run
    for outcome, count in counts.items():
        file.outcomes[OUTCOMES[f"IEZ_{outcome}"]] = count
    path = directory / f"{name}.trace"
    path.write_bytes(bytes(ffi.buffer(file)))
    return path


def test_every_outcome_has_a_phrase() -> None:
    assert set(PHRASES) == set(OUTCOMES) - {"IEZ_OUTCOMES"}
    assert len(set(PHRASES.values())) == len(PHRASES)


def test_nothing_happened_is_nothing_to_say(tmp_path: Path) -> None:
    assert summary(read_outcomes(tmp_path)) == ""
    write_outcomes(tmp_path, "host.1.0")
    assert summary(read_outcomes(tmp_path)) == ""
    assert summary(read_outcomes(tmp_path / "none")) == ""


def test_processes_are_summed(tmp_path: Path) -> None:
    write_outcomes(tmp_path, "a.1.0", PLACED=5, MISSED=1)
    write_outcomes(tmp_path, "b.1.0", PLACED=3, REFUSED_ENOSPC=1)
    outcomes = read_outcomes(tmp_path)
    assert outcomes.process_count == 2
    assert summary(outcomes) == "8 files placed; 2 not: 1 not in the plan, 1 OST full (ENOSPC)"


def test_only_the_run_that_is_asked_for_counts(tmp_path: Path) -> None:
    write_outcomes(tmp_path, "a.1.0", run=1, PLACED=5)
    write_outcomes(tmp_path, "b.1.0", run=2, PLACED=3)
    assert summary(read_outcomes(tmp_path, run=2)) == "3 files placed"


def test_one_file_is_one_file(tmp_path: Path) -> None:
    write_outcomes(tmp_path, "a.1.0", PLACED=1)
    assert summary(read_outcomes(tmp_path)) == "1 file placed"


def test_a_shared_file_counts_once(tmp_path: Path) -> None:
    write_outcomes(tmp_path, "a.1.0", PLACED=1)
    for rank in range(7):
        write_outcomes(tmp_path, f"a.{rank + 2}.0", SHARED=1)
    assert summary(read_outcomes(tmp_path)) == "1 file placed"


@pytest.mark.parametrize("name", sorted(set(PHRASES) - {"IEZ_PLACED", "IEZ_SHARED"}))
def test_each_reason_is_told(tmp_path: Path, name: str) -> None:
    write_outcomes(tmp_path, "a.1.0", **{name.removeprefix("IEZ_"): 3})
    line = summary(read_outcomes(tmp_path))
    assert line.startswith(f"0 files placed; 3 not: 3 {PHRASES[name]}")
    assert "\n" not in line


def test_an_unknown_ost_says_what_to_do(tmp_path: Path) -> None:
    write_outcomes(tmp_path, "a.1.0", UNKNOWN_OST=1)
    line = summary(read_outcomes(tmp_path))
    assert "switched off" in line
    assert "iez plan build" in line


def test_damaged_files_are_counted_and_named(tmp_path: Path) -> None:
    good = write_outcomes(tmp_path, "a.1.0", PLACED=2)
    data = good.read_bytes()
    (tmp_path / "cut.trace").write_bytes(data[:100])
    (tmp_path / "empty.trace").write_bytes(b"")
    (tmp_path / "foreign.trace").write_bytes(b"x" * 1000)
    (tmp_path / "version.trace").write_bytes(data[:8] + b"\x09" + data[9:])
    (tmp_path / "directory.trace").mkdir()
    outcomes = read_outcomes(tmp_path)
    assert len(outcomes.damaged) == 5
    line = summary(outcomes)
    assert line.startswith("2 files placed; 5 traces not readable (cut.trace, ")
    assert line.endswith(", …)")


def test_a_file_that_tracing_made_longer_is_read(tmp_path: Path) -> None:
    path = write_outcomes(tmp_path, "a.1.0", PLACED=2)
    path.write_bytes(path.read_bytes() + b"events" * 100)
    assert summary(read_outcomes(tmp_path)) == "2 files placed"
