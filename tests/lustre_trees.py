"""A machine that has Lustre mounted, made of files: /proc/mounts and the three trees of devices,
laid out as each release does it (docs/lustre-interface.md)."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from iez_client import filesystems

SPACE = ("kbytestotal", "kbytesfree", "kbytesavail", "filestotal", "filesfree", "blocksize")
LOCAL = ("active", "max_rpcs_in_flight", "max_dirty_mb", "ost_conn_uuid")
SERVER = ("ost_server_uuid", "import", "rpc_stats", "state", "timeouts")
SYS, PROC, DEBUG = range(3)
# Where each release has its files.
RELEASES: dict[str, dict[int, tuple[str, ...]]] = {
    "2.10": {PROC: (*SPACE, *LOCAL, *SERVER)},
    "2.12": {SYS: (*SPACE, *LOCAL), PROC: SERVER},
    "2.14": {SYS: (*SPACE, *LOCAL), PROC: SERVER},
    "2.15": {SYS: (*SPACE, *LOCAL), PROC: SERVER},
    "2.16": {SYS: (*SPACE, *LOCAL), PROC: SERVER},
    "2.17": {SYS: (*SPACE, *LOCAL, "statfs_state"), DEBUG: SERVER},
}
INSTANCE = "ff1100000d641800"
GIB_KIB = 1 << 20


@dataclass(frozen=True, slots=True)
class FakeOst:
    """What the files of an OST say."""

    index: int
    size_kib: int = 100 * GIB_KIB
    free_kib: int = 60 * GIB_KIB
    available_kib: int = 50 * GIB_KIB
    files_free: int = 1_000_000
    nid: str = "10.9.0.11@tcp"
    active: str = "1"
    letters: str = ""
    import_state: str = "FULL"
    writes: tuple[int, int, int] = (0, 0, 0)  # RPCs, of so many bytes, each taking so many µs
    in_flight: int = 8  # during all of them

    @property
    def averages(self) -> str:
        count, size_bytes, usecs = self.writes
        told = f"       bytes_per_rpc: {size_bytes}\n       usecs_per_rpc: {usecs}\n"
        return f"    write_data_averages:\n{told}       MB_per_sec: 1.00\n" if count else ""

    @property
    def rpc_stats(self) -> str:
        count = self.writes[0]
        rows = [
            f"{n}:\t\t{7 * n:10} {n:3} {n:3}   | {count * (n == self.in_flight):10}  50 100"
            for n in range(1, self.in_flight + 1)
        ]
        return "\n".join(
            (
                "snapshot_time:         1794966217.546841630 secs.nsecs",
                "write RPCs in flight: 0",
                "",
                "\t\t\tread\t\t\twrite",
                "pages per rpc         rpcs   % cum % |       rpcs   % cum %",
                "256:\t\t         8 100 100   |         16 100 100",
                "",
                "\t\t\tread\t\t\twrite",
                "rpcs in flight        rpcs   % cum % |       rpcs   % cum %",
                *rows,
                "",
                "\t\t\tread\t\t\twrite",
                "offset                rpcs   % cum % |       rpcs   % cum %",
                "0:\t\t         8 100 100   |         16 100 100",
                "",
            )
        )

    def texts(self, fs_name: str) -> dict[str, str]:
        return {
            "kbytestotal": f"{self.size_kib}\n",
            "kbytesfree": f"{self.free_kib}\n",
            "kbytesavail": f"{self.available_kib}\n",
            "filestotal": f"{self.files_free + 100}\n",
            "filesfree": f"{self.files_free}\n",
            "blocksize": "4096\n",
            "active": f"{self.active}\n",
            "max_rpcs_in_flight": "8\n",
            "max_dirty_mb": "32\n",
            "ost_conn_uuid": f"{self.nid}\n",
            "statfs_state": f"{self.letters}\n",
            "ost_server_uuid": f"{fs_name}-OST{self.index:04x}_UUID\t{self.import_state}\n",
            "import": "import:\n"
            f"    name: {fs_name}-OST{self.index:04x}-osc-{INSTANCE}\n"
            f"    state: {self.import_state}\n"
            "    connection:\n"
            f'       failover_nids: [ "{self.nid}" ]\n'
            f'       current_connection: "{self.nid}"\n{self.averages}',
            "rpc_stats": self.rpc_stats,
            "state": f"current_state: {self.import_state}\n",
            "timeouts": "last reply : 0\n",
        }


class LustreMachine:
    """The mounts and trees below a directory."""

    def __init__(self, root: Path, release: str = "2.17") -> None:
        self.mounts = root / "mounts"
        self.roots = tuple(root / name / "osc" for name in ("sys", "proc", "debug"))
        self.release = release
        self.fifos: list[Path] = []
        # Like debugfs. Root may read it all the same: there the tests do without that tree.
        self.has_debugfs = os.geteuid() != 0
        self.mount()

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Makes iez see this machine."""
        monkeypatch.setattr(filesystems, "MOUNTS", self.mounts)
        monkeypatch.setattr(filesystems, "OSC_ROOTS", self.roots)

    def mount(self, *lines: str) -> None:
        self.mounts.write_text("\n".join(("proc /proc proc rw 0 0", *lines, "")))

    def add(self, *osts: FakeOst, fs_name: str = "work", instance: str = INSTANCE) -> None:
        """Adds OSTs, or writes other values to those that are there."""
        for ost in osts:
            texts = ost.texts(fs_name)
            for tree, names in RELEASES[self.release].items():
                if tree == DEBUG and not self.has_debugfs:
                    continue
                directory = self.directory(ost.index, tree, fs_name, instance)
                directory.mkdir(parents=True, exist_ok=True)
                directory.chmod(0o755)
                for name in names:
                    (directory / name).unlink(missing_ok=True)  # it may not be written to
                    (directory / name).write_text(texts[name])
                    (directory / name).chmod(0o444)
                if tree == DEBUG:
                    directory.chmod(0)

    def directory(
        self, index: int, tree: int = SYS, fs_name: str = "work", instance: str = INSTANCE
    ) -> Path:
        return self.roots[tree] / f"{fs_name}-OST{index:04x}-osc-{instance}"

    def hang(self, index: int, name: str = "kbytestotal", tree: int = SYS) -> None:
        """Any read of this file blocks from now on, as that of a sick OST does."""
        path = self.directory(index, tree) / name
        path.unlink()
        os.mkfifo(path)
        self.fifos.append(path)

    def heal(self) -> None:
        """Lets everyone go who waits for such a file; `add` makes the OST well."""
        for fifo in self.fifos:
            os.close(os.open(fifo, os.O_RDWR | os.O_NONBLOCK))
            fifo.unlink()
        self.fifos.clear()
