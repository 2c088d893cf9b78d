"""System calls, counted by strace."""

import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

_CALL = re.compile(r"^(?:\d+ +)?(\w+)\(", re.MULTILINE)
# The families that a parallel file system answers with a message to its metadata server.
FILE_SYSTEM = re.compile(
    r"open(at2?)?|creat|l?stat(64)?|newfstatat|fstatat64|fstat(64)?|statx|readlink(at)?|"
    r"getdents(64)?|f?access(at2?)?"
)


def trace(command: Sequence[str | Path], environ: Mapping[str, str] | None = None) -> list[str]:
    """The names of all system calls of a command and its children."""
    with tempfile.NamedTemporaryFile("r") as log:
        # The traced program alone gets the environment: strace is not preloaded.
        sets = [f"-E{name}={value}" for name, value in (environ or {}).items()]
        subprocess.run(
            ["strace", "-f", "-qq", "-o", log.name, *sets, *command],
            check=True,
            stdout=subprocess.DEVNULL,
            env=dict(os.environ),
        )
        return _CALL.findall(log.read())


def counted(command: Sequence[str | Path], environ: Mapping[str, str] | None = None) -> int:
    return len(trace(command, environ))


def file_system_calls(command: Sequence[str | Path]) -> int:
    return sum(1 for name in trace(command) if FILE_SYSTEM.fullmatch(name))
