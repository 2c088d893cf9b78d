"""Coverage of MPI-IO and HDF5: one program over all forms, each with a file of its own name."""

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from conftest import build_plan, shim_environment
from coverage_calls import HERE
from trace_reader import FileTrace, read_traces, remove_traces

sys.path.append(str(Path(__file__).parent.parent / "integration"))
from mpi_libraries import LIBRARIES, Mpi

RANKS = 2
RANK_BYTES = 400
HDF5_BYTES = {"H5Fcreate": 0, "H5Fclose": 4000, "H5Dwrite": 4000, "H5Fopen": 40}
HDF5_SAYS = {
    "H5Fcreate": "1\n0\n",
    **dict.fromkeys(("H5Fclose", "H5Dwrite", "H5Fopen"), "1 0\n0\n"),
}
TIMEOUT_S = 60

Files = dict[str, list[FileTrace]]  # by name; of all processes


def compiler_of(mpi: Mpi) -> str:
    return mpi.c or str(Path(mpi.launcher).parent / "mpicc")


def run(
    command: list[str], data: Path, environ: Mapping[str, str]
) -> tuple[str, dict[str, bytes], int]:
    """What it said, the files it left, how it ended."""
    data.mkdir(parents=True, exist_ok=True)
    for path in data.iterdir():
        path.unlink()
    done = subprocess.run(
        command, env=dict(environ), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    files = {path.name: path.read_bytes() for path in sorted(data.iterdir())}
    return done.stdout + done.stderr, files, done.returncode


def files_of(traces: Path) -> Files:
    found = defaultdict(list)
    for trace in read_traces(traces):
        assert not any(trace.dropped.values())
        for file in trace.files:
            found[Path(file.path).name].append(file)
    return found


def run_mpi(library: str, folder: Path, source: str = "mpi.c") -> Files:
    """The traces of all forms; the run without the library must give the same."""
    folder.mkdir(parents=True)
    mpi = LIBRARIES[library](folder)
    data, program = folder / "mock" / "work", folder / "forms"
    compiler = [compiler_of(mpi), "-Wall", "-Werror"]
    if source == "fortran.c":
        compiler = [mpi.fortran, "-w"]  # it warns of its own options
    command = [*compiler, str(HERE / source), "-o", str(program)]
    subprocess.run(command, check=True, cwd=folder)
    plan = build_plan(folder / "plan" / "the.plan", folder / "mock", [])
    launch = mpi.launch(RANKS, program, data)
    plain = run(launch, data, {**os.environ, **mpi.env})
    assert plain[0] == ""
    assert plain[2] == 0
    traced = run(launch, data, shim_environment(plan, **mpi.env))
    for name, content in plain[1].items():
        # The two ranks' parts of a file with a shared pointer may be in either order.
        assert sorted(traced[1][name]) == sorted(content), name
    assert (traced[0], traced[1].keys(), traced[2]) == (plain[0], plain[1].keys(), plain[2])
    return files_of(plan.parent)


def run_hdf5(folder: Path) -> Files:
    folder.mkdir(parents=True)
    data, program = folder / "mock" / "work", folder / "hdf5"
    command = ["h5cc", "-shlib", "-Wall", "-Werror", str(HERE / "hdf5.c"), "-o", str(program)]
    subprocess.run(command, check=True, cwd=folder)
    plan = build_plan(folder / "plan" / "the.plan", folder / "mock", [])
    found: Files = {}
    for name, said in HDF5_SAYS.items():
        command = [str(program), str(data), name]
        if name == "H5Fopen":
            (data / "H5Dwrite").rename(data / name)
        else:
            plain = run(command, data, os.environ)
            assert (plain[0], plain[2]) == (said, 0)
            shutil.rmtree(data)
            data.mkdir()
        done = subprocess.run(
            command, capture_output=True, text=True, env=shim_environment(plan), check=True
        )
        assert (done.stdout, done.stderr) == (said, "")
        found |= files_of(plan.parent)
        remove_traces(plan.parent)
    return found
