"""Writes with h5py and netCDF4 in one process; each wheel brings an HDF5 of its own.

Arguments: the module to import first, the directory.
"""

import importlib
import sys
from pathlib import Path

importlib.import_module(sys.argv[1])

import h5py  # noqa: E402
import netCDF4  # noqa: E402

folder = Path(sys.argv[2])
for step in range(2):
    with h5py.File(folder / f"h5py_{step}.h5", "w") as file:
        file["values"] = [step, 2, 3]
    with netCDF4.Dataset(folder / f"netcdf_{step}.nc", "w") as data:
        data.createDimension("x", 3)
        data.createVariable("values", "f8", ("x",))[:] = step
    with h5py.File(folder / f"h5py_{step}.h5") as file:
        print("h5py", file["values"][:].tolist())
    with netCDF4.Dataset(folder / f"netcdf_{step}.nc") as data:
        print("netCDF4", data["values"][:].tolist())
