"""Unmount: takes a mount away, or tells who uses it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from iez_client.filesystems import loopback_mounts
from iez_common.errors import LoopbackError


def unmount(directory: str, lazily: bool = False) -> None:
    words = ["umount"] if os.geteuid() == 0 else ["fusermount3", "-u"]
    if lazily:
        words.append("-l" if words[0] == "umount" else "-z")
    try:
        done = subprocess.run([*words, directory], capture_output=True, text=True, check=False)
    except OSError as error:
        raise LoopbackError(f"{words[0]} cannot be run", "apt-get install fuse3") from error
    if done.returncode == 0 or directory not in loopback_mounts():
        return
    users = ", ".join(list(_users(directory))[:5])
    if users:
        raise LoopbackError(f"{directory} is in use by {users}", "end them, and try again")
    raise LoopbackError(f"{directory} cannot be unmounted: {done.stderr.strip()}")


def _users(directory: str) -> Iterator[str]:
    """Processes with a directory or a file open there, as far as this user may see them."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            held = [process / "cwd", process / "root", process / "exe", *(process / "fd").iterdir()]
            if any(_is_below(os.readlink(each), directory) for each in held):  # noqa: PTH115
                name = (process / "comm").read_text().strip()
                yield f"{name} (process {process.name})"
        except OSError:
            continue


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory}/")
