"""CPython's own tests of files and processes give the same results with the library.

The interpreter is Debian's, whose package of tests is libpythonX.Y-testsuite. Both sides run at
the same time, each in a directory of its own, and are compared test by test.
"""

import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from side_by_side import SideBySide

PYTHON = "/usr/bin/python3"
MODULES = ["test_os", "test_tempfile", "test_shutil", "test_subprocess", "test_posix"]
MORE_MODULES = [
    *("test_fileio", "test_io", "test_pathlib", "test_tarfile", "test_zipfile", "test_mmap"),
    *("test_mailbox", "test_dbm", "test_glob", "test_fcntl", "test_signal", "test_gzip"),
    *("test_logging", "test_largefile", "test_file"),
]


def results(folder: Path, module: str, with_shim: bool) -> tuple[dict[str, str], int]:
    """How each test of a module ended, and how many files were placed."""
    side = SideBySide(folder, timeout_s=900)
    report = folder / "report.xml"
    tests = ["-m", "test", "--junit-xml", report, "--tempdir", side.mock / "tmp", module]
    done = side.run([PYTHON, *tests], with_shim)
    assert report.exists(), done.stdout.decode() + done.stderr.decode()
    ends = {}
    for case in ElementTree.parse(report).iter("testcase"):
        troubles = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        ends[case.attrib["name"]] = ",".join(troubles) or "passed"
    return ends, side.outcome("IEZ_PLACED")


def differing(module: str, folder: Path) -> dict[str, tuple[str | None, str | None]]:
    """The tests that ended otherwise with the library than without it, and how."""
    for name in ("plain", "shimmed"):
        (folder / name).mkdir(parents=True)
    with ThreadPoolExecutor(2) as pool:
        plain_run = pool.submit(results, folder / "plain", module, False)
        shimmed_run = pool.submit(results, folder / "shimmed", module, True)
    (plain, _), (shimmed, placed) = plain_run.result(), shimmed_run.result()
    assert plain
    assert placed > 0
    names = plain.keys() | shimmed.keys()
    ends = {name: (plain.get(name), shimmed.get(name)) for name in names}
    return {name: pair for name, pair in ends.items() if pair[0] != pair[1]}


def compare(module: str, folder: Path) -> None:
    """Some of these tests wait for fixed times: what differs must do so a second time."""
    first = differing(module, folder / "first")
    second = differing(module, folder / "second") if first else {}
    assert {name: pair for name, pair in second.items() if name in first} == {}


@pytest.mark.parametrize("module", MODULES)
def test_module_passes_and_fails_as_without(module: str, tmp_path: Path) -> None:
    compare(module, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("module", MORE_MODULES)
def test_further_module_passes_and_fails_as_without(module: str, tmp_path: Path) -> None:
    compare(module, tmp_path)
