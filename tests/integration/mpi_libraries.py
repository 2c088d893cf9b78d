"""The three MPI libraries of the tests: the wheel `mpich`, and Debian's Open MPI and MPICH.

One mpi4py serves all three: its wheel holds an extension module for each ABI, and takes the
library that MPI4PY_MPIABI and MPI4PY_LIBMPI name.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

OPENMPI_ENV = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    # More ranks than cores: a rank that waits lets another run.
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl": "self,vader",
}


@dataclass(frozen=True, slots=True)
class Mpi:
    name: str
    launcher: str
    options: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    fortran: str = ""  # the compilers; the wheel has none for Fortran
    c: str = ""
    parallel_hdf5: str = ""

    def launch(self, ranks: int, *command: str | Path) -> list[str]:
        return [self.launcher, *self.options, "-n", str(ranks), *map(str, command)]

    def launch_python(self, ranks: int, *words: str | Path) -> list[str]:
        return self.launch(ranks, sys.executable, *words)


def wheel(_folder: Path) -> Mpi:
    launcher = Path(sys.executable).parent / "mpiexec"
    assert launcher.exists(), "pip install mpich mpi4py"
    return Mpi("wheel", str(launcher))


def debian_openmpi(_folder: Path) -> Mpi:
    return Mpi(
        "openmpi",
        found("mpirun.openmpi"),
        ("--oversubscribe",),
        {**OPENMPI_ENV, "MPI4PY_MPIABI": "openmpi"},
        fortran="mpif90.openmpi",
        c="mpicc.openmpi",
        parallel_hdf5="h5pcc.openmpi",
    )


def debian_mpich(folder: Path) -> Mpi:
    return Mpi(
        "mpich",
        found("mpirun.mpich"),
        env=mpi4py_on_debian_mpich(folder),
        fortran="mpif90.mpich",
        c="mpicc.mpich",
        parallel_hdf5="h5pcc.mpich",
    )


# Each takes a folder of its own.
LIBRARIES = {"wheel": wheel, "openmpi": debian_openmpi, "mpich": debian_mpich}


def mpi4py_on_debian_mpich(folder: Path) -> dict[str, str]:
    """Debian calls libmpi.so.12 libmpich.so.12: a link makes it what mpi4py looks for."""
    command = ["cc", "-print-file-name=libmpich.so.12"]
    library = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    assert Path(library).is_absolute(), "libmpich.so.12 is missing: apt install libmpich-dev"
    (folder / "libmpi.so.12").symlink_to(library)
    return {
        "MPI4PY_MPIABI": "mpich",
        "MPI4PY_LIBMPI": str(folder / "libmpi.so.12"),
        "LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":"),
    }


def found(program: str) -> str:
    path = shutil.which(program)
    assert path, f"{program} is missing: apt install openmpi-bin mpich"
    return path
