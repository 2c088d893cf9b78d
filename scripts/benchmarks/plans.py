"""Plans: the bench's plan of 10^6 paths and 10^4 templates, and the same paths as a table."""

import subprocess
import sys
from pathlib import Path

from iez_common._core import ffi, lib

PATHS = 1_000_000  # KEY_COUNT of keys.h
RUNS = 10_000
COMMAND = Path(sys.executable).with_name("iez")


def write_plan(directory: Path, plan: Path, paths: int = PATHS, runs: int = RUNS) -> None:
    """Builds the plan with the product's own command. `directory` is its mock file system."""
    directory.mkdir(exist_ok=True)
    source = plan.with_suffix(".csv")
    with source.open("w") as file:
        file.write("path,stripe_count,stripe_size,ost_list,pool\n")
        for number in range(paths):
            file.write(f"{path(directory, number)},4,4M,0 1 2 3,\n")
        for run in range(runs):
            file.write(f"{directory}/user/run{run:04}/out/slab_#_of_#.h5,2,1M,4 5,\n")
    command = [COMMAND, "plan", "build", "--from", source, "-o", plan, "--mock", directory]
    subprocess.run(command, check=True, stdout=sys.stderr)
    source.unlink()


def with_events(plan: Path) -> Path:
    """A copy of the plan that has each write recorded, not only counted."""
    image = bytearray(plan.read_bytes())
    header = ffi.from_buffer("struct iez_plan_header *", image)
    header.trace_events = 1
    header.header_checksum = lib.iez_plan_header_hash(header)
    ffi.release(header)
    copy = plan.with_name(f"{plan.name}-with-events")
    copy.write_bytes(image)
    return copy


def write_table(directory: Path, table: Path) -> None:
    """The paths and layouts for MariaDB's LOAD DATA."""
    with table.open("w") as file:
        for number in range(PATHS):
            file.write(f"{path(directory, number)},4,4194304,0 1 2 3\n")


def path(directory: Path, number: int) -> str:
    return f"{directory}/user/run{number // 1000:04}/out/ckpt_{number:09}.h5"
