"""Ready: the plan that earlier runs of an application led to, ready for the run that starts."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from iez_client.filesystems import FileSystem
from iez_client.learn import stored
from iez_client.learn.note import JobNote
from iez_client.learn.roots import roots_on
from iez_client.learn.stored import StoredPlan
from iez_client.names import identify
from iez_client.observe.osts import observe
from iez_client.plan.bind import rebind
from iez_client.plan.build import known_file_systems
from iez_common.config import Config
from iez_common.errors import IezError, UnknownOstError
from iez_common.records import CLOSED

_PATIENCE_S = 5.0  # for a locked database, while the job waits
_LOOK_S = 1.0  # for OSTs that do not answer


@dataclass(frozen=True, slots=True)
class Ready:
    """A plan that holds here and now. None: nothing is known of the application, or it writes
    nothing to be placed."""

    image: bytes | bytearray | None = None
    trouble: str = ""  # what the user should know


def ready_plan(note: JobNote, config: Config) -> Ready:
    """What was stored is used as it is where it still fits; for other directories or ranks, and
    once it is old, it is made again from the database."""
    key = identify(note.command, note.app).key
    file_systems = known_file_systems(config)
    roots = roots_on(file_systems, note.command, note.directory)
    found = stored.find(config, key)
    if found and not found.fits(roots, note.rank_count, file_systems):
        found = None
    if found and found.is_fresh(time.time()):
        image = _bound(found, file_systems, config)
        if image or not found.plan:
            return Ready(image)
    try:
        return _remade(key, note, file_systems, config)
    except IezError as error:
        image = _bound(found, file_systems, config) if found else None
        if image is None:
            raise
        return Ready(image, f"its plan is an old one, as none could be made: {error.message}")


def _bound(
    found: StoredPlan, file_systems: Sequence[FileSystem], config: Config
) -> bytes | bytearray | None:
    """With the OSTs of now; None where it names one that is gone or takes no new files."""
    if not found.plan:
        return None
    try:
        rebind(found.plan, _open_ones(file_systems, config), config.refresh_ms)
        return rebind(found.plan, file_systems, config.refresh_ms)
    except UnknownOstError:
        return None


def _open_ones(file_systems: Sequence[FileSystem], config: Config) -> list[FileSystem]:
    """Without the OSTs that take no new files."""
    observed = {each.prefix: each for each in observe(config, deadline_s=_LOOK_S)}
    found = []
    for each in file_systems:
        seen = observed[each.prefix].osts if each.prefix in observed else ()
        closed = {ost.index for ost in seen if ost.states & CLOSED}
        osts = tuple(ost for ost in each.osts if ost.index not in closed)
        found.append(replace(each, osts=osts))
    return found


def _remade(key: str, note: JobNote, file_systems: Sequence[FileSystem], config: Config) -> Ready:
    from iez_client.learn.memory import has_memory, is_own, open_memory, owner_name

    # What its own database knows has left a plan; others may know more.
    if not has_memory(config) or (is_own(config) and not stored.exists(config, key)):
        return Ready()
    from iez_client.learn.planning import NextRun, make_plan_quickly

    with open_memory(config, _PATIENCE_S) as database:
        if database.set_aside:
            damaged = f"the database was damaged and is now {database.set_aside}"
            return Ready(trouble=f"{damaged} (try: iez learn --again)")
        known = database.find_applications(owner_name(), key)
        application = next((each for each in known if each.key == key), None)
        if application is None:
            return Ready()
        next_run = NextRun(note.command, note.directory, note.rank_count)
        made = make_plan_quickly(database, application, next_run, config)
    return Ready(made.image)
