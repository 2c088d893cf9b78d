"""Memory: the interaction database of this user, as the settings name it."""

import os
import pwd
from pathlib import Path
from typing import TYPE_CHECKING

from iez_common.config import Config, database_url
from iez_common.errors import InputError, UsageError

if TYPE_CHECKING:
    from iez_common.database import Database
    from iez_common.knowledge import Application

_SQLITE = "sqlite:///"
_PATIENCE_S = 30.0  # for a locked database


def owner_name() -> str:
    """Whose applications they are: a site's database holds those of all users."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def is_own(config: Config) -> bool:
    """Whether it is the default one, which nothing but the runs of this user fills."""
    return not config["database"].value


def has_memory(config: Config) -> bool:
    """False where nothing can have been remembered yet. SQLite's file is not made to find out."""
    url = database_url(config)
    return not url.startswith(_SQLITE) or Path("/", url.removeprefix(_SQLITE)).exists()


def open_memory(config: Config, patience_s: float = _PATIENCE_S) -> "Database":
    from iez_common.database import open_database

    return open_database(database_url(config), patience_s=patience_s)


def open_existing(config: Config) -> "Database":
    """For commands that only tell what is known."""
    if not has_memory(config):
        raise InputError("no run has been learned from yet", "iez-run COMMAND")
    return open_memory(config)


def find_application(database: "Database", word: str) -> "Application":
    """The application that the user means."""
    found = database.find_applications(owner_name(), word)
    if not found:
        raise InputError(f"no application is called {word!r}", "iez apps")
    if len(found) > 1:
        names = ", ".join(f"{each.name} ({each.key[:8]})" for each in found)
        raise UsageError(f"{word!r} may be any of {names}", "give more of its name, or its key")
    return found[0]
