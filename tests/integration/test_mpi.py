"""MPI jobs run the same with iez, and their files get the planned layouts.

Three MPI libraries; POSIX, MPI-IO and HDF5; Python, C and Fortran. `--full` adds every combination
of the kernels. A missing library is a failure, not a skip.
"""

import itertools
import subprocess
from pathlib import Path

import pytest
from job_compare import Outcomes, assert_same_and_placed
from mpi_libraries import LIBRARIES, Mpi

pytestmark = pytest.mark.mpi

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
EXAMPLES = HERE.parent.parent / "examples"
RANKS = 2
OSTS = [3, 1, 7, 0]

IOR = ["--block", "64K", "--transfer", "32K", "--segments", "2"]
HACC = ["--particles", "1000", "--header", "64K"]
KERNELS = {
    "ior": ("ior_like.py", IOR, {"fpp": "testFile.#", "ssf": "testFile"}),
    "hacc": ("hacc_like.py", HACC, dict.fromkeys(("fpp", "ssf"), "restart-Part#-of-#.data")),
}
ALWAYS = {
    *itertools.product(LIBRARIES, ["ior"], ["mpiio"], ["fpp", "ssf"]),
    *itertools.product(LIBRARIES, ["hacc"], ["posix", "hdf5"], ["fpp"]),
    ("wheel", "ior", "posix", "ssf"),
    ("wheel", "ior", "hdf5", "ssf"),
    ("wheel", "hacc", "mpiio", "ssf"),
}
COMBINATIONS = [
    pytest.param(*c, marks=() if c in ALWAYS else pytest.mark.full, id="-".join(c))
    for c in itertools.product(LIBRARIES, KERNELS, ["posix", "mpiio", "hdf5"], ["fpp", "ssf"])
]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Mpi]:
    return {name: make(tmp_path_factory.mktemp(name)) for name, make in LIBRARIES.items()}


def compiled(source: str, compiler: str, folder: Path, *options: str) -> Path:
    program = folder / Path(source).stem
    command = [compiler, str(PROGRAMS / source), "-o", str(program), *options]
    subprocess.run(command, check=True, cwd=folder)
    return program


def assert_communicator(outcomes: Outcomes, size: int) -> None:
    """Rank 0 creates a shared file. Other ranks of Open MPI try locks on files of their own."""
    assert (0, size) in outcomes.communicators
    assert {s for _, s in outcomes.communicators} == {size}


@pytest.mark.parametrize(("library", "kernel", "api", "mode"), COMBINATIONS)
def test_kernels(
    libraries: dict[str, Mpi], tmp_path: Path, library: str, kernel: str, api: str, mode: str
) -> None:
    mpi = libraries[library]
    script, options, names = KERNELS[kernel]
    shared = ["--ssf"] if mode == "ssf" else []  # a file per process is the default
    words = [EXAMPLES / script, *options, "--api", api, *shared, "--out"]
    outcomes = assert_same_and_placed(
        tmp_path,
        lambda data: mpi.launch_python(RANKS, *words, data),
        {names[mode]: OSTS},
        mpi.env,
    )
    files = RANKS if mode == "fpp" else 1
    assert outcomes.placed == files
    assert outcomes.placed_by_mpiio == (files if api == "mpiio" else 0)
    assert outcomes.placed_by_hdf5 == (files if api == "hdf5" else 0)
    if api == "mpiio":
        assert_communicator(outcomes, 1 if mode == "fpp" else RANKS)


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
@pytest.mark.parametrize(
    "source", ["mpiio_c.c", "mpiio_mpif.f90", "mpiio_use_mpi.f90", "mpiio_f08.f90"]
)
def test_mpiio_programs(
    libraries: dict[str, Mpi], tmp_path: Path, library: str, source: str
) -> None:
    mpi = libraries[library]
    program = compiled(source, mpi.c if source.endswith(".c") else mpi.fortran, tmp_path)
    outcomes = assert_same_and_placed(
        tmp_path,
        lambda data: mpi.launch(RANKS, program, data / "shared.dat"),
        {"shared.dat": OSTS},
        mpi.env,
    )
    assert (outcomes.placed, outcomes.placed_by_mpiio) == (1, 1)
    assert_communicator(outcomes, RANKS)


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_parallel_hdf5(libraries: dict[str, Mpi], tmp_path: Path, library: str) -> None:
    mpi = libraries[library]
    program = compiled("hdf5_parallel.c", mpi.parallel_hdf5, tmp_path, "-shlib")
    outcomes = assert_same_and_placed(
        tmp_path,
        lambda data: mpi.launch(RANKS, program, data / "rows.h5"),
        {"rows.h5": OSTS},
        mpi.env,
    )
    assert (outcomes.placed, outcomes.placed_by_hdf5) == (1, 1)
    assert_communicator(outcomes, RANKS)


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_serial_and_parallel_hdf5_in_one_program(
    libraries: dict[str, Mpi], tmp_path: Path, library: str
) -> None:
    mpi = libraries[library]
    user = tmp_path / "libuser.so"
    source = str(PROGRAMS / "hdf5_serial_user.c")
    subprocess.run(
        ["h5cc", "-shlib", "-shared", "-fPIC", source, "-o", str(user)], check=True, cwd=tmp_path
    )
    program = compiled(
        "hdf5_serial_and_parallel.c", mpi.parallel_hdf5, tmp_path, "-shlib", str(user)
    )
    outcomes = assert_same_and_placed(
        tmp_path,
        lambda data: mpi.launch(RANKS, program, data / "parallel.h5", data / "serial.h5"),
        {"parallel.h5": OSTS, "serial.h5": [2]},
        mpi.env,
    )
    assert outcomes.placed_by_hdf5 == 2


@pytest.mark.parametrize("library", ["openmpi", "mpich"])
@pytest.mark.parametrize("how", ["create", "exclusive"])
def test_eight_ranks_create_one_file_at_once(
    libraries: dict[str, Mpi], tmp_path: Path, library: str, how: str
) -> None:
    mpi = libraries[library]
    program = compiled("race.c", mpi.c, tmp_path)
    rounds = 30
    outcomes = assert_same_and_placed(
        tmp_path,
        lambda data: mpi.launch(8, program, how, data, str(rounds)),
        {"shared.#": OSTS},
        mpi.env,
    )
    assert outcomes.placed <= rounds
