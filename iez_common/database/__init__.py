"""The interaction database: what iez remembers of applications, in SQLite or on a server.
docs/database.md explains it. Importing this costs half a second: only where it is needed."""

from iez_common.database.database import Database
from iez_common.database.opening import open_database
from iez_common.database.records import (
    ApplicationSummary,
    DatabaseInfo,
    HistoryRow,
    Imported,
    Pruned,
    StoredPlanning,
    StoredRun,
)

__all__ = [
    "ApplicationSummary",
    "Database",
    "DatabaseInfo",
    "HistoryRow",
    "Imported",
    "Pruned",
    "StoredPlanning",
    "StoredRun",
    "open_database",
]
