"""Address: where a database is, from its URL. The password stays in here."""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from iez_common.config import without_password
from iez_common.errors import DatabaseAddressError, reason

_EXAMPLE = "mysql://USER@HOST/NAME?password_file=FILE, or the path of an SQLite file"
_PORT = 3306


@dataclass(frozen=True, slots=True)
class SqliteFile:
    """A database in a file."""

    path: Path

    @property
    def place(self) -> str:
        return str(self.path)


@dataclass(frozen=True, slots=True)
class Server:
    """A database on a MariaDB or MySQL server."""

    host: str
    port: int
    name: str
    user: str
    password: str = field(repr=False)

    @property
    def place(self) -> str:
        """For people: without the password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORT else f":{self.port}"
        return f"mysql://{self.user}@{host}{port}/{self.name}"


Address = SqliteFile | Server


def parse_address(url: str) -> Address:
    """Takes `sqlite:///ABSOLUTE/PATH` and `mysql://user[:password]@host[:port]/name`."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        if not rest.startswith("/") or rest == "/":
            raise DatabaseAddressError(f"{url!r} names no SQLite file", "sqlite:////home/me/iez.db")
        # sqlite:///PATH, where PATH begins with a slash of its own or takes this one.
        return SqliteFile(Path(rest[1:] if rest.startswith("//") else rest))
    if scheme != "mysql":
        raise DatabaseAddressError(f"{without_password(url)!r} is no database", _EXAMPLE)
    return _parse_server(url)


def _parse_server(url: str) -> Server:
    shown = without_password(url)
    try:
        parts = urlsplit(url)
        port = parts.port or _PORT
        options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True))
    except ValueError:
        # Not in its own words, which may quote the password.
        raise DatabaseAddressError(f"{shown!r} makes no sense", _EXAMPLE) from None
    name = unquote(parts.path.removeprefix("/"))
    password_file = options.pop("password_file", None)
    if options or not (parts.hostname and parts.username and name) or "/" in name:
        raise DatabaseAddressError(f"{shown!r} makes no sense", _EXAMPLE)
    if password_file is not None:
        if parts.password is not None:
            raise DatabaseAddressError(f"{shown!r} has two passwords", _EXAMPLE)
        password = read_password(Path(password_file).expanduser())
    else:
        password = unquote(parts.password or "")
    return Server(parts.hostname, port, name, unquote(parts.username), password)


def read_password(path: Path) -> str:
    """The first line of a file that nobody else can read."""
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise DatabaseAddressError(
                    f"{path} holds a password and is open to others", f"chmod 600 {path}"
                )
            password = file.readline().rstrip("\r\n")
    except OSError as error:
        raise DatabaseAddressError(f"{path} cannot be read: {reason(error)}") from None
    except UnicodeDecodeError:
        raise DatabaseAddressError(f"{path} holds no text") from None
    if not password:
        raise DatabaseAddressError(f"{path} holds no password in its first line")
    return password
