"""What the trace says of a job's files is what the job did to them, and the job is none the worse.

The truth is known without iez: sizes of the files on disk, and the bytes that the kernels are told
to write. `--full` adds every combination of the kernels.
"""

import itertools
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from job_compare import BIN, TIMEOUT_S, read_files
from mpi_libraries import LIBRARIES, Mpi
from side_by_side import is_any_of
from traced_job import Record, Traced, iez_json, parse, run_both

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
EXAMPLES = HERE.parent.parent / "examples"
RANKS = 2

# Script, its options, and the bytes of a file that one rank and that all ranks write.
KERNELS = {
    "ior": ("ior_like.py", "--block 64K --transfer 32K --segments 2", 131072, 131072 * RANKS),
    "hacc": ("hacc_like.py", "--particles 1000 --header 64K", 103536, 65536 + 38000 * RANKS),
}
APIS = {"posix": ["POSIX"], "mpiio": ["POSIX", "MPI-IO"], "hdf5": ["POSIX", "HDF5"]}
ALWAYS = {
    *itertools.product(["wheel", "openmpi"], ["ior"], ["mpiio"], ["fpp", "ssf"]),
    ("wheel", "hacc", "posix", "fpp"),
    ("wheel", "hacc", "mpiio", "ssf"),
    ("wheel", "hacc", "hdf5", "fpp"),
    ("wheel", "ior", "posix", "ssf"),
    ("openmpi", "ior", "hdf5", "ssf"),
    ("openmpi", "hacc", "posix", "ssf"),
}
COMBINATIONS = [
    pytest.param(*c, marks=() if c in ALWAYS else pytest.mark.full, id="-".join(c))
    for c in itertools.product(["wheel", "openmpi", "mpich"], KERNELS, APIS, ["fpp", "ssf"])
]


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Mpi]:
    return {name: make(tmp_path_factory.mktemp(name)) for name, make in LIBRARIES.items()}


@pytest.mark.mpi
@pytest.mark.parametrize(("library", "kernel", "api", "mode"), COMBINATIONS)
def test_kernels(
    libraries: dict[str, Mpi], tmp_path: Path, library: str, kernel: str, api: str, mode: str
) -> None:
    mpi = libraries[library]
    script, options, alone_bytes, shared_bytes = KERNELS[kernel]
    words = [EXAMPLES / script, *options.split(), "--api", api, f"--{mode}", "--out"]
    traced = run_both(tmp_path, lambda data: mpi.launch_python(RANKS, *words, data), mpi.env)
    shared = mode == "ssf"

    assert traced.dropped == 0
    assert traced.run["pattern"] == mode.upper()
    assert (traced.run["ranks"], traced.run["world_size"]) == (RANKS, RANKS)
    assert traced.files.keys() == traced.sizes().keys()
    assert len(traced.files) == (1 if shared else RANKS)
    for rank, (name, size_bytes) in enumerate(sorted(traced.sizes().items())):
        record = traced.files[name]
        data_bytes = shared_bytes if shared else alone_bytes
        assert record["api"] == APIS[api]
        assert record["pattern"] == mode.upper()
        assert record["ranks"] == (f"0-{RANKS - 1}" if shared else str(rank))
        if shared and api == "posix":  # whichever was first
            assert record["mpi_rank"] in range(RANKS)
        else:
            assert record["mpi_rank"] == (0 if shared else rank)
        assert record["size_bytes"] == size_bytes
        assert record["created"]
        assert record["posix_bytes"] == record["write_bytes"]
        assert record["mpiio_bytes"] == (data_bytes if api == "mpiio" else 0)
        assert record["hdf5_bytes"] == (data_bytes if api == "hdf5" else 0)
        if api == "hdf5":
            assert record["write_bytes"] >= data_bytes
        else:
            assert record["write_bytes"] == data_bytes == size_bytes
        assert_communicator(record, shared, api == "mpiio")


def assert_communicator(record: Record, shared: bool, by_mpiio: bool) -> None:
    name, size = ("world", RANKS) if shared else ("self", 1)
    told = (record["communicator"], record["communicator_size"])
    assert told == ((name, size) if by_mpiio else ("", 0))


@pytest.mark.mpi
def test_helper_files_of_open_mpi_do_not_count(libraries: dict[str, Mpi], tmp_path: Path) -> None:
    mpi = libraries["openmpi"]
    script, options, _, shared_bytes = KERNELS["ior"]
    words = [EXAMPLES / script, *options.split(), "--api", "mpiio", "--ssf", "--out"]
    traced = run_both(tmp_path, lambda data: mpi.launch_python(RANKS, *words, data), mpi.env)
    assert {f"testFile.locktest.{rank}" for rank in range(RANKS)} <= traced.helpers.keys()
    assert list(traced.files) == ["testFile"]
    assert traced.run["pattern"] == "SSF"
    totals = iez_json("show", str(tmp_path / "traces"))["totals"]
    assert totals["files"] == totals["written_files"] == 1
    assert totals["helper_files"] == len(traced.helpers)
    assert totals["write_bytes"] == shared_bytes


@pytest.mark.mpi
@pytest.mark.parametrize("library", ["wheel", "openmpi"])
def test_halves_of_a_job_have_a_communicator_each(
    libraries: dict[str, Mpi], tmp_path: Path, library: str
) -> None:
    mpi = libraries[library]
    program = PROGRAMS / "mpiio_halves.py"
    traced = run_both(tmp_path, lambda data: mpi.launch_python(4, program, data), mpi.env)
    assert sorted(traced.files) == ["half0.0", "half0.1", "half1.0", "half1.1"]
    assert traced.written() == traced.sizes()
    communicators = {name: record["communicator"] for name, record in traced.files.items()}
    assert communicators["half0.0"] == communicators["half0.1"]
    assert communicators["half1.0"] == communicators["half1.1"]
    assert communicators["half0.0"] != communicators["half1.0"]
    assert not {"", "world", "self"} & set(communicators.values())
    for name, record in traced.files.items():
        assert record["communicator_size"] == 2
        assert record["mpiio_bytes"] == 2 * 4096
        assert record["ranks"] == {"half0": "0,2", "half1": "1,3"}[name[:5]]
        assert record["pattern"] == "SSF"


@pytest.mark.mpi
@pytest.mark.parametrize("library", ["openmpi", "mpich"])
@pytest.mark.parametrize("source", ["mpiio_mpif.f90", "mpiio_use_mpi.f90", "mpiio_f08.f90"])
def test_fortran_programs(
    libraries: dict[str, Mpi], tmp_path: Path, library: str, source: str
) -> None:
    mpi = libraries[library]
    program = tmp_path / "program"
    compile_it = [mpi.fortran, str(PROGRAMS / source), "-o", str(program)]
    subprocess.run(compile_it, check=True, cwd=tmp_path)
    traced = run_both(
        tmp_path, lambda data: mpi.launch(RANKS, program, data / "shared.dat"), mpi.env
    )
    assert list(traced.files) == ["shared.dat"]
    record = traced.files["shared.dat"]
    part_bytes = 4 * 1024  # of each rank
    assert record["write_bytes"] == record["size_bytes"] == RANKS * part_bytes
    if library == "mpich" and source != "mpiio_f08.f90":  # which are made of C's functions
        assert record["mpiio_bytes"] == RANKS * part_bytes
    assert (record["api"], record["communicator"]) == (["POSIX", "MPI-IO"], "world")
    assert (record["mpi_rank"], record["created"], traced.dropped) == (0, True, 0)


@pytest.mark.mpi
@pytest.mark.parametrize("library", ["wheel", "openmpi"])
def test_writes_of_a_rank_that_is_killed_are_there(
    libraries: dict[str, Mpi], tmp_path: Path, library: str
) -> None:
    mpi = libraries[library]
    environ = os.environ | mpi.env | {"IEZ_STATE_DIR": str(tmp_path / "state")}
    front = {"plain": [], "trace": [BIN / "iez-run", "--trace-dir", tmp_path / "traces", "--mock"]}
    codes = {}
    for name, words in front.items():
        data = tmp_path / name
        data.mkdir()
        job = mpi.launch_python(4, PROGRAMS / "killed_rank.py", "2", data)
        command = list(map(str, [*words, data, *job] if words else job))
        done = subprocess.run(command, env=environ, capture_output=True, timeout=TIMEOUT_S)
        codes[name] = done.returncode
    assert codes["trace"] == codes["plain"] != 0
    assert read_files(tmp_path / "trace") == read_files(tmp_path / "plain")
    traced = parse(tmp_path / "traces", tmp_path / "trace")
    assert traced.written() == traced.sizes() == {f"part.{rank}": 100_000 for rank in range(4)}
    assert {record["writes"] for record in traced.files.values()} == {100}
    assert {record["ranks"] for record in traced.files.values()} == {"0", "1", "2", "3"}


# Programs without MPI: every file that they leave is there, with the bytes that it holds


def run_script(
    folder: Path,
    script: str,
    varying: Sequence[str] = (),
    removed_by_others: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> Traced:
    def job(data: Path) -> list[str]:
        return ["env", "-C", str(data), "bash", "-euc", script]

    traced = run_both(folder, job, env, varying)
    assert traced.dropped == 0
    there = {name for name, one in traced.files.items() if not one["unlinked"]}
    there = {name for name in there if not is_any_of(name, removed_by_others)}
    assert there == set(traced.sizes())
    for name, size_bytes in traced.sizes().items():
        assert traced.files[name]["size_bytes"] == size_bytes, name
        assert traced.files[name]["created"], name
    return traced


FROM_SCRATCH = {
    "cp": "seq 50000 >a; cp a b; cp --sparse=never a c; mkdir d; cp -t d a b",
    "dd": "dd status=none if=/dev/zero of=a bs=4k count=25; dd status=none if=a of=b bs=1000; "
    "dd status=none if=a of=c oflag=append; dd status=none if=a bs=3k >d",
    "tar": "mkdir d; seq 9999 >d/a; seq 99 >d/b; tar --mtime=@0 -cf d.tar d; mkdir e; "
    "tar -xf d.tar -C e",
    "bash": "echo a >a; { echo b; seq 999; } >b; exec 3>c; echo c >&3; seq 99 >&3; exec 3>&-; "
    "seq 9 >>d; printf d >>d; seq 99 | tee e >f; cat <<<word >g; : >empty; (seq 7; exec seq 8) >h",
    "gzip": "seq 50000 >a; gzip -nk a; gzip -dc a.gz >b",
    "sed and sort": "seq 9999 >a; sort -r a -o b; sed s/9/nine/ a >c; head -c 5000 a >d",
    "mv": "seq 9999 >a.tmp; mv a.tmp a; mkdir d; seq 99 >d/b; mv d/b d/c; mv d e; mv e/c e/d",
    "ln": "seq 999 >a; mkdir d; ln a d/b; seq 99 >c; ln c e; rm d/b e",
    "rsync": "mkdir a; seq 9999 >a/x; seq 99 >a/y; rsync -a a/ b",
}


@pytest.mark.parametrize("name", FROM_SCRATCH)
def test_programs_that_write_each_byte_once(tmp_path: Path, name: str) -> None:
    traced = run_script(tmp_path, FROM_SCRATCH[name])
    assert traced.written() == traced.sizes()


def test_a_renamed_file_has_its_last_name_and_tells_the_others(tmp_path: Path) -> None:
    traced = run_script(tmp_path, FROM_SCRATCH["mv"])
    assert traced.written() == traced.sizes()
    earlier = {name: record["renamed_from"] for name, record in traced.files.items()}
    names = {"a": ["a.tmp"], "e/d": ["d/b", "d/c", "e/c"]}
    assert earlier == {
        name: [str(traced.data / each) for each in before] for name, before in names.items()
    }


def test_python(tmp_path: Path) -> None:
    traced = run_script(tmp_path, f"{sys.executable} {PROGRAMS / 'python_writes.py'}")
    sizes, written = traced.sizes(), traced.written()
    assert written.pop("raw") == sizes.pop("raw") + len("overwritten")
    assert written == sizes
    assert traced.files["replaced"]["renamed_from"] == [str(traced.data / "replacing")]
    assert len(traced.files["from_temporary"]["renamed_from"]) == 1


def test_numpy(tmp_path: Path) -> None:
    traced = run_script(tmp_path, f"{sys.executable} {PROGRAMS / 'numpy_writes.py'}", ("*.npz",))
    sizes, written = traced.sizes(), traced.written()
    # The stores of a mapping are not seen: the size tells. The rest of `written` is the last byte,
    # by which numpy sets the size.
    assert (written.pop("memmap"), sizes.pop("memmap")) == (1, 320_000)
    assert traced.files["memmap"]["unseen_bytes"] == 319_999
    # zipfile goes back and fills in the headers of its members.
    assert written.pop("several.npz") >= sizes.pop("several.npz")
    assert written == sizes


def test_h5py_and_netcdf4(tmp_path: Path) -> None:
    program = PROGRAMS / "h5py_and_netcdf4.py"
    traced = run_script(tmp_path, f"{sys.executable} {program} h5py .")
    assert len(traced.files) == 4
    for name, size_bytes in traced.sizes().items():
        record = traced.files[name]
        assert {"POSIX", "HDF5"} <= set(record["api"])  # netCDF4 first looks by stdio
        assert record["posix_bytes"] == record["write_bytes"]
        assert record["hdf5_bytes"] == 3 * 8  # three numbers of 64 bits
        assert record["hdf5_bytes"] < record["write_bytes"]
        assert record["write_end"] <= size_bytes <= max(record["write_end"], record["set_bytes"])


@pytest.mark.parametrize("names_by", ["link", "rename"])
def test_git_clone(tmp_path: Path, names_by: str) -> None:
    person = {"NAME": "A", "EMAIL": "a@example.org", "DATE": "2026-01-01T00:00:00Z"}
    env = {f"GIT_{who}_{k}": v for who in ("AUTHOR", "COMMITTER") for k, v in person.items()}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "1"}
    env |= {"GIT_CONFIG_KEY_0": "core.createObject", "GIT_CONFIG_VALUE_0": names_by}
    script = """git init -q -b main from; cd from; seq 9999 >a; mkdir d; seq 99 >d/b
        git add .; git commit -qm one; cd ..; git clone -q --no-local from to"""
    varying = ["*/.git/index", "to/.git/config", "to/.git/logs/*"]
    traced = run_script(tmp_path, script, varying, ["to/.git/objects/pack/*.keep"], env)
    sizes, written = traced.sizes(), traced.written()
    assert {"to/a", "to/d/b", "to/.git/index"} <= sizes.keys()
    assert any(name.endswith(".pack") for name in sizes)
    # Files that git writes more than once under one name, or goes back in.
    for name in sizes:
        assert written[name] >= sizes[name], name
    same = [name for name in sizes if written[name] == sizes[name]]
    assert {"to/a", "to/d/b", "to/.git/index"} <= set(same)
