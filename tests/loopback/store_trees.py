"""The trees below a store, of a client and of a server."""

import os
from pathlib import Path

from loopback_fixtures import Mounted
from lustre_calls import create, specific
from posix_checks import MIB

SPACE = ("kbytestotal", "kbytesfree", "kbytesavail", "filestotal", "filesfree", "blocksize")


def refresh(mounted: Mounted) -> None:
    """A change, even to what is, makes the daemon write its trees."""
    mounted.set("--inject", "none")


def osc(mounted: Mounted, ost: int) -> Path:
    """Where a client shows an OST."""
    name = f"{mounted.config.fsname}-OST{ost:04x}-osc-{mounted.config.instance}"
    return mounted.store / "client" / "osc" / name


def obdfilter(mounted: Mounted, ost: int) -> Path:
    """Where its server does."""
    return mounted.store / "server" / "obdfilter" / f"{mounted.config.fsname}-OST{ost:04x}"


def text_of(directory: Path, name: str) -> str:
    return (directory / name).read_text().removesuffix("\n")


def number_of(directory: Path, name: str) -> int:
    return int(text_of(directory, name))


def file_on(path: Path, ost: int) -> Path:
    """A new file whose data lies on that OST."""
    os.close(create(path, specific([ost], MIB)))
    return path
