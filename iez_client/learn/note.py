"""Note: what is known of a job besides its traces. Written before the job into its run directory,
kept beside its traces until it is learned from, so that nothing is lost if that fails."""

import contextlib
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from iez_common.atomic import replacing
from iez_common.errors import TraceError

RUN_NOTE = "job"  # in the run directory
PENDING, LEARNED = ".job", ".learned"  # endings of its name beside the traces
_SCHEMA = 1
_JOB_VARIABLES = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID", "COBALT_JOBID", "FLUX_JOB_ID")
_LEADING_NUMBER = re.compile(r"\d{1,18}")


@dataclass(frozen=True, slots=True)
class JobNote:
    """One job as iez-run saw it."""

    command: tuple[str, ...]
    directory: str
    app: str = ""  # as the user named it
    rank_count: int = 0  # 0: not known
    job_ids: tuple[int, ...] = ()  # of the batch system
    started_s: float = 0.0
    ended_s: float = 0.0
    status: int = 0  # exit code; 128 + n for a signal n
    mock: str = ""
    mock_state: str = ""
    plan: str = ""  # `given` by the user, `learned` from earlier runs; empty: it had none
    trouble: str = ""  # why it had not the plan that earlier runs led to
    run: int = 0  # the number in its traces

    def ended(self, run: int, status: int, now_s: float) -> "JobNote":
        return replace(self, run=run, status=status, ended_s=now_s)

    def write(self, path: Path) -> None:
        with replacing(path, 0o600) as file:
            file.write(json.dumps({"schema": _SCHEMA, **asdict(self)}).encode())


def note_of(command: Sequence[str], app: str, environ: Mapping[str, str]) -> JobNote:
    """Of the job that is about to start here."""
    from iez_client.names import rank_count

    return JobNote(
        command=tuple(command),
        directory=_current_directory(),
        app=app,
        rank_count=rank_count(command, environ),
        job_ids=tuple(_job_ids(environ)),
        started_s=time.time(),
    )


def _current_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:
        return "/"  # gone; names below it cannot be told anyway


def _job_ids(environ: Mapping[str, str]) -> Iterator[int]:
    for variable in _JOB_VARIABLES:
        if found := _LEADING_NUMBER.match(environ.get(variable, "")):
            yield int(found[0])


def read_note(path: Path) -> JobNote:
    try:
        values = json.loads(path.read_bytes())
        if values.pop("schema") != _SCHEMA:
            raise TraceError(f"{path}: it was made by another version of iez")
        return _checked(JobNote(**values))
    except OSError as error:
        raise TraceError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise TraceError(f"{path}: it is damaged", f"rm {path}") from None


def _checked(note: JobNote) -> JobNote:
    numbers = (note.rank_count, note.run, note.status, *note.job_ids)
    texts = (note.directory, note.app, note.mock, note.mock_state, note.plan, note.trouble)
    if not note.command or not all(isinstance(text, str) for text in (*texts, *note.command)):
        raise TypeError
    times = (note.started_s, note.ended_s)
    if not all(isinstance(number, int) for number in numbers):
        raise TypeError
    if not all(isinstance(time_s, int | float) for time_s in times):
        raise TypeError
    return replace(note, command=tuple(note.command), job_ids=tuple(note.job_ids))


def pending_path(directory: Path, run: int) -> Path:
    return directory / f"{run:016x}{PENDING}"


def kept_folders(traces: Path) -> list[Path]:
    """The trace directories that iez keeps."""
    with contextlib.suppress(OSError):
        return [path for path in traces.iterdir() if path.is_dir()]
    return []


def notes_in(folders: Sequence[Path], again: bool = False) -> list[Path]:
    """The notes of runs that were not learned from, or of all, oldest first."""
    endings = (PENDING, LEARNED) if again else (PENDING,)
    found: set[Path] = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            found.update(path for path in folder.iterdir() if path.suffix in endings)
    return sorted(found, key=lambda path: path.name)


def set_learned(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.replace(path.with_suffix(LEARNED))
