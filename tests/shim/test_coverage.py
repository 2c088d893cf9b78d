"""Every wrapped call is in the trace, exactly; what is not seen is known."""

import re
from pathlib import Path

import pytest
from coverage_calls import Call, Runner, assert_counted, assert_recorded, seen_calls, unseen_calls
from coverage_libraries import HDF5_BYTES, LIBRARIES, RANK_BYTES, RANKS, run_hdf5, run_mpi
from coverage_page import page
from differential import difference
from test_symbols import hooks

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory, shim_library: Path) -> Runner:
    return Runner(tmp_path_factory.mktemp("coverage"))


@pytest.mark.parametrize("call", [*seen_calls(), *unseen_calls()], ids=lambda call: call.id)
def test_a_call_is_counted_as_it_says(call: Call, runner: Runner) -> None:
    result = runner.run(call)
    assert result.plain.status in (0, 7), result.plain
    assert_counted(result.counted, call.expected)
    assert_counted(result.recorded, call.expected)
    assert_recorded(result.recorded, call.expected)
    if not call.expected.file.count("?"):
        assert result.traced == result.plain, difference(result.plain, result.traced)
        assert result.with_events == result.plain, difference(result.plain, result.with_events)


def test_every_hook_of_libc_is_called_by_name() -> None:
    """MPI-IO and HDF5 have their own programs."""
    called = {call.name for call in seen_calls()}
    others = {name for name in hooks() if name.lower().startswith(("mpi_", "h5"))}
    assert hooks() - others - called == set()


@pytest.mark.mpi
@pytest.mark.parametrize("library", LIBRARIES)
def test_every_form_of_mpi_writes_is_counted(library: str, tmp_path: Path) -> None:
    files = run_mpi(library, tmp_path / "mpi")
    forms = {name for name in hooks() if re.match(r"MPI_File_i?write", name)}
    if library == "openmpi":  # MPI 3
        forms = {name for name in forms if not name.endswith("_c")}
    assert forms <= files.keys()
    for name in {*forms, "MPI_File_close"}:
        ranks = files[name]
        assert [file.layer_bytes["MPI-IO"] for file in ranks] == [RANK_BYTES] * RANKS, name
        assert sum(file.bytes for file in ranks) == RANKS * RANK_BYTES, name
        assert max(file.write_end for file in ranks) == RANKS * RANK_BYTES, name
        assert {file.size_bytes for file in ranks} == {RANKS * RANK_BYTES, None}, name
        assert all("MPI-IO" in file.apis for file in ranks), name
        assert {file.comm for file in ranks} == {(rank, RANKS) for rank in range(RANKS)}, name
    assert [file.set_bytes for file in files["MPI_File_set_size"]] == [12345] * RANKS
    opened = files["MPI_File_open"]
    assert [(file.bytes, file.layer_bytes["MPI-IO"]) for file in opened] == [(0, 0)] * RANKS
    assert sum(file.creates for file in opened) == 1


@pytest.mark.mpi
@pytest.mark.parametrize("library", ["openmpi", "mpich"])
def test_opens_of_fortran_are_known(library: str, tmp_path: Path) -> None:
    files = run_mpi(library, tmp_path / "mpi", "fortran.c")
    names = {name for name in hooks() if name.lower().startswith("mpi_file_open")}
    assert len(names - {"MPI_File_open"}) == 5
    for name in names - {"MPI_File_open"}:
        ranks = files[name]
        assert {file.comm for file in ranks} == {(rank, RANKS) for rank in range(RANKS)}, name
        assert all(file.apis == {"MPI-IO"} for file in ranks), name


@pytest.mark.mpi
def test_datasets_of_hdf5_are_counted(tmp_path: Path) -> None:
    files = run_hdf5(tmp_path / "hdf5")
    for name, expected in HDF5_BYTES.items():
        (file,) = files[name]
        assert file.layer_bytes["HDF5"] == expected
        assert file.apis == {"POSIX", "HDF5"}, name
        assert file.bytes >= max(expected, 1)
    (file,) = files["H5Dwrite"]
    assert file.size_bytes == (tmp_path / "hdf5" / "mock" / "work" / "H5Fopen").stat().st_size
    assert file.size_bytes >= file.write_end >= HDF5_BYTES["H5Dwrite"]


@pytest.mark.mpi
def test_the_page_of_what_is_seen_is_up_to_date(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tracing-coverage.md").read_text()
    assert page(tmp_path) == text, "scripts/docs-coverage > docs/tracing-coverage.md"
