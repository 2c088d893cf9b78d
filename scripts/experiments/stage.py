"""Stage: a loopback file system for one case, and the jobs that run on it."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from cases import (
    BANDWIDTH,
    OSS_COUNT,
    OST_BYTES,
    OST_COUNT,
    OSTS_PER_OSS,
    POLICY,
    WINDOW_BYTES,
    Case,
    Job,
)

from iez_common.layout import plain, read_wire

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
NAME = "stage"
TIMEOUT_S = 300
SHM = Path("/dev/shm")  # objects in memory: the disk of this machine is not what is measured
NEEDED_BYTES = 6 << 30
_LINE = re.compile(r"^(read )?bytes (\d+) files (\d+) seconds (\d+\.\d+)$", re.MULTILINE)
_PLACED = re.compile(r"^iez: (\d+) files? placed", re.MULTILINE)


class JobFailed(Exception):
    """A job did not do what the experiment is about."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of a case's jobs."""

    write_bytes_per_s: float
    read_bytes_per_s: float
    load_bytes: tuple[int, ...]  # written to each OST, as its server counted
    files: tuple[tuple[int, int], ...]  # bytes and stripes of each


class Stage:
    """Brings the file system up as the case says; takes it down again."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def __enter__(self) -> Self:
        self.place = Path(tempfile.mkdtemp(prefix="iez-experiment-", dir=_directory()))
        self.mount = self.place / "lustre"
        policy = self.place / "policy.toml"
        policy.write_text(POLICY)
        ours = {name: value for name, value in os.environ.items() if not name.startswith("IEZ_")}
        self.environ = ours | {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "IEZ_STATE_DIR": str(self.place / "state"),
            "IEZ_POLICY": str(policy),
            "XDG_CACHE_HOME": str(self.place / "cache"),
            "XDG_CONFIG_HOME": str(self.place / "config"),
        }
        try:
            self._bring_up()
            self._fill()
            self._slow_down()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if (self.place / "state" / "loopback" / NAME / "config").exists():
            self._iez("loopback", "down", str(self.mount))
        shutil.rmtree(self.place)

    def _iez(self, *words: str) -> None:
        command = [BIN / "iez", *words]
        subprocess.run(command, env=self.environ, check=True, stdout=subprocess.DEVNULL)

    def _bring_up(self) -> None:
        sizes = {"--size": OST_BYTES, "--window": WINDOW_BYTES, "--bandwidth": 0}
        counts = {"--oss": OSS_COUNT, "--osts": OSTS_PER_OSS, "--stripe-size": 1 << 20}
        words = [str(word) for pair in (sizes | counts).items() for word in pair]
        # The same choices of Lustre's each time.
        options = ["--directories", "--name", NAME, "--seed", "1"]
        self._iez("loopback", "up", *options, *words, str(self.mount))

    def _fill(self) -> None:
        for ost, share in self.case.filled.items():
            path = self.mount / f"old.{ost}"
            os.mknod(path)
            os.setxattr(path, "lustre.lov", plain(1, 1 << 20, osts=(ost,)).wire())
            block = bytes(1 << 20)
            with path.open("wb", buffering=0) as file:
                for _ in range(int(share * OST_BYTES) >> 20):
                    file.write(block)

    def _slow_down(self) -> None:
        self._iez("loopback", "set", "all", "--bandwidth", str(BANDWIDTH))
        for ost, bandwidth in self.case.slow_osts.items():
            self._iez("loopback", "set", str(ost), "--bandwidth", str(bandwidth))
        for oss, bandwidth in self.case.slow_osss.items():
            self._iez("loopback", "set", f"oss{oss}", "--oss-bandwidth", str(bandwidth))

    def observed(self) -> Sample:
        """The first run: Lustre places, iez looks on and learns."""
        return self._run([], is_placed=False)

    def plain(self) -> Sample:
        """Without iez."""
        return self._run(["--plain"], is_placed=False)

    def placed(self) -> Sample:
        """By the plan; iez learns from it in turn."""
        return self._run([], is_placed=True)

    def _run(self, options: list[str], is_placed: bool) -> Sample:
        before = self._loads()
        # The same each time: a command with another directory would be planned anew.
        meeting = self.place / "meeting"
        meeting.mkdir()
        folders = [self._folder(number, job) for number, job in enumerate(self.case.jobs)]
        started = [
            self._start(job, options, folder, meeting)
            for job, folder in zip(self.case.jobs, folders, strict=True)
        ]
        ended = [_end(job, is_placed) for job in started]
        shutil.rmtree(meeting)
        self._refresh()
        after = self._loads()
        files = [_file(path) for folder in folders for path in sorted(folder.iterdir())]
        for folder in folders:
            shutil.rmtree(folder)
        self._refresh()
        return Sample(
            _rate(ended, "write"),
            _rate(ended, "read"),
            tuple(now - then for now, then in zip(after, before, strict=True)),
            tuple(files),
        )

    def _folder(self, number: int, job: Job) -> Path:
        folder = self.mount / f"job{number}"
        folder.mkdir()
        if job.stripe_count:
            os.setxattr(folder, "lustre.lov", plain(job.stripe_count, 1 << 20).wire())
        return folder

    def _start(
        self, job: Job, options: list[str], folder: Path, meeting: Path
    ) -> subprocess.Popen[str]:
        kernel = [sys.executable, ROOT / "examples" / job.kernel, *job.words, "--out", folder]
        others = ["--meet", len(self.case.jobs), meeting] if len(self.case.jobs) > 1 else []
        launcher = [BIN / "mpiexec", "-n", job.ranks]
        command = [BIN / "iez-run", *options, *launcher, *kernel, "--fsync", "--read"]
        return subprocess.Popen(
            list(map(str, [*command, *others])),
            env=self.environ,
            cwd=self.place,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def _refresh(self) -> None:
        """Brings statistics, and what the MDS knows of space, up to date."""
        self._iez("loopback", "set", "--inject", "none")

    def _loads(self) -> list[int]:
        """Bytes written to each OST so far."""
        server = self.place / "state" / "loopback" / NAME / "server" / "obdfilter"
        return [_written(server / f"{NAME}-OST{ost:04x}" / "stats") for ost in range(OST_COUNT)]


def _directory() -> Path | None:
    chosen = os.environ.get("IEZ_BENCH_DIR")
    if chosen:
        return Path(chosen)
    has_room = SHM.is_dir() and shutil.disk_usage(SHM).free > NEEDED_BYTES
    return SHM if has_room else None


def _file(path: Path) -> tuple[int, int]:
    """A file of several parts can lie on as many OSTs as they have together."""
    parts = read_wire(os.getxattr(path, "lustre.lov")).components
    return path.stat().st_size, min(sum(len(part.osts) for part in parts), OST_COUNT)


def _written(stats: Path) -> int:
    found = re.search(r"^write_bytes\s.*\s(\d+) \d+$", stats.read_text(), re.MULTILINE)
    return int(found[1]) if found else 0


def _end(job: subprocess.Popen[str], is_placed: bool) -> dict[str, tuple[int, float]]:
    """Bytes and seconds of writing and of reading."""
    out, err = job.communicate(timeout=TIMEOUT_S)
    if job.returncode:
        raise JobFailed(f"{job.args}\n{out}{err}")
    placed = _PLACED.search(err)
    found = {"write": (0, 0.0), "read": (0, 0.0)}
    files = 0
    for is_read, count, made, seconds in _LINE.findall(out):
        what = "read" if is_read else "write"
        found[what] = (found[what][0] + int(count), found[what][1] + float(seconds))
        files += 0 if is_read else int(made)
    if (int(placed[1]) if placed else 0) != (files if is_placed else 0):
        raise JobFailed(f"{files} files, of which other ones were placed than should be: {err}")
    return found


def _rate(ended: list[dict[str, tuple[int, float]]], what: str) -> float:
    return sum(each[what][0] for each in ended) / max(each[what][1] for each in ended)
