"""Daemon: starts iez-loopfs, tells it of changed settings, and ends it."""

import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

from iez_client.loopback import images, interrupt
from iez_client.loopback.config import Config, write_config
from iez_client.loopback.store import Store, wait_until_dead
from iez_client.loopback.unmount import unmount
from iez_common.errors import LoopbackError, reason

PROGRAM = Path(__file__).parent / "iez-loopfs"
CHANGE_LIMIT_S = 10.0
END_LIMIT_S = 30.0


def check_machine() -> None:
    """Says what is missing, before anything is made."""
    if not PROGRAM.exists():
        raise LoopbackError(
            "iez was built without libfuse3",
            "apt-get install libfuse3-dev fuse3 pkg-config, then pip install . again",
        )
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        raise LoopbackError(
            f"/dev/fuse cannot be opened: {reason(error)}",
            "modprobe fuse, or a container that is given /dev/fuse",
        ) from error


def start(store: Store) -> None:
    """Starts the daemon and waits until it serves."""
    with (store.path / "log").open("wb") as log:
        process = subprocess.Popen(
            [PROGRAM, store.path],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd="/",
            start_new_session=True,
        )
    assert process.stdout is not None
    try:
        with process.stdout as told:
            is_ready = told.readline() == b"ready\n"
        interrupt.check()
    except KeyboardInterrupt:
        _bury(process, store)
        raise
    if not is_ready:
        _bury(process, store)
        lines = (store.path / "log").read_text(errors="replace").strip().splitlines()
        # What libfuse had to say comes before what became of it.
        last = [line.removeprefix("iez-loopfs: ") for line in reversed(lines[-2:])]
        why = ": ".join(last) or "it ended at once"
        raise LoopbackError(f"the daemon does not start: {why}", "name another DIR or --store")
    # Its end is nobody's business here: it outlives this process.
    process.returncode = 0


def _bury(process: subprocess.Popen[bytes], store: Store) -> None:
    for directory in store.mounts:
        unmount(directory, lazily=True)
    process.kill()
    process.wait()


def change(store: Store, config: Config) -> None:
    """Puts other settings in force, and waits until they are."""
    newer = replace(config, generation=store.config.generation + 1)
    write_config(store.path, newer)
    pid = store.pid
    if not pid:
        return  # they hold from the next start on
    os.kill(pid, signal.SIGHUP)
    end_s = time.monotonic() + CHANGE_LIMIT_S
    while _generation(store) < newer.generation:
        if time.monotonic() > end_s or not store.pid:
            raise LoopbackError("the daemon does not take the change", f"see {store.path}/log")
        time.sleep(0.01)


def _generation(store: Store) -> int:
    try:
        return int((store.path / "generation").read_text())
    except (OSError, ValueError):
        return 0


def end(store: Store) -> None:
    """Waits for the daemon of an unmounted file system; one that stays is killed."""
    if not wait_until_dead(store, END_LIMIT_S) and (pid := store.pid):
        os.kill(pid, signal.SIGKILL)
        wait_until_dead(store, END_LIMIT_S)
    images.wait_until_free(store.path)
