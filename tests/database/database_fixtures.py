"""Databases for tests: each test has a fresh one, in a file and on a real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mariadb_server import MariaDbServer, make_template, private_folder, running

from iez_common.database import Database, open_database

BOTH = ["sqlite", pytest.param("mariadb", marks=pytest.mark.mariadb)]


@pytest.fixture(scope="session")
def server_template() -> Iterator[Path]:
    with private_folder() as folder:
        yield make_template(folder)


@pytest.fixture(scope="session")
def server(server_template: Path) -> Iterator[MariaDbServer]:
    """The server that all tests share; each has a database of its own on it."""
    with running(server_template) as started:
        yield started


@pytest.fixture
def own_server(server_template: Path) -> Iterator[MariaDbServer]:
    """A server that a test may kill."""
    with running(server_template) as started:
        yield started


@pytest.fixture(params=BOTH)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/state/iez.db"
    started: MariaDbServer = request.getfixturevalue("server")
    return started.url(started.new_database())


@pytest.fixture
def now() -> list[float]:
    """The clock of `database`: a test moves it by writing to it."""
    return [1_800_000_000.0]


@pytest.fixture
def database(url: str, now: list[float]) -> Iterator[Database]:
    with open_database(url, upgrade=True, clock=lambda: now[0]) as opened:
        yield opened


@pytest.fixture
def second_url(tmp_path: Path) -> str:
    """Another database, to move things to."""
    return f"sqlite:///{tmp_path}/other/iez.db"
