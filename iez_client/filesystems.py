"""File systems: where files can be placed, and which OSTs exist there.

Nothing here can block: OST indices come from directory names, and the one file that is read
(`active`) is a local number. Space and health are never read here: that may wait for a server, and
observe/ does it.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from iez_common import mock
from iez_common._core import lib
from iez_common.errors import InputError, UsageError

LUSTRE: int = lib.IEZ_KIND_LUSTRE
LOOPBACK: int = lib.IEZ_KIND_LOOPBACK
MOCK: int = lib.IEZ_KIND_MOCK
KIND_NAMES = {lib.IEZ_KIND_NONE: "none", LUSTRE: "lustre", LOOPBACK: "loopback", MOCK: "mock"}

STATE_BITS = {
    "degraded": lib.IEZ_OST_DEGRADED,
    "read-only": lib.IEZ_OST_READONLY,
    "no-create": lib.IEZ_OST_NOCREATE,
    "full": lib.IEZ_OST_FULL,
    "inactive": lib.IEZ_OST_INACTIVE,
}

MOUNTS = Path("/proc/mounts")
OSC_TREES = ("sys", "proc", "debugfs")
OSC_ROOTS = (
    Path("/sys/fs/lustre/osc"),
    Path("/proc/fs/lustre/osc"),
    Path("/sys/kernel/debug/lustre/osc"),
)
LOOPBACK_TYPE = "fuse.iez-loopfs"
# The suffix is the mount's instance. On an MDS there are also names that end in -osc-MDT0000.
_OSC_NAME = re.compile(r"(?P<fs>.+)-OST(?P<index>[0-9a-f]{4})-osc-(?P<instance>[0-9a-f]+)")
_INSTANCE = re.compile(r"^instance (\w+)$", re.MULTILINE)  # of a store's settings
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Ost:
    """An OST that exists. Its state matters to the mock only."""

    index: int
    state: int = 0  # bits IEZ_OST_*


@dataclass(frozen=True, slots=True)
class FileSystem:
    """A directory below which files can be placed."""

    kind: int  # IEZ_KIND_*
    prefix: str  # absolute, no slash at its end
    osts: tuple[Ost, ...]  # sorted by index
    aliases: tuple[str, ...] = ()  # other names of the same directory
    inject: int = 0  # the mock's forced answer

    @property
    def names(self) -> tuple[str, ...]:
        return (self.prefix, *self.aliases)


@dataclass(frozen=True, slots=True)
class Mount:
    """A client mount of Lustre, or of a loopback file system."""

    fs_name: str
    directory: str
    store: Path | None = None  # of a loopback file system

    @property
    def kind(self) -> int:
        return LOOPBACK if self.store else LUSTRE

    @property
    def key(self) -> str:
        """Mounts with the same key are of the same file system. A store's place may have held
        another one before."""
        return f"{self.store} {_instance(self.store)}" if self.store else self.fs_name

    def osc_roots(self, lustre: Sequence[Path] | None = None) -> dict[str, Path]:
        """Where its OSTs show themselves, by the name of the tree."""
        if self.store:
            return {"loopback": self.store / "client" / "osc"}
        return dict(zip(OSC_TREES, lustre or OSC_ROOTS, strict=True))


@dataclass(frozen=True, slots=True)
class Device:
    """One OST as one mount sees it, in one of the trees."""

    fs_name: str
    index: int
    instance: str  # of the mount
    directory: Path


def from_mock(directory: Path, state_file: Path | None = None) -> FileSystem:
    """The mock below `directory`."""
    prefix, aliases = _names(directory)
    if not Path(directory).is_dir():
        raise InputError(f"the mock directory {prefix} does not exist", f"mkdir -p {prefix}")
    state = mock.state_of(directory, state_file)
    osts = tuple(Ost(ost.index, sum(STATE_BITS[name] for name in ost.states)) for ost in state.osts)
    inject = lib.IEZ_INJECT_SILENT if state.inject == mock.SILENT else state.inject_errno
    return FileSystem(MOCK, prefix, osts, aliases, inject)


def from_list(directory: Path, indices: Sequence[int]) -> FileSystem:
    """Lustre that is mounted at `directory` elsewhere, with these OSTs."""
    prefix, aliases = _names(directory)
    if not prefix:
        raise UsageError("the root directory cannot be a prefix", "name the mount point")
    return FileSystem(LUSTRE, prefix, tuple(Ost(index) for index in sorted(set(indices))), aliases)


def from_mounts(
    mounts_file: Path | None = None, osc_roots: Sequence[Path] | None = None
) -> list[FileSystem]:
    """Every mounted Lustre and loopback file system whose OSTs can be told."""
    found = []
    for mount in client_mounts(mounts_file):
        roots = mount.osc_roots(osc_roots).values()
        instances = _live_osts(roots).get(mount.fs_name, {})
        # Mounts of one file system see the same OSTs, but each has its own active flags, and which
        # instance belongs to which mount cannot be told: an OST counts if it is live in all.
        indices = set.intersection(*instances.values()) if instances else set()
        if indices:
            prefix, aliases = _names(Path(mount.directory), resolve=False)
            osts = tuple(Ost(index) for index in sorted(indices))
            found.append(FileSystem(mount.kind, prefix, osts, aliases))
    return found


def client_mounts(mounts_file: Path | None = None) -> list[Mount]:
    """The mounts of this machine, in the order of the kernel's list."""
    try:
        text = (mounts_file or MOUNTS).read_bytes()
    except OSError:
        return []
    found = []
    for line in os.fsdecode(text).split("\n"):
        words = line.split(" ")
        if len(words) < 3 or words[2] not in ("lustre", LOOPBACK_TYPE):
            continue
        device, directory = _unescape(words[0]), _unescape(words[1])
        # The device is `mgs@tcp:/fsname` or, with a subdirectory, `mgs@tcp:/fsname/sub`; of a
        # loopback file system `STORE:/fsname`.
        source, _, name = device.rpartition(":/")
        store = Path(source) if words[2] == LOOPBACK_TYPE else None
        found.append(Mount(name.partition("/")[0], directory, store))
    return found


def _instance(store: Path) -> str:
    try:
        found = _INSTANCE.search((store / "config").read_text(errors="replace"))
    except OSError:
        return ""
    return found[1] if found else ""


def loopback_mounts() -> dict[str, Path]:
    """Where loopback file systems are mounted, and the store of each."""
    return {mount.directory: mount.store for mount in client_mounts() if mount.store}


def devices_below(root: Path) -> list[Device]:
    """The devices of one tree; none where it is not there or closed to this user."""
    try:
        paths = list(root.iterdir())
    except OSError:
        return []
    matches = [(path, _OSC_NAME.fullmatch(path.name)) for path in paths]
    return [
        Device(match["fs"], int(match["index"], 16), match["instance"], path)
        for path, match in matches
        if match
    ]


def _live_osts(osc_roots: Iterable[Path]) -> dict[str, dict[str, set[int]]]:
    """Live OST indices by file system and mount instance, from the first tree that has any."""
    for root in osc_roots:
        found: dict[str, dict[str, set[int]]] = {}
        for device in devices_below(root):
            live = found.setdefault(device.fs_name, {}).setdefault(device.instance, set())
            if _is_active(device.directory):
                live.add(device.index)
        if found:
            return found
    return {}


def _is_active(osc: Path) -> bool:
    """False where the client itself has switched the OST off."""
    try:
        return (osc / "active").read_text().strip() != "0"
    except OSError:
        return True  # the tree does not say; the directory is there, so the OST is


def _names(directory: Path, resolve: bool = True) -> tuple[str, tuple[str, ...]]:
    """The directory's name as given, made absolute, and its real name if that is another."""
    name = os.path.abspath(directory).rstrip("/")  # noqa: PTH100 - symbolic links are kept
    # realpath of a mount point would wait for a file system that hangs; the kernel lists mount
    # points by their real names anyway.
    real = os.path.realpath(name).rstrip("/") if resolve else name
    return name, () if real == name else (real,)


def _unescape(text: str) -> str:
    """/proc/mounts writes a blank as \\040."""
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), text)
