"""Random operations on a striped file give what they give in memory, over every kind of layout."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback_fixtures import Loopback, Mounted
from lustre_calls import compile_program
from posix_checks import KIB, MIB

from iez_common.layout import Component, Layout, plain

pytestmark = pytest.mark.fuse

STEPS = 100_000  # over all runs of a normal session; of each with --full
MAX_BYTES = 5 * MIB // 2
TIMEOUT_S = 600

LAYOUTS = {
    "one": plain(1, 64 * KIB),
    "five": plain(5, 64 * KIB),
    "overstriped": Layout(
        (
            Component(2, 64 * KIB, extent_end_bytes=256 * KIB),
            Component(0, 128 * KIB, osts=(0, 3, 0, 3, 1, 0), overstripe=True, extent_end_bytes=MIB),
            Component(5, 192 * KIB),
        )
    ),
    "mdt": Layout((Component(mdt=True, extent_end_bytes=128 * KIB), Component(3, 64 * KIB))),
}
MOUNTS = {
    "direct": {"mmap": False},
    "mapped": {"mmap": True},
    "images": {"mmap": True, "images": True},
}
RUNS = [(mount, layout) for mount in ("direct", "mapped") for layout in LAYOUTS] + [
    ("images", "five"),
    ("images", "overstriped"),
]


@pytest.fixture(scope="module")
def fsx_like(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_program("fsx_like", tmp_path_factory.mktemp("fsx"))


@pytest.fixture(scope="module")
def mounts(loopback: Loopback) -> Iterator[dict[str, Mounted]]:
    found = {name: loopback(size="64M", **options) for name, options in MOUNTS.items()}
    yield found
    for mounted in found.values():
        mounted.down()


def run(program: Path, path: Path, seed: int, steps: int, *words: str) -> None:
    command = [program, path, seed, steps, MAX_BYTES, *words]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"


def run_in(mounted: Mounted, layout: str, program: Path, seed: int, steps: int) -> None:
    folder = mounted.mount / f"{layout}-{seed}"
    folder.mkdir()
    os.setxattr(folder, "lustre.lov", LAYOUTS[layout].wire())
    words = ["map"] if mounted.config.mmap else []
    run(program, folder / "file", seed, steps, *words)
    (folder / "file").unlink()


def test_reference_is_right_about_a_plain_file(fsx_like: Path, tmp_path: Path) -> None:
    run(fsx_like, tmp_path / "direct", 1, 3000)
    run(fsx_like, tmp_path / "mapped", 2, 3000, "map")


@pytest.mark.parametrize(("mount", "layout"), RUNS)
def test_random_operations_keep_the_content(
    mount: str, layout: str, mounts: dict[str, Mounted], fsx_like: Path
) -> None:
    seed = 1 + RUNS.index((mount, layout))
    run_in(mounts[mount], layout, fsx_like, seed, STEPS // len(RUNS))


@pytest.mark.full
@pytest.mark.parametrize(("mount", "layout"), RUNS)
def test_many_random_operations_keep_the_content(
    mount: str, layout: str, mounts: dict[str, Mounted], fsx_like: Path
) -> None:
    seed = 100 + RUNS.index((mount, layout))
    run_in(mounts[mount], layout, fsx_like, seed, STEPS)


def test_random_operations_on_several_files_at_once(
    mounts: dict[str, Mounted], fsx_like: Path
) -> None:
    """Files of one file system do not get into each other's way."""
    base = mounts["direct"].mount / "several"
    base.mkdir()
    os.setxattr(base, "lustre.lov", LAYOUTS["five"].wire())
    commands = [
        [str(fsx_like), str(base / f"file{seed}"), str(seed), "1500", str(MAX_BYTES)]
        for seed in (31, 32, 33, 34)
    ]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE) for command in commands]
    for child in started:
        output, _ = child.communicate(timeout=TIMEOUT_S)
        assert child.returncode == 0, output.decode()
