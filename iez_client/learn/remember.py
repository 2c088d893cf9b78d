"""Remember: the note and the traces of a run in, rows of the database out."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from iez_client.filesystems import FileSystem
from iez_client.learn.memory import owner_name
from iez_client.learn.note import JobNote
from iez_client.learn.observed import ObservedRun, creation_name, observed_file
from iez_client.learn.roots import roots_on
from iez_client.names import (
    Learned,
    Roots,
    RunFacts,
    Seen,
    field_values,
    identify,
    learn_names,
)
from iez_common.errors import IezError
from iez_common.knowledge import Application, ObservedFile, Run, Template

if TYPE_CHECKING:
    from iez_common.database import Database

UNKNOWN_SHARE_MAX = 0.5  # of a run's files; with more, the application is learned afresh
_MISSED = "missed"


@dataclass(frozen=True, slots=True)
class Lesson:
    """What was learned from one run."""

    application: Application
    file_count: int = 0
    unknown_count: int = 0
    missed: tuple[int, ...] = ()  # bytes of each file that was not in the plan
    planned_count: int = 0  # files of the next run that have a place
    was_planned: bool = False  # the run itself had a plan by earlier runs
    is_afresh: bool = False
    is_known: bool = False  # somebody has learned from it already
    is_underway: bool = False  # somebody is at it, or died at it
    set_aside: Path | None = None  # where a damaged database went
    trouble: str = ""  # why there is no plan


class Learner:
    """Puts a run, its files and their templates into the database."""

    def __init__(self, database: "Database", file_systems: Sequence[FileSystem]) -> None:
        self._database = database
        self._file_systems = file_systems

    def _roots(self, command: Sequence[str], directory: str) -> Roots:
        return roots_on(self._file_systems, command, directory)

    def remember(self, note: JobNote, observed: ObservedRun, trace_dir: str) -> Lesson:
        """What came of it; the plan is made later."""
        application = self._application(note)
        known = self._database.templates(application)
        facts = self._facts(note, observed)
        seen = [
            Seen(
                creation_name(each),
                each.mpi_rank,
                observed.pids.get(each.mpi_rank, 0),
                each.first_write_s or 0.0,
            )
            for each in observed.files
        ]
        learned = learn_names(seen, facts, known)
        unknown_count = len(learned.unknown)
        # A run that failed says little about what the application writes when it does not.
        is_afresh = bool(known) and note.status == 0
        is_afresh = is_afresh and unknown_count > UNKNOWN_SHARE_MAX * len(seen)
        if is_afresh:
            application = self._database.start_epoch(
                application, application.epoch
            ) or self._application(note)
            learned = learn_names(seen, facts, ())
        run = Run(
            identity=note.run,
            started_s=observed.started_s,
            ended_s=note.ended_s,
            command=note.command,
            directory=note.directory,
            rank_count=facts.rank_count,
            host_count=observed.host_count,
            status=note.status,
            trace_dir=trace_dir,
        )
        run_id = self._database.add_run(application, run)
        if run_id is None:
            is_known = any(
                each.run.identity == note.run for each in self._database.runs(application)
            )
            return Lesson(application, is_known=is_known, is_underway=not is_known)
        files = self._add_files(application, run_id, observed, learned, unknown_count)
        return Lesson(
            application,
            len(seen),
            unknown_count,
            missed=tuple(each.write_bytes for each in files if each.outcome == _MISSED),
            was_planned=note.plan == "learned",
            is_afresh=is_afresh,
        )

    def _add_files(
        self,
        application: Application,
        run_id: int,
        observed: ObservedRun,
        learned: Learned,
        unknown_count: int,
    ) -> list[ObservedFile]:
        try:
            saved = self._save_templates(application, learned)
            files = [
                observed_file(record, saved[match.template], match.values)
                for record, match in zip(observed.files, learned.matches, strict=True)
            ]
            self._database.add_files(run_id, files)
            self._database.complete_run(
                run_id,
                observed.outcomes,
                file_count=len(files),
                write_bytes=sum(file.write_bytes for file in files),
                unknown_count=unknown_count,
            )
        except BaseException:
            with contextlib.suppress(IezError):
                self._database.abandon_run(run_id)
            raise
        return files

    def _save_templates(self, application: Application, learned: Learned) -> dict[int, int]:
        """Those that files of this run matched; their ids, by their numbers in `learned`."""
        numbers = [number for number, each in enumerate(learned.templates) if each.file_count]
        saved = self._database.save_templates(application, [learned.templates[n] for n in numbers])
        ids = {number: template.id for number, template in zip(numbers, saved, strict=True)}
        for number, old_ids in enumerate(learned.replaces):
            if old_ids:
                self._replace(
                    application, old_ids, replace(learned.templates[number], id=ids[number])
                )
        return ids

    def _replace(
        self, application: Application, old_ids: Sequence[int], template: Template
    ) -> None:
        """Earlier files get the fields of the template that theirs were generalised to."""
        runs = {each.run.id: each.run for each in self._database.runs(application)}
        roots = {run_id: self._roots(run.command, run.directory) for run_id, run in runs.items()}

        def values_of(run_id: int, path: str) -> tuple[str, ...] | None:
            return field_values(template, roots[run_id], path) if run_id in roots else None

        self._database.replace_templates(old_ids, template.id, values_of)

    def _application(self, note: JobNote) -> Application:
        """By its key; a new one gets a name that no other has."""
        identity = identify(note.command, note.app)
        owner = owner_name()
        known = self._database.find_applications(owner, identity.key)
        for each in known:
            if each.key == identity.key:
                return each
        name, number = identity.name, 1
        while any(each.name == name for each in self._database.find_applications(owner, name)):
            number += 1
            name = f"{identity.name}-{number}"
        return self._database.get_application(
            owner, identity.key, name=name, program=identity.program, shape=identity.shape
        )

    def _facts(self, note: JobNote, observed: ObservedRun) -> RunFacts:
        return RunFacts(
            roots=self._roots(note.command, note.directory),
            rank_count=observed.rank_count or note.rank_count,
            started_s=observed.started_s,
            job_ids=frozenset(note.job_ids),
        )
