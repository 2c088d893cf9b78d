"""Runs a program without and with the preloaded library, in the same directory, and compares.

The directory is a mock of Lustre and the plan takes everything below it, so every file that the
program creates there is placed. Both runs start from the same empty directory at the same path:
whatever they print can be compared as it is.
"""

import fnmatch
import hashlib
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import iez_client
from iez_common._core import ffi, lib

SHIM = Path(iez_client.__file__).parent / "libiez_shim.so"
IEZ = Path(sys.executable).parent / "iez"
IEZ_RUN = Path(sys.executable).parent / "iez-run"
PROGRAMS = Path(__file__).parent / "programs"
LAYOUT_XATTR = "user.iez.lov"


def write_plan(mock: Path, plan: Path) -> None:
    """A plan for everything below `mock`: two stripes of 1 MiB on OST 0 and 1."""
    rows = plan.with_suffix(".csv")
    rows.write_text(f'path,stripe_count,stripe_size,ost_list,pool\n{mock}/**,2,1M,"0 1",\n')
    command = [IEZ, "plan", "build", "--from", rows, "-o", plan, "--mock", mock]
    subprocess.run(command, check=True, capture_output=True)


@dataclass(frozen=True, slots=True)
class Entry:
    """What is compared of one name in a tree."""

    kind: str
    mode: str
    links: int = 0
    size: int = 0
    content: str = ""  # hash of a file's bytes, target of a link, number of a device
    holes: tuple[int, ...] = ()
    xattrs: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """Everything that a run left behind; equal for equal runs."""

    status: int
    stdout: bytes
    stderr: bytes
    tree: dict[str, Entry]


def differences(plain: Result, shimmed: Result) -> list[str]:
    """What differs between two runs, a line each."""
    found = [
        f"{what}: {without!r}, with the library {with_it!r}"
        for what, without, with_it in (
            ("exit status", plain.status, shimmed.status),
            ("stdout", plain.stdout, shimmed.stdout),
            ("stderr", plain.stderr, shimmed.stderr),
        )
        if without != with_it
    ]
    for name in sorted(plain.tree.keys() | shimmed.tree.keys()):
        without, with_it = plain.tree.get(name), shimmed.tree.get(name)
        if without != with_it:
            found.append(f"{name}: {without}, with the library {with_it}")
    return found


def data_extents(fd: int, size: int) -> tuple[int, ...]:
    """Starts and ends of the parts of a file that are not holes."""
    edges: list[int] = []
    at = 0
    while at < size:
        try:
            start = os.lseek(fd, at, os.SEEK_DATA)
        except OSError:  # nothing but a hole follows
            break
        at = os.lseek(fd, start, os.SEEK_HOLE)
        edges += [start, at]
    return tuple(edges)


def describe(path: Path, varying: bool) -> Entry:
    status = path.lstat()
    kind, mode = stat.filemode(status.st_mode)[0], oct(stat.S_IMODE(status.st_mode))
    if kind == "l":
        return Entry(kind, mode, status.st_nlink, 0, str(path.readlink()))
    if kind == "d":
        return Entry(kind, mode)
    if kind != "-":
        return Entry(kind, mode, status.st_nlink, 0, str(status.st_rdev))
    if varying:
        return Entry(kind, mode, status.st_nlink)
    if not os.access(path, os.R_OK):
        path.chmod(0o600)
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
        holes = data_extents(file.fileno(), status.st_size)
    names = [name for name in os.listxattr(path) if name != LAYOUT_XATTR]
    xattrs = tuple((name, os.getxattr(path, name)) for name in sorted(names))
    return Entry(kind, mode, status.st_nlink, status.st_size, content, holes, xattrs)


def is_any_of(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def snapshot(folder: Path, varying: Sequence[str]) -> dict[str, Entry]:
    tree = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        tree[name] = describe(path, is_any_of(name, varying))
    return tree


def without_layout(folder: Path) -> list[str]:
    """The regular files below a directory that were not placed."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and LAYOUT_XATTR not in os.listxattr(path)
    ]


@dataclass(slots=True)
class SideBySide:
    """One place to run programs in, twice. `home` outlives the runs, `mock` does not."""

    home: Path
    env: dict[str, str] = field(default_factory=dict)  # for both sides
    preload_before: Sequence[Path | str] = ()  # on both sides, ahead of the library
    preload_after: Sequence[Path | str] = ()  # on both sides, behind the library
    by_iez_run: bool = False  # instead of setting the variables by hand
    timeout_s: int = 120

    @property
    def mock(self) -> Path:
        return self.home / "mock"

    @property
    def plan(self) -> Path:
        return self.home / "plan" / "plan"

    def _environment(self, with_shim: bool) -> dict[str, str]:
        by_hand = with_shim and not self.by_iez_run
        preload = [*self.preload_before, *([SHIM] if by_hand else []), *self.preload_after]
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.mock / "home"),
            "TMPDIR": str(self.mock / "tmp"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "LD_PRELOAD": ":".join(map(str, preload)),
            **self.env,
        }
        if by_hand:
            env["IEZ_PLAN"] = str(self.plan)
        return {name: value for name, value in env.items() if value}

    def _clear(self) -> None:
        shutil.rmtree(self.mock, ignore_errors=True)
        shutil.rmtree(self.plan.parent, ignore_errors=True)
        for folder in (self.plan.parent, self.mock / "home", self.mock / "tmp"):
            folder.mkdir(parents=True)

    def run(
        self,
        command: Sequence[str | Path],
        with_shim: bool,
        varying: Sequence[str] = (),
    ) -> Result:
        self._clear()
        if with_shim:
            write_plan(self.mock, self.plan)
        if with_shim and self.by_iez_run:
            command = [IEZ_RUN, "-q", "--mock", self.mock, "--plan", self.plan, *command]
        done = subprocess.run(
            command,
            cwd=self.mock,
            env=self._environment(with_shim),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=self.timeout_s,
            umask=0o022,
        )
        tree = snapshot(self.mock, varying)
        return Result(done.returncode, done.stdout, done.stderr, tree)

    def compare(
        self,
        command: Sequence[str | Path],
        varying: Sequence[str] = (),
        unplaced: Sequence[str] = (),
    ) -> Result:
        """Runs both, asserts that they agree and that all files but `unplaced` were placed.

        The files of `varying` differ from run to run anyway: only their type and mode count.
        """
        plain = self.run(command, False, varying)
        shimmed = self.run(command, True, varying)
        assert not differences(plain, shimmed), "\n".join(differences(plain, shimmed))
        missed = [name for name in without_layout(self.mock) if not is_any_of(name, unplaced)]
        assert not missed, f"not placed: {missed}"
        return shimmed

    def outcome(self, name: str) -> int:
        """How often a create ended so in the last run with the library, all processes together."""
        number = getattr(lib, name)
        total = 0
        for path in self.plan.parent.glob("*.trace"):
            data = path.read_bytes()
            total += ffi.from_buffer("struct iez_trace_header *", data).outcomes[number]
        return total
