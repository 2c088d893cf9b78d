"""What the tests of `iez loopback` share: refusals, what status tells, and ends of daemons."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from loopback_fixtures import TIMEOUT_S, Home, Result

from iez_client.loopback.store import Store, wait_until_dead

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can do this")


def refused(done: Result, code: int, *parts: str) -> None:
    """It failed with this code, one line of what is wrong and one of what to try."""
    assert done.returncode == code, done
    assert done.stdout == ""
    what, hint, *more = done.stderr.splitlines()
    assert not more
    assert what.startswith("iez: ")
    assert hint.startswith("  try: ")
    for part in parts:
        assert part in done.stderr


def status(home: Home, *words: str | Path) -> list[dict[str, object]]:
    done = home.iez("loopback", "status", "--json", *words)
    told = json.loads(done.stdout)
    assert told["schema"] == 1
    systems = told["file_systems"]
    assert isinstance(systems, list)
    return systems


def eventually(condition: Callable[[], bool]) -> None:
    end_s = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < end_s, "it never came true"
        time.sleep(0.01)


def ends_by_itself(store: Store) -> bool:
    """What takes seconds waits for something that does not come."""
    return wait_until_dead(store, 3)


def kill_daemon(store: Store, number: signal.Signals = signal.SIGKILL) -> None:
    os.kill(store.pid, number)
    eventually(lambda: not store.pid)


def kill_with_helper(store: Store) -> None:
    """Not even the process that unmounts for a daemon that died lives on."""
    children = Path(f"/proc/{store.pid}/task/{store.pid}/children").read_text().split()
    for child in children:
        os.kill(int(child), signal.SIGKILL)
    kill_daemon(store)
