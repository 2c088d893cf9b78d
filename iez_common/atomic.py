"""Atomic: a file that is replaced at once: nobody ever sees half of it."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from iez_common.errors import OutputError, reason


@contextlib.contextmanager
def replacing(path: Path, mode: int | None = None) -> Iterator[BinaryIO]:
    """A file to write to; it takes the place of `path` at the end. Trouble is an OutputError, and
    what was there stays. `mode` is set whatever the umask is; None: as for any new file."""
    if not path.name:
        raise OutputError("the file needs a name")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not a regular file", "name a new file, or one to replace")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o666 if mode is None else mode)
        try:
            if mode is not None:
                os.fchmod(descriptor, mode)
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                yield file
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {reason(error)}") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
