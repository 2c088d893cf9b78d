"""A private MariaDB server for tests: on loopback, never as root, gone with the tests."""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import mysql.connector

USER = "iez_tester"
PLAIN_USER = "iez_user"
PASSWORD = "geheim/@: wort"
QUOTED_PASSWORD = "geheim%2F%40%3A%20wort"
_START_S = 60
_OPTIONS = [
    "--no-defaults",
    "--bind-address=127.0.0.1",
    "--skip-name-resolve",
    "--innodb-buffer-pool-size=128M",
    "--innodb-log-file-size=128M",
    "--innodb-flush-log-at-trx-commit=2",  # what was committed survives a kill
    "--innodb-doublewrite=0",
    "--skip-log-bin",
]
# As docs/database.md advises; the second one cannot make or change tables. The server reads a
# statement a line.
_USE = "SELECT, INSERT, UPDATE, DELETE"
_CHANGE = "CREATE, ALTER, DROP, INDEX, REFERENCES"
_ACCOUNT = f"""
CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{PASSWORD}';
GRANT {_USE}, {_CHANGE} ON `iez\\_%`.* TO '{USER}'@'%';
CREATE USER IF NOT EXISTS '{PLAIN_USER}'@'%' IDENTIFIED BY '{PASSWORD}';
GRANT {_USE} ON `iez\\_%`.* TO '{PLAIN_USER}'@'%';
"""


class MariaDbServer:
    """A server over a copy of a data directory."""

    def __init__(self, folder: Path, template: Path) -> None:
        self._folder = folder
        shutil.copytree(template, folder / "data")
        accounts = folder / "accounts.sql"
        accounts.write_text(_ACCOUNT)
        give_to_server(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self._made = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        folder = self._folder
        self._process = subprocess.Popen(
            [
                find_program("mariadbd"),
                *_OPTIONS,
                f"--datadir={folder / 'data'}",
                f"--socket={folder / 'socket'}",
                f"--pid-file={folder / 'pid'}",
                f"--log-error={folder / 'log'}",
                f"--init-file={folder / 'accounts.sql'}",
                f"--tmpdir={folder}",
                f"--port={self.port}",
            ],
            **as_server_user(),
        )
        deadline_s = time.monotonic() + _START_S
        while True:
            try:
                self.connect().close()
            except mysql.connector.Error:
                log = folder / "log"
                assert self._process.poll() is None, log.read_text()
                assert time.monotonic() < deadline_s, log.read_text()
                time.sleep(0.05)
            else:
                return

    def connect(self, database: str = "") -> "mysql.connector.MySQLConnection":
        return mysql.connector.connect(
            host="127.0.0.1",
            port=self.port,
            user=USER,
            password=PASSWORD,
            database=database or None,
            use_pure=True,
            charset="utf8mb4",
            collation="utf8mb4_bin",
        )

    def run_sql(self, *statements: str, database: str = "") -> list[tuple[object, ...]]:
        """Runs statements; gives the rows of the last one."""
        rows: list[tuple[object, ...]] = []
        with contextlib.closing(self.connect(database)) as connection:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
                rows = cursor.fetchall() if cursor.with_rows else []
            connection.commit()
        return rows

    def new_database(self) -> str:
        """The name of a new database without tables."""
        self._made += 1
        name = f"iez_{self._made}"
        self.run_sql(f"CREATE DATABASE {name}")
        return name

    def url(self, database: str) -> str:
        return f"mysql://{USER}:{QUOTED_PASSWORD}@127.0.0.1:{self.port}/{database}"

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """A folder that the server's user owns; those of pytest let nobody else in."""
    folder = Path(tempfile.mkdtemp(prefix="iez-mariadb-"))
    try:
        give_to_server(folder)
        yield folder
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def running(template: Path) -> Iterator[MariaDbServer]:
    """A server that runs until the end of the block, if nobody kills it before."""
    with private_folder() as folder:
        server = MariaDbServer(folder, template)
        try:
            server.start()
            yield server
        finally:
            server.kill()


def make_template(folder: Path) -> Path:
    """A data directory as a fresh server has it. It takes seconds; to copy it does not."""
    data = folder / "template"
    subprocess.run(
        [
            find_program("mariadb-install-db"),
            "--no-defaults",
            f"--datadir={data}",
            f"--tmpdir={folder}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
        **as_server_user(),
    )
    return data


def find_program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/libexec")
    assert found, f"{name} is missing: apt-get install mariadb-server-core mariadb-client-core"
    return found


def as_server_user() -> dict[str, str]:
    """Options of a process that must not be root's."""
    return {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}


def give_to_server(folder: Path) -> None:
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        for path in (folder, *folder.rglob("*")):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
