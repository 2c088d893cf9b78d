"""Databases: SQLite and a private MariaDB server with the same 10^6 paths as the plan."""

import contextlib
import os
import pwd
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import plans
from bench import compile_program, note
from workers import pin

SERVER_OPTIONS = [
    "--skip-networking",
    "--skip-grant-tables",  # the socket lies in a directory of this user alone
    "--innodb-buffer-pool-size=512M",
    "--innodb-log-file-size=512M",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--secure-file-priv=",
]


@contextlib.contextmanager
def sqlite(mock: Path, work: Path) -> Iterator[list[str | Path]]:
    """The command that looks up in SQLite."""
    note("loading SQLite")
    program = compile_program("lookup_sqlite", work, "-lsqlite3")
    database = work / "layouts.sqlite"
    subprocess.run([program, "load", database, mock], check=True)
    yield [program, "hit", database, mock]
    database.unlink()


@contextlib.contextmanager
def mariadb(mock: Path, work: Path) -> Iterator[list[str | Path]]:
    """The command that looks up in MariaDB, while the server runs."""
    note("starting MariaDB")
    flags = subprocess.run(
        ["mariadb_config", "--cflags", "--libs"], check=True, capture_output=True, text=True
    ).stdout
    program = compile_program("lookup_mariadb", work, *shlex.split(flags))
    data = work / "mariadb"
    data.mkdir(mode=0o700)
    user = server_user(data)
    socket, table = data / "socket", data / "layouts.csv"
    options = ["--no-defaults", f"--datadir={data / 'data'}", f"--user={user}"]
    install = ["mariadb-install-db", *options, "--auth-root-authentication-method=normal"]
    subprocess.run([*install, "--skip-test-db"], check=True, stdout=subprocess.DEVNULL)
    daemon = shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/libexec")
    files = [f"--socket={socket}", f"--pid-file={data / 'pid'}", f"--log-error={data / 'log'}"]
    # On the CPU of who asks: on a busy machine the way to another one takes longer than the query.
    server = subprocess.Popen([daemon, *options, *files, *SERVER_OPTIONS], preexec_fn=pin)
    try:
        wait_for(socket, server)
        note("loading MariaDB")
        plans.write_table(mock, table)
        table.chmod(0o644)
        subprocess.run([program, "load", socket, mock, table], check=True)
        yield [program, "hit", socket, mock]
    finally:
        server.terminate()
        server.wait()


def server_user(data: Path) -> str:
    """The server refuses to run as root: then it runs as nobody."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    nobody = pwd.getpwnam("nobody")
    os.chown(data, nobody.pw_uid, nobody.pw_gid)
    return nobody.pw_name


def wait_for(socket: Path, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 60
    while not socket.exists():
        if server.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("bench: the MariaDB server does not start")
        time.sleep(0.1)
