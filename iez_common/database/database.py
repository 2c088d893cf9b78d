"""Database: all that can be remembered and asked for, in one object."""

from pathlib import Path
from types import TracebackType

from iez_common.database.applications import Applications
from iez_common.database.exporting import Exporting
from iez_common.database.history import History
from iez_common.database.importing import Importing
from iez_common.database.keeping import Keeping
from iez_common.database.regroup import Regrouping
from iez_common.database.templates import Templates


class Database(Applications, Templates, Regrouping, Keeping, History, Exporting, Importing):
    """An open interaction database. Every method is one or more short transactions, and no
    iterator holds a lock between its items: ten jobs can end at once."""

    @property
    def set_aside(self) -> Path | None:
        """The damaged SQLite file that was found and renamed."""
        return self._session.set_aside

    @property
    def place(self) -> str:
        """Where it is, without a password."""
        return self._session.address.place

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> "Database":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
