"""Trace: the directory in which the processes of a run leave their traces; made before it, tidied
after it."""

import contextlib
import errno
import os
import time
from dataclasses import dataclass
from pathlib import Path

from iez_client.plan.image import stamp
from iez_client.plan.read import Plan
from iez_common.config import Config
from iez_common.errors import OutputError, reason

TRACES = "traces"  # in the state directory, beside the run directories
NOTE_NAME = "trace-dir"  # in the run directory: the path of the traces


@dataclass(frozen=True, slots=True)
class Tracing:
    """What the plan of one run says about its traces."""

    directory: Path
    run: int  # the same in all its traces
    events: bool

    @classmethod
    def of(cls, plan: Plan, plan_path: Path) -> "Tracing":
        """As a plan has it."""
        text = os.fsdecode(plan.trace_dir)
        directory = Path(text) if text else plan_path.parent
        return cls(directory, int(plan.header.run), bool(plan.header.trace_events))

    def stamp(self, image: bytes | bytearray) -> bytearray:
        return stamp(image, self.run, os.fsencode(self.directory), self.events)


def begin(run_dir: Path, config: Config, events: bool) -> Tracing:
    """Makes the directory of a new run's traces: the one that is asked for, else one of its own
    beside the run directories, which all nodes of the job see."""
    directory = config.path("trace_dir") or _default(run_dir)
    try:
        (run_dir / NOTE_NAME).write_bytes(os.fsencode(directory))
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise OutputError(
            f"the trace directory {directory} cannot be written: {reason(error)}",
            "iez-run --trace-dir DIR",
        ) from None
    return Tracing(directory, time.time_ns(), events)


def _default(run_dir: Path) -> Path:
    name = f"{time.time_ns():x}-{os.getpid()}-{os.uname().nodename}"
    kept = _kept(run_dir)
    if kept is None:
        return run_dir.absolute()
    kept.mkdir(mode=0o700, exist_ok=True)
    return kept / name


def _kept(run_dir: Path) -> Path | None:
    """Where traces are kept."""
    base = state_of(run_dir)
    return base / TRACES if base else None


def state_of(run_dir: Path) -> Path | None:
    """The state directory of a run: above runs/NAME, or runs/JOB/ROUND where ranks share one. It is
    not always the configured one, which may not be writable."""
    return next((parent.parent for parent in run_dir.parents if parent.name == "runs"), None)


def has_any(tracing: Tracing) -> bool:
    """Whether a process of the run left a trace: others may leave theirs in the same directory."""
    from iez_client.parse.traces import traces_of
    from iez_common.errors import IezError

    try:
        return bool(traces_of(tracing.directory, tracing.run).processes)
    except IezError:
        return False  # none that could be read


def tidy(tracing: Tracing, run_dir: Path) -> None:
    """After the run: its events are compressed; a directory in which nothing was left goes, unless
    the user named it."""
    if tracing.events:
        from iez_client.parse.events import pack
        from iez_client.parse.traces import traces_of

        # Not those of other runs, which may still be at work.
        for process in traces_of(tracing.directory, tracing.run).processes:
            pack(process.path)
    if tracing.directory.parent == _kept(run_dir):
        with contextlib.suppress(OSError):  # there are traces in it
            tracing.directory.rmdir()
