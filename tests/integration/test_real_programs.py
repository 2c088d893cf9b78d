"""Real programs do the same with the library as without it, where all their files are placed.

Each case is a script in scripts/. Comments at its head tell what cannot be compared:
`# varying: GLOB…` names files whose contents differ from run to run, `# unplaced: GLOB…` files
that get no layout because of how they are created. The scripts need the Debian packages that
scripts/test installs: a program that is missing is a failure.
"""

import shutil
from pathlib import Path

import pytest
from side_by_side import SideBySide, without_layout

SCRIPTS = {path.stem: path for path in sorted((Path(__file__).parent / "scripts").glob("*.sh"))}
SMOKE = ["bash_redirections", "coreutils_copy", "coreutils_mktemp", "perl", "python"]
REST = [name for name in SCRIPTS if name not in SMOKE]
ALL = [*SMOKE, *(pytest.param(name, marks=pytest.mark.full) for name in REST)]


def globs(script: Path, what: str) -> list[str]:
    """The patterns of the comments `# WHAT: GLOB…` at the head of a script."""
    mark = f"# {what}: "
    lines = [line for line in script.read_text().splitlines() if line.startswith(mark)]
    return [glob for line in lines for glob in line.removeprefix(mark).split()]


def compare(name: str, side_by_side: SideBySide) -> None:
    script = SCRIPTS[name]
    result = side_by_side.compare(
        ["bash", "-eu", script], globs(script, "varying"), globs(script, "unplaced")
    )
    assert result.status == 0, result.stderr.decode()
    assert any(entry.kind == "-" for entry in result.tree.values())


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_does_the_same(name: str, tmp_path: Path) -> None:
    side_by_side = SideBySide(tmp_path)
    compare(name, side_by_side)
    assert side_by_side.outcome("IEZ_PLACED") > 0


def test_files_with_contents_and_targets_of_dangling_links_get_no_layout(tmp_path: Path) -> None:
    unpreloaded = "env -u LD_PRELOAD sh -c 'echo old >appended; echo old >truncated'"
    script = f"{unpreloaded}; echo >>appended; echo >truncated; ln -s target link; echo >link"
    side_by_side = SideBySide(tmp_path)
    assert side_by_side.compare(["bash", "-c", script], unplaced=["*"]).status == 0
    assert without_layout(side_by_side.mock) == ["appended", "target", "truncated"]


@pytest.mark.parametrize("name", ALL)
def test_script_does_the_same_when_symbols_are_bound_at_start(name: str, tmp_path: Path) -> None:
    compare(name, SideBySide(tmp_path, env={"LD_BIND_NOW": "1"}))


@pytest.mark.parametrize("name", ALL)
def test_script_does_the_same_under_iez_run(name: str, tmp_path: Path) -> None:
    compare(name, SideBySide(tmp_path, by_iez_run=True))


@pytest.mark.parametrize("order", ["before", "after"])
@pytest.mark.parametrize("other", ["libjemalloc.so.2", "libeatmydata.so"])
@pytest.mark.parametrize("name", ["python", "coreutils_copy"])
def test_script_does_the_same_beside_another_preload(
    name: str, other: str, order: str, tmp_path: Path
) -> None:
    side_by_side = SideBySide(tmp_path)
    setattr(side_by_side, f"preload_{order}", [other])
    compare(name, side_by_side)


def on_path(*names: str) -> str:
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip(f"{names[0]} is not on PATH")
    return found


BENCHMARKS = {
    "ior_file_per_process": (("ior",), "-a POSIX -F -w -r -k -e -b 1m -t 256k -o {mock}/f"),
    "ior_shared_file": (("ior",), "-a POSIX -w -r -k -e -b 1m -t 256k -o {mock}/f"),
    "ior_mpiio": (("ior",), "-a MPIIO -w -r -k -b 1m -t 256k -o {mock}/f"),
    "hacc_io": (("hacc_io", "HACC_IO", "hacc-io"), "10000 {mock}/part"),
}


@pytest.mark.parametrize("names, arguments", BENCHMARKS.values(), ids=BENCHMARKS.keys())
def test_real_benchmark_writes_the_same_files(
    names: tuple[str, ...], arguments: str, tmp_path: Path
) -> None:
    side_by_side = SideBySide(tmp_path)
    command = [on_path(*names), *arguments.format(mock=side_by_side.mock).split()]
    # They print times, and IOR fills its buffers with them.
    plain, shimmed = (side_by_side.run(command, shim, ["*"]) for shim in (False, True))
    assert (shimmed.status, shimmed.tree) == (plain.status, plain.tree)
    assert plain.status == 0, plain.stderr.decode()
    assert side_by_side.outcome("IEZ_PLACED") > 0
