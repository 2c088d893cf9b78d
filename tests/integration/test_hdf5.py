"""HDF5 from Python without MPI: the wheels of h5py and netCDF4, alone and in one process."""

import sys
from pathlib import Path

import pytest
from job_compare import assert_same_and_placed

PROGRAM = Path(__file__).parent / "programs" / "h5py_and_netcdf4.py"


@pytest.mark.parametrize("first", ["h5py", "netCDF4"])
def test_h5py_and_netcdf4_in_one_process(tmp_path: Path, first: str) -> None:
    outcomes = assert_same_and_placed(
        tmp_path,
        lambda data: [sys.executable, str(PROGRAM), first, str(data)],
        {"h5py_#.h5": [4, 2], "netcdf_#.nc": [0]},
    )
    assert (outcomes.placed, outcomes.placed_by_hdf5) == (4, 4)
