"""Runs a job without and with iez and compares: what it prints, the files it leaves, the layouts.

A job is a function from its output directory to its command. The placed run is a mock run, or one
in a loopback mount, so that each file's layout can be read back from its attribute.
"""

import csv
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from iez_common import _core
from iez_common.layout import read_wire

BIN = Path(sys.executable).parent
STRIPE_SIZE = "1M"
STRIPE_SIZE_BYTES = 1 << 20
TIMEOUT_S = 120

Job = Callable[[Path], list[str]]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The sum over the processes of the job."""

    placed: int
    placed_by_mpiio: int
    placed_by_hdf5: int
    communicators: frozenset[tuple[int, int]]  # (rank, size) of processes that opened by MPI-IO


def assert_same_and_placed(
    folder: Path,
    job: Job,
    plan: Mapping[str, list[int]],
    env: Mapping[str, str] | None = None,
    mount: Path | None = None,
) -> Outcomes:
    """`plan`: file name template → OSTs; every file that the job leaves must match one. `mount` is
    a directory of a loopback file system to run in."""
    plain, placed = (mount or folder) / "plain", (mount or folder) / "place"
    plain.mkdir(parents=True)
    placed.mkdir()
    mock = [] if mount else ["--mock", str(placed)]
    environ = {**os.environ, **(env or {}), "IEZ_STATE_DIR": str(folder / "state")}
    plan_file = build_plan(folder, placed, plan, environ, mock)
    run_iez = [str(BIN / "iez-run"), "--keep", *mock, "--plan", str(plan_file)]

    plain_text = run(job(plain), plain, environ)
    placed_text = run([*run_iez, *job(placed)], placed, environ)

    assert placed_text == plain_text
    assert read_files(placed) == read_files(plain)
    assert read_files(plain), "the job left no file"
    assert_layouts(placed, plan, "lustre.lov" if mount else "user.iez.lov")
    return read_outcomes(folder / "state")


def build_plan(
    folder: Path,
    data: Path,
    plan: Mapping[str, list[int]],
    environ: Mapping[str, str],
    mock: list[str],
) -> Path:
    table, plan_file = folder / "plan.csv", folder / "the.plan"
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["path", "stripe_count", "stripe_size", "ost_list", "pool"])
        for name, osts in plan.items():
            ids = " ".join(map(str, osts))
            rows.writerow([f"{data}/{name}", len(osts), STRIPE_SIZE, ids, ""])
    build = [str(BIN / "iez"), "plan", "build", "--from", str(table), "-o", str(plan_file)]
    subprocess.run([*build, *mock], check=True, env=environ, timeout=TIMEOUT_S)
    return plan_file


def run(command: list[str], data: Path, environ: Mapping[str, str]) -> str:
    done = subprocess.run(
        command, env=environ, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return printed(done.stdout, data)


def printed(text: str, data: Path) -> str:
    """What the job printed, without what differs from run to run."""
    return re.sub(r"seconds [0-9.]+", "seconds", text.replace(str(data), "DATA"))


def read_files(data: Path) -> dict[str, tuple[int, str]]:
    """Name → size and hash of the content."""
    files = {}
    for path in sorted(p for p in data.rglob("*") if p.is_file()):
        whole = path.read_bytes()
        files[str(path.relative_to(data))] = (len(whole), hashlib.sha256(whole).hexdigest())
    return files


def assert_layouts(data: Path, plan: Mapping[str, list[int]], xattr: str) -> None:
    patterns = {re.escape(name).replace(r"\#", r"\d+"): osts for name, osts in plan.items()}
    for path in (p for p in data.rglob("*") if p.is_file()):
        name = str(path.relative_to(data))
        wanted = next((o for p, o in patterns.items() if re.fullmatch(p, name)), None)
        assert wanted is not None, f"{name} is not in the plan"
        (component,) = read_wire(os.getxattr(path, xattr)).components
        assert (list(component.osts), component.stripe_count) == (wanted, len(wanted)), name
        assert component.stripe_size_bytes == STRIPE_SIZE_BYTES, name


def read_outcomes(state: Path) -> Outcomes:
    placed = by_mpiio = by_hdf5 = 0
    communicators = set()
    for path in state.glob("traces/*/*.trace"):
        one = _core.ffi.new("struct iez_trace_header *")
        _core.ffi.buffer(one)[:] = path.read_bytes()[: _core.ffi.sizeof(one[0])]
        assert one.magic == _core.lib.IEZ_TRACE_MAGIC
        placed += one.outcomes[_core.lib.IEZ_PLACED]
        by_mpiio += one.placed_by[_core.lib.IEZ_MPIIO]
        by_hdf5 += one.placed_by[_core.lib.IEZ_HDF5]
        if one.comm_size:
            communicators.add((one.comm_rank, one.comm_size))
    return Outcomes(placed, by_mpiio, by_hdf5, frozenset(communicators))
