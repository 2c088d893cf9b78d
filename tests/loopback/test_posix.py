"""The loopback file system is a file system: every check of posix_*.py holds on it.

Each check first holds on a plain directory, so that it asks for nothing that Linux does not give.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import posix_attributes
import posix_data
import posix_directories
import posix_locks
import posix_mappings
import posix_names
import posix_opening
import posix_programs
import posix_renames
import posix_times
import pytest
from loopback_fixtures import Loopback
from posix_checks import CHECKS, KIB, MIB, Check, Place

from iez_common.layout import Component, Layout, plain

pytestmark = pytest.mark.fuse

MODULES = (
    posix_attributes, posix_data, posix_directories, posix_locks, posix_mappings, posix_names,
    posix_opening, posix_programs, posix_renames, posix_times,
)  # fmt: skip

STRIPED = plain(5, 64 * KIB)
COMPOSITE = Layout(
    (
        Component(1, 64 * KIB, extent_end_bytes=64 * KIB),
        Component(3, 64 * KIB, extent_end_bytes=MIB),
        Component(5, 256 * KIB),
    )
)


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to run all checks."""

    mmap: bool
    images: bool = False
    layout: Layout | None = None  # default of the directory
    takes_heavy: bool = False


VARIANTS = {
    "plain": Variant(mmap=False),
    "striped": Variant(mmap=False, layout=STRIPED, takes_heavy=True),
    "mapped": Variant(mmap=True, layout=STRIPED),
    "composite": Variant(mmap=True, layout=COMPOSITE),
    "images": Variant(mmap=True, images=True, layout=COMPOSITE, takes_heavy=True),
}


@pytest.fixture(scope="module")
def bases(
    loopback: Loopback, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Path]]:
    """A directory for each variant, on as few mounts as will do."""
    mounts = {
        (mmap, images): loopback(mmap=mmap, images=images, size="256M")
        for mmap, images in {(each.mmap, each.images) for each in VARIANTS.values()}
    }
    found = {"reference": tmp_path_factory.mktemp("reference")}
    for name, variant in VARIANTS.items():
        base = found[name] = mounts[variant.mmap, variant.images].mount / name
        base.mkdir()
        if variant.layout:
            os.setxattr(base, "lustre.lov", variant.layout.wire())
    yield found
    for mounted in mounts.values():
        mounted.down()


def _parameters() -> Iterator[object]:
    for check in CHECKS:
        yield pytest.param("reference", check, id=f"reference-{check.name}")
    for name, variant in VARIANTS.items():
        for check in CHECKS:
            if variant.takes_heavy or not check.is_heavy:
                yield pytest.param(name, check, id=f"{name}-{check.name}")


@pytest.mark.parametrize(("variant", "check"), list(_parameters()))
def test_check_holds(
    variant: str, check: Check, bases: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    if check.needs_root and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    root = bases[variant] / check.name
    root.mkdir()
    monkeypatch.chdir(root)
    check.run(Place(root, variant == "reference" or VARIANTS[variant].mmap))
    os.chdir("/")
    shutil.rmtree(root)
    assert not root.exists()
