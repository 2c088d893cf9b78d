"""Images: OSTs as ext4 file systems in sparse files, which only root can mount."""

import fcntl
import shutil
import subprocess
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from iez_client.loopback import interrupt
from iez_common.errors import LoopbackError, OutputError, reason

TOOLS = ("mkfs.ext4", "e2fsck", "mount")
IMAGE_BYTES_MIN = 8 << 20
FREE_LIMIT_S = 30.0
_PATH = "/usr/sbin:/sbin:/usr/bin:/bin"
_MAKE = (
    "-q", "-F", "-b", "4096", "-m", "0", "-O", "^has_journal",
    "-E", "lazy_itable_init=1,nodiscard",
)  # fmt: skip


def missing_tool() -> str:
    """What this machine lacks to have images; empty: nothing."""
    for tool in TOOLS:
        if not shutil.which(tool, path=_PATH):
            return tool
    return "" if Path("/dev/loop-control").exists() else "/dev/loop-control"


def wait_until_free(store: Path) -> None:
    """A moment after their daemon has ended the kernel unmounts them. Before that they must neither
    be checked nor mounted again."""
    end_s = time.monotonic() + FREE_LIMIT_S
    for image in sorted(store.glob("image/*")):
        while not _is_free(image):
            if time.monotonic() > end_s:
                raise LoopbackError(f"{image} is still in use", "losetup -a")
            time.sleep(0.01)


def _is_free(image: Path) -> bool:
    """A lease is given to one who alone has the file open; a loop device has it open, too."""
    with image.open("r+b") as file:
        try:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except BlockingIOError:
            return False
        except OSError:
            return True  # there are no leases here
    return True


def make_images(store: Path, sizes: Iterable[tuple[int, int]]) -> None:
    """One for each (index, bytes) that has none; those that are there are checked."""
    wait_until_free(store)
    with ThreadPoolExecutor(4) as pool:
        try:
            for _ in pool.map(lambda each: _make_image(store, *each), sizes):
                interrupt.check()
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise


def _make_image(store: Path, index: int, size_bytes: int) -> None:
    image = store / "image" / f"{index:04x}"
    try:
        image.parent.mkdir(exist_ok=True)
        (store / "ost" / image.name).mkdir(parents=True, exist_ok=True)
        if image.exists():
            # 1: it was mended. No journal is kept, so a machine that crashed leaves this to do.
            _run("e2fsck", ["-p", str(image)], (0, 1))
            return
        part = image.with_suffix(".new")
        with part.open("wb") as file:
            file.truncate(size_bytes)
        _run("mkfs.ext4", [*_MAKE, str(part)], (0,))
        part.rename(image)
    except OSError as error:
        raise OutputError(f"{image}: {reason(error)}", "name another place by --store") from error


def _run(tool: str, words: list[str], well: tuple[int, ...]) -> None:
    path = shutil.which(tool, path=_PATH)
    assert path is not None  # missing_tool was asked
    done = subprocess.run([path, *words], capture_output=True, text=True, check=False)
    if done.returncode not in well:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise LoopbackError(f"{tool} {words[-1]}: {lines[-1] if lines else done.returncode}")
