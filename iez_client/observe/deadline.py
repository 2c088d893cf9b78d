"""Deadline: questions in, the answers that have come by the deadline out."""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import iez_client
from iez_client.observe.facts import Facts, Task, dump_tasks, load_facts

# Isolated, so that no module of the current directory or PYTHONPATH takes the place of ours.
_BOOT = (
    "import runpy, sys; sys.path.append(sys.argv.pop(1)); "
    "runpy.run_module('iez_client.observe.readers', run_name='__main__', alter_sys=True)"
)
_GRACE_S = 2.0  # on top of the deadline, which the readers keep by themselves


def ask_all(tasks: Sequence[Task], until_s: float) -> list[Facts | None]:
    """What is known about each task at `until_s` of time.monotonic; None: it was never begun.

    The work is done by a process of its own, not by a fork of this one, which may have threads,
    and whose open files a reader that hangs would hold.
    """
    found: list[Facts | None] = [None] * len(tasks)
    if not tasks:
        return found
    for line in _run(dump_tasks(list(tasks), until_s), until_s).splitlines():
        number, _, text = line.partition(b" ")
        try:
            found[int(number)] = load_facts(text.decode())
        except (ValueError, KeyError, TypeError, IndexError):
            continue  # cut short
    return found


def _run(text: bytes, until_s: float) -> bytes:
    package = str(Path(iez_client.__file__).parent.parent)
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _BOOT, package],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Ctrl-C is for the command; and no shell waits for a session that is not its own.
            start_new_session=True,
        )
    except OSError:  # no process to be had: nothing is known
        return b""
    try:
        limit_s = max(0.0, until_s - time.monotonic()) + _GRACE_S
        return process.communicate(text, timeout=limit_s)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0]
    except BaseException:
        process.kill()
        process.communicate()
        raise
