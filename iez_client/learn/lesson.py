"""Lesson: the note and the traces of a run in, knowledge and the plan of the next run out."""

import contextlib
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from iez_client.filesystems import FileSystem
from iez_client.learn import stored
from iez_client.learn.foresee import RUNS_MAX
from iez_client.learn.memory import open_memory
from iez_client.learn.note import JobNote, kept_folders, notes_in, read_note, set_learned
from iez_client.learn.observed import observe_run
from iez_client.learn.planning import NextRun, make_plan
from iez_client.learn.remember import Learner, Lesson
from iez_client.plan.build import known_file_systems
from iez_client.trace import TRACES
from iez_common import config as settings
from iez_common.config import Config
from iez_common.errors import IezError

if TYPE_CHECKING:
    from iez_common.database import Database

_ABANDONED_S = 600.0  # who wrote a note this long ago and has not learned from it, will not
_ABANDONED_MAX = 3  # at the end of one run


def learn_from(note_path: Path, config: Config) -> Lesson:
    """Learns from the run whose traces lie beside the note."""
    note = read_note(note_path)
    # The file systems of that run, whatever is configured by now.
    config = settings.load(
        {
            "mock": note.mock,
            "mock_state": note.mock_state,
            "learn": config["learn"].value,
            "state_dir": config["state_dir"].value,
        }
    )
    observed = observe_run(note_path.parent, note.run, was_planned=bool(note.plan))
    with open_memory(config) as database:
        learner = Learner(database, _file_systems(config))
        lesson = learner.remember(note, observed, str(note_path.parent))
        if not lesson.is_underway:
            set_learned(note_path)
        lesson = replace(lesson, set_aside=database.set_aside)
        if lesson.is_known or lesson.is_underway:
            return lesson
        database.drop_old_files(lesson.application, RUNS_MAX)
        return _plan(database, lesson, note, config)


def _file_systems(config: Config) -> list[FileSystem]:
    """None where they cannot be told by now: what was traced can be remembered all the same."""
    try:
        return known_file_systems(config)
    except IezError:
        return []


def learn_all(
    config: Config, directory: Path | None = None, again: bool = False
) -> list[Lesson | IezError]:
    """Learns from the runs of `directory`, and from those that are kept, as far as nobody has;
    `again`: as far as this database does not know them."""
    state = config.path("state_dir")
    folders = [directory] if directory else []
    waiting = notes_in(folders + (kept_folders(state / TRACES) if state else []), again)
    found: list[Lesson | IezError] = []
    for path in waiting:
        try:
            lesson = learn_from(path, config)
        except IezError as error:
            found.append(error)
        except Exception as error:  # one that is odd is not in the way of the others
            found.append(IezError(f"{path}: {type(error).__name__}: {error}", f"rm {path}"))
        else:
            if lesson.is_underway:
                what = "another process is learning from it, or died at it less than a day ago"
                found.append(IezError(f"{path}: {what}", "iez learn, later"))
            elif not lesson.is_known:
                found.append(lesson)
    return found


def learn_abandoned(config: Config, now_s: float) -> None:
    """Learns from some runs whose learner was killed. Trouble with these is not the user's now."""
    state = config.path("state_dir")
    waiting = notes_in(kept_folders(state / TRACES)) if state else []
    for path in waiting[:_ABANDONED_MAX]:
        with contextlib.suppress(Exception):
            if now_s - path.stat().st_mtime > _ABANDONED_S:
                learn_from(path, config)


def _plan(database: "Database", lesson: Lesson, note: JobNote, config: Config) -> Lesson:
    next_run = NextRun(note.command, note.directory, note.rank_count)
    try:
        made = make_plan(database, lesson.application, next_run, config)
    except Exception as error:  # the run is remembered all the same
        # To be tried again before the next run: the OSTs may be others by then.
        with contextlib.suppress(IezError):
            roots = next_run.coming(config).roots
            stored.store(config, lesson.application.key, None, roots, 0, made_s=0.0)
        if not isinstance(error, IezError):
            again = f"iez plan make {quote(lesson.application.name)}"
            return replace(lesson, trouble=f"{type(error).__name__}: {error} (try: {again})")
        hint = f" (try: {error.hint})" if error.hint else ""
        return replace(lesson, trouble=f"{error.message}{hint}")
    return replace(lesson, planned_count=made.planned_count)
