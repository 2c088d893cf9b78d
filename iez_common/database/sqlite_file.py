"""SQLite file: made private, and set aside when it is damaged."""

import contextlib
import fcntl
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from iez_common.errors import DatabaseWriteError, reason

_PROBE_TIMEOUT_S = 5.0


def connect(path: Path, timeout_s: float) -> sqlite3.Connection:
    """Opens the file; SQLite itself must not make one, which others could read."""
    uri = f"file:{quote(os.fsencode(path))}?mode=rw"
    return sqlite3.connect(
        uri, uri=True, timeout=timeout_s, isolation_level=None, check_same_thread=False
    )


def make_private(path: Path) -> None:
    """Creates the file and its directory for this user alone; what is there stays as it is."""
    if path.is_dir():
        raise DatabaseWriteError(f"{path} is a directory", "IEZ_DATABASE=FILE")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise DatabaseWriteError(f"{path} cannot be made: {reason(error)}") from None


def set_aside_if_damaged(path: Path, now_s: float) -> Path | None:
    """Renames the file if it is damaged, and says to what; None: it is not, or another process
    has renamed it already."""
    with _alone_in(path.parent):
        if not _is_damaged(path):
            return None
        aside = _free_name(path, now_s)
        try:
            path.rename(aside)
            # A journal belongs to the damaged file: beside the new one it would break that, too.
            with contextlib.suppress(FileNotFoundError):
                Path(f"{path}-journal").rename(f"{aside}-journal")
        except OSError as error:
            raise DatabaseWriteError(
                f"{path} is damaged and cannot be renamed: {reason(error)}", f"rm {path}"
            ) from None
    return aside


def _is_damaged(path: Path) -> bool:
    try:
        with contextlib.closing(connect(path, _PROBE_TIMEOUT_S)) as connection:
            found: tuple[str] = connection.execute("PRAGMA quick_check(1)").fetchone()
            return found[0] != "ok"
    except sqlite3.DatabaseError as error:
        return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _free_name(path: Path, now_s: float) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now_s))
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.damaged-{stamp}-{number}")
    return aside


@contextlib.contextmanager
def _alone_in(directory: Path) -> Iterator[None]:
    """One process at a time finds the damage and renames: a second one would rename the new file.
    Where directories cannot be locked (some NFS), the second look at the file has to do."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
