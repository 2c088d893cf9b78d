"""Columns: types that mean the same in SQLite, MariaDB and MySQL."""

from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

# 64 bits everywhere; only a column called INTEGER numbers its rows by itself in SQLite.
Number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Real: sa.Double[float] = sa.Double()
# LONGTEXT and LONGBLOB: those without LONG end at 64 KiB.
LongText = sa.Text().with_variant(mysql.LONGTEXT(), "mysql")
_LONG_BYTES = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mysql")
# Words compare byte by byte, as they do in SQLite.
_ON_SERVER: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
}
# As on servers, no id is given twice: who still writes to a deleted run must not meet another.
BY_ID: dict[str, Any] = {**_ON_SERVER, "sqlite_autoincrement": True}
# The rows of a run or planning lie together, as they do on servers.
IN_ORDER: dict[str, Any] = {**_ON_SERVER, "sqlite_with_rowid": False}
_SIGN = 1 << 63


class Name(sa.types.TypeDecorator[str]):
    """Text of the outside world, kept as bytes: file names need not be UTF-8, and bytes compare
    without regard to a server's collation. With a length it can be part of an index."""

    impl = sa.LargeBinary
    cache_ok = True

    def __init__(self, length_bytes: int = 0) -> None:
        super().__init__()
        self.length_bytes = length_bytes

    def load_dialect_impl(self, dialect: "Dialect") -> sa.types.TypeEngine[bytes]:
        kind = sa.VARBINARY(self.length_bytes) if self.length_bytes else _LONG_BYTES
        return dialect.type_descriptor(kind)

    def process_bind_param(self, value: str | None, dialect: "Dialect") -> bytes | None:
        return None if value is None else to_bytes(value)

    def process_result_value(self, value: bytes | None, dialect: "Dialect") -> str | None:
        return None if value is None else to_text(value)


def own_id() -> sa.Column[int]:
    return sa.Column("id", Number, primary_key=True)


def number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False)


def belongs_to(table: str, is_key: bool = False) -> sa.Column[int]:
    """A row that goes when the one it belongs to does."""
    owner = sa.ForeignKey(f"{table}s.id", ondelete="CASCADE")
    return sa.Column(f"{table}_id", Number, owner, primary_key=is_key, nullable=False)


def ordinal() -> sa.Column[int]:
    """The place among the rows of a run or planning; it and that one's id are the key."""
    return sa.Column("ordinal", sa.Integer, primary_key=True, autoincrement=False)


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def to_text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def hash_of(text: str) -> bytes:
    """SHA-256 of a text that is too long for an index."""
    return sha256(to_bytes(text)).digest()


def key_of(path: bytes) -> int:
    """The first 64 bits of a path's SHA-256: a small index; the path itself decides."""
    return int.from_bytes(sha256(path).digest()[:8], "big", signed=True)


def to_signed(number: int) -> int:
    """An unsigned 64-bit number as one that all databases can hold."""
    return number - 2 * _SIGN if number >= _SIGN else number


def to_unsigned(number: int) -> int:
    return number + 2 * _SIGN if number < 0 else number


def pack_values(values: Iterable[str]) -> bytes:
    """Values of fields as bytes, each closed by the one byte that no file name has."""
    return to_bytes("".join(f"{value}\0" for value in values))


def unpack_values(packed: bytes) -> tuple[str, ...]:
    return tuple(to_text(packed).split("\0")[:-1])


def pack_osts(osts: Iterable[int]) -> str:
    return " ".join(map(str, osts))


def unpack_osts(packed: str) -> tuple[int, ...]:
    return tuple(map(int, packed.split()))
