"""The line at the end of a job: what was placed or seen, what was learned, what to type next."""

from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

from iez_client import place

if TYPE_CHECKING:
    from iez_client.learn.remember import Lesson
    from iez_client.plan.read import Plan
    from iez_client.trace import Tracing
    from iez_common.config import Config


@dataclass(frozen=True, slots=True)
class Told:
    """What came of learning from the run."""

    lesson: "Lesson | None" = None
    is_later: bool = False
    trouble: str = ""
    before: str = ""  # what went wrong before the job


def summary(plan: "Plan", tracing: "Tracing", told: Told, settings: "Config") -> str:
    """Without its `iez: `; empty where no watched file was met."""
    lesson = told.lesson
    if plan.has_entries:
        missed = _missed(lesson, settings) if lesson else ""
        outcomes = place.read_outcomes(tracing.directory, tracing.run)
        is_off = settings["learn"].value == "off"
        line, hint = place.summary(outcomes, missed), " (try: iez show)" if is_off else ""
    else:
        line, hint = _seen(tracing, settings)
    if not line:
        return f"not learned: {told.trouble}" if told.trouble else ""
    if told.trouble:
        return f"{line}; not learned: {told.trouble}"
    if told.before:
        line += f"; {told.before}"
    if told.is_later:
        return f"{line}; learning from it in the background (try: {_iez(settings)} runs)"
    if lesson is None:
        return line + hint
    return line + _learned(lesson, hint, settings)


def _iez(settings: "Config") -> str:
    """The command that looks where the run left what it knows."""
    from iez_common import config

    state = settings["state_dir"].value
    return "iez" if config.load()["state_dir"].value == state else f"IEZ_STATE_DIR={state} iez"


def _missed(lesson: "Lesson", settings: "Config") -> str:
    """In place of `N not in the plan`: why."""
    from iez_common.allocate.policy_file import policy_of

    if not lesson.was_planned:
        return ""
    least_bytes = policy_of(settings).pin_min_bytes
    small = sum(size_bytes < least_bytes for size_bytes in lesson.missed)
    new = len(lesson.missed) - small
    parts = [f"{small} too small to matter"] if small else []
    return ", ".join([*parts, *([f"{new} new"] if new else [])])


def _learned(lesson: "Lesson", hint: str, settings: "Config") -> str:
    """`hint` is what to try where there is no plan to look at."""
    said = ""
    if lesson.set_aside:
        damaged = f"the database was damaged and is now {lesson.set_aside}"
        said += f"; {damaged} (try: iez learn --again)"
    if lesson.is_afresh and lesson.planned_count:
        said += f"; {lesson.unknown_count} of {lesson.file_count} files are new: learned afresh"
    if lesson.trouble:
        return f"{said}; no plan for the next run: {lesson.trouble}"
    if not lesson.planned_count:
        return said + hint
    if not lesson.was_planned or lesson.is_afresh:
        said += "; the next run is planned"
    return f"{said} (try: {_iez(settings)} table {quote(lesson.application.name)})"


def _seen(tracing: "Tracing", settings: "Config") -> tuple[str, str]:
    """The line, and what to try where nothing is learned."""
    from iez_client.cli.show_report import summarise
    from iez_client.parse.merge import merge_traces
    from iez_client.parse.table import FileTable
    from iez_client.parse.traces import traces_of
    from iez_client.trace import TRACES
    from iez_common.units import format_about

    traces = traces_of(tracing.directory, tracing.run)
    if not traces.processes:
        return "", ""
    totals = summarise(FileTable(merge_traces(traces)), top=0, stat=False).totals
    if not totals.files:
        return "", ""
    state = settings.path("state_dir")
    is_newest = state is not None and tracing.directory.parent == state / TRACES
    where = "" if is_newest and _iez(settings) == "iez" else f" {tracing.directory}"
    files = f"{totals.files} file{'' if totals.files == 1 else 's'}"
    line = f"{files} seen, {format_about(totals.write_bytes)} written"
    return line, f" (try: iez show{where})"
