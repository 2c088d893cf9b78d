"""Runs one case program in a fresh directory and takes down all that can be seen of it.

The directory has the same path in every run, so that transcripts can be compared as they are.
"""

import difflib
import errno
import fnmatch
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from iez_common._core import ffi, lib

CASES = Path(__file__).parent / "cases"
XATTR = "user.iez.lov"
COMPILE = [
    "gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-U_FORTIFY_SOURCE", "-pthread",
    "-Wall", "-Wextra", "-Werror", "-Wno-nonnull", "-Wno-format-truncation",
]  # fmt: skip
TIMEOUT_S = 240
_CASE = re.compile(r'^CASE\((\w+),\s*((?:"[^"]*"\s*)+)\)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    """One CASE() of a file."""

    source: Path
    name: str
    placed: tuple[str, ...]  # patterns of the files that a plan must lay out; ! excludes

    @property
    def id(self) -> str:
        return f"{self.source.stem}-{self.name}"

    def expects_layout(self, name: str) -> bool:
        takes = [p for p in self.placed if not p.startswith("!")]
        leaves = [p[1:] for p in self.placed if p.startswith("!")]
        return any(fnmatch.fnmatchcase(name, p) for p in takes) and not any(
            fnmatch.fnmatchcase(name, p) for p in leaves
        )


@dataclass(frozen=True, slots=True)
class Seen:
    """What a run left to compare."""

    status: int
    stdout: str
    stderr: str
    tree: tuple[str, ...]


def difference(plain: Seen, seen: Seen) -> str:
    """The lines that differ, for a failed test to show."""

    def lines(one: Seen) -> list[str]:
        return [
            f"status {one.status}",
            *one.stdout.splitlines(),
            *one.stderr.splitlines(),
            *one.tree,
        ]

    found = difflib.unified_diff(lines(plain), lines(seen), "plain", "with iez", lineterm="", n=1)
    return "\n".join(found)[:4000]


def cases_of(source: Path) -> list[Case]:
    found = []
    for name, strings in _CASE.findall(source.read_text()):
        patterns = "".join(re.findall(r'"([^"]*)"', strings)).split()
        found.append(Case(source, name, tuple(patterns)))
    return found


def all_cases() -> list[Case]:
    return [case for source in sorted(CASES.glob("*.c")) for case in cases_of(source)]


def compile_case(source: Path, folder: Path, *options: str) -> Path:
    program = folder / source.stem
    if not program.exists():
        subprocess.run([*COMPILE, str(source), "-o", str(program), *options], check=True)
    return program


def run_case(program: Path, name: str, work: Path, environ: Mapping[str, str]) -> Seen:
    """Runs the case in `work`, which is made anew."""
    remove(work)
    work.mkdir(parents=True)
    work.chmod(0o755)
    done = subprocess.run(
        [str(program), name],
        cwd=work,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return Seen(
        done.returncode,
        done.stdout.decode(errors="surrogateescape"),
        done.stderr.decode(errors="surrogateescape"),
        tuple(_tree(work)),
    )


def remove(work: Path) -> None:
    """Also directories that their owner may not enter."""
    for folder, names, _ in os.walk(work):
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(work, ignore_errors=True)
    if work.exists():
        subprocess.run(["rm", "-rf", "--", str(work)], check=True)


def _tree(work: Path) -> list[str]:
    """A line for each file: name, mode, owner, links, size, content."""
    return sorted(_line(path, work) for path in work.rglob("*"))


def _name(path: Path, work: Path) -> str:
    return os.fsencode(path.relative_to(work)).decode(errors="backslashreplace")


def _line(path: Path, work: Path) -> str:
    st = path.lstat()
    content = ""
    if stat.S_ISLNK(st.st_mode):
        content = str(path.readlink())
    elif stat.S_ISREG(st.st_mode) and os.access(path, os.R_OK):
        content = path.read_bytes()[:4096].hex()
    size = 0 if stat.S_ISDIR(st.st_mode) else st.st_size
    return (
        f"{_name(path, work)} {st.st_mode:o} {st.st_uid}:{st.st_gid} {st.st_nlink} {size} {content}"
    )


def laid_out(work: Path, xattr: str = XATTR) -> dict[str, bytes]:
    """The regular files below `work` that carry a layout. May change their modes."""
    found = {}
    for path in work.rglob("*"):
        if not path.is_file() or path.is_symlink():
            continue
        if not os.access(path, os.R_OK):
            path.chmod(0o600)
        try:
            found[_name(path, work)] = os.getxattr(path, xattr)
        except OSError as error:
            if error.errno != errno.ENODATA:
                raise
    return found


def regular_files(work: Path) -> set[str]:
    return {
        _name(path, work) for path in work.rglob("*") if path.is_file() and not path.is_symlink()
    }


def patch_plan(plan: Path, change: Callable[[bytearray, object], None]) -> Path:
    """Changes a plan's bytes: change(image, header). The header's checksum is made good again."""
    image = bytearray(plan.read_bytes())
    header = ffi.from_buffer("struct iez_plan_header *", image)
    change(image, header)
    header.header_checksum = lib.iez_plan_header_hash(header)
    ffi.release(header)
    plan.write_bytes(image)
    return plan


def section(image: bytearray, header: object, name: str, element: str) -> object:
    """A section of a plan as an array of structs."""
    at = getattr(header, name).offset
    return ffi.cast(f"{element} *", ffi.from_buffer(image) + at)
