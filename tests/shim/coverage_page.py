"""The page docs/tracing-coverage.md, out of runs of the coverage programs."""

import contextlib
import io
from collections.abc import Iterable
from pathlib import Path

from coverage_calls import Call, Result, Runner, assert_counted, describe, seen_calls, unseen_calls
from coverage_libraries import Files, run_hdf5, run_mpi
from test_symbols import hooks

START = """\
# What the trace sees

Each line is a small program in `tests/shim/coverage` that makes this one call on a watched file,
and what its trace then has of that file. What is not seen runs as without the library.

- *yes*: the call is counted.
- *size*: the call is not seen, but the size is right that the process which created the file reads
  at its last close, or when it ends.
- *no*: neither.

`scripts/docs-coverage > docs/tracing-coverage.md` makes this page; a test compares the two.
"""
Row = tuple[str, str, str]


def page(folder: Path) -> str:
    with contextlib.redirect_stdout(io.StringIO()):  # what building plans says
        runner = Runner(folder / "calls")
        seen = [row(call, runner.run(call)) for call in seen_calls()]
        unseen = [row(call, runner.run(call)) for call in unseen_calls()]
        layers = [
            *rows_of(run_mpi("wheel", folder / "mpi")),
            *rows_of(run_mpi("openmpi", folder / "fortran", "fortran.c")),
            *rows_of(run_hdf5(folder / "hdf5")),
        ]
    return "\n".join(
        [
            START,
            "## libc\n",
            table(seen),
            "## MPI-IO and HDF5\n",
            "Their own sums are kept beside those of the calls below them, which are what counts\n"
            "as written to the file.\n",
            table(layers),
            "## Not seen, or in part\n",
            table(unseen),
        ]
    )


def row(call: Call, result: Result) -> Row:
    assert_counted(result.counted, call.expected)
    file = result.counted
    is_measured = file is not None and bool(result.size) and file.size_bytes == result.size
    sees = "yes" if call.is_seen else "size" if is_measured else "no"
    return (call.title, sees, describe([file] if file else []))


def rows_of(files: Files) -> list[Row]:
    """Of the files that are named after a call."""
    return [
        (f"`{name}`", "yes", describe(found)) for name, found in files.items() if name in hooks()
    ]


def table(rows: Iterable[Row]) -> str:
    lines = ["| call | seen | counted as |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"
