"""Roots: the directories of a command, by the names under which files are traced and planned."""

from collections.abc import Sequence

from iez_client.filesystems import FileSystem
from iez_client.names import Roots, roots_of


def roots_on(file_systems: Sequence[FileSystem], command: Sequence[str], directory: str) -> Roots:
    """A directory with several names, by a symbolic link, is called by its file system's own."""
    found = []
    for symbol, path in roots_of(command, directory).items():
        for each in file_systems:
            for alias in each.aliases:
                if path == alias or path.startswith(f"{alias}/"):
                    path = each.prefix + path[len(alias) :]
        found.append((symbol, path))
    return Roots(found)
