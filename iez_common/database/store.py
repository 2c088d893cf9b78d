"""Store: what the parts of the database share."""

from iez_common.database.session import Session


class Store:
    """One part of a database: methods over its session."""

    def __init__(self, session: Session) -> None:
        self._session = session
