"""Reading: asks one OST. Any read here can block for half a minute, so it runs in a reader process
only (readers.py)."""

import errno
import fcntl
import functools
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from iez_client.observe import statfs
from iez_client.observe.facts import COUNT, STATE_FILE, Facts, Place, Task
from iez_client.observe.speed import NO_RPCS, rpcs_of
from iez_client.observe.states import from_bits, from_letters

_FILE_BYTES_MAX = 65536
# Not this tree: the file is elsewhere in this release, or this user may not read it here.
_ELSEWHERE = {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM}
_IMPORT_STATE = re.compile(r"^\s*state:\s*(\w+)", re.MULTILINE)
_IMPORT_NID = re.compile(r'^\s*current_connection:\s*"?([^"\s]+)', re.MULTILINE)
_NID_CHARS_MAX = 128
# A client on the server's own node has this for every OST: it tells no servers apart.
_LOCAL_NID = "0@lo"


def ask(task: Task, ioctl: statfs.Ioctl = fcntl.ioctl) -> Iterator[Facts]:
    """Everything known after each step, so that what came before a step that hangs is not lost.
    The last one has `answered`."""
    try:
        if task.index == COUNT:
            yield Facts(answered=True, count=statfs.count_osts(_open_mount(task.mount), ioctl))
            return
        facts, live = _local_facts(task)
        if task.instances:
            yield facts
        if task.instances and not live:
            yield replace(facts, answered=True, error="ESHUTDOWN")
            return
        yield replace(_with_space(facts, live, task, ioctl), answered=True)
    except OSError as error:
        yield Facts(answered=True, error=_name(error))


def _local_facts(task: Task) -> tuple[Facts, list[tuple[Place, ...]]]:
    """What the client knows without asking a server, and the instances in which the OST is in use.
    It is inactive if one lacks it or has it switched off, as in filesystems.from_mounts."""
    live = [places for places in task.instances if places and _read(places, "active").text != "0"]
    oss = next((nid for places in task.instances if (nid := _server(places))), "")
    # Each mount counts its own; the first one that is in use will do.
    rpcs = NO_RPCS
    if live:
        rpcs = rpcs_of(_read(live[0], "import").text, _read(live[0], "rpc_stats").text)
    return Facts(is_inactive=len(live) < len(task.instances), oss=oss, rpcs=rpcs), live


def _with_space(
    facts: Facts, live: Sequence[Sequence[Place]], task: Task, ioctl: statfs.Ioctl
) -> Facts:
    for places in live:
        try:
            if _import(places, _IMPORT_STATE) == "DISCONN":
                # The client itself has lost the server; a read would only wait for it.
                return replace(facts, error="ENOTCONN")
            found = _space(facts, places)
        except OSError as error:
            is_inactive = facts.is_inactive or error.errno == errno.ESHUTDOWN
            return replace(facts, error=_name(error), is_inactive=is_inactive)
        if found:
            return found
    if not task.mount:
        return replace(facts, error="ENOENT")
    return _space_by_ioctl(facts, task, ioctl)


def _space(facts: Facts, places: Sequence[Place]) -> Facts | None:
    """The sizes by files; None if no tree has them."""
    total = _read(places, "kbytestotal")
    size_kib = _number(total.text)
    available_kib = _number(_read(places, "kbytesavail").text)
    if not size_kib or available_kib is None:
        return None
    free_kib = _number(_read(places, "kbytesfree").text)
    if free_kib is None:
        free_kib = available_kib
    return replace(
        facts,
        size_bytes=size_kib << 10,
        available_bytes=available_kib << 10,
        used_bytes=max(0, size_kib - free_kib) << 10,
        files_free=_number(_read(places, "filesfree").text),
        states=from_letters(_read(places, STATE_FILE).text),
        source=total.source,
    )


def _space_by_ioctl(facts: Facts, task: Task, ioctl: statfs.Ioctl) -> Facts:
    try:
        found = statfs.ask_ost(_open_mount(task.mount), task.index, ioctl)
    except OSError as error:
        is_inactive = facts.is_inactive or error.errno in (errno.ENODATA, errno.ESHUTDOWN)
        return replace(facts, error=_name(error), is_inactive=is_inactive)
    if not found.size_bytes:
        return replace(facts, error="ENOENT")
    return replace(
        facts,
        size_bytes=found.size_bytes,
        available_bytes=found.available_bytes,
        used_bytes=max(0, found.size_bytes - found.free_bytes),
        files_free=found.files_free,
        states=from_bits(found.state_bits),
        source="ioctl",
    )


@functools.cache
def _open_mount(mount: str) -> int:
    """Once a process, and not once an OST: it is a question to the MDS."""
    return os.open(mount, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


@dataclass(frozen=True, slots=True)
class _Found:
    """A file's text, and the tree that had it. Both are empty where none has it."""

    text: str = ""
    source: str = ""


def _read(places: Sequence[Place], name: str) -> _Found:
    """The file of the first tree that has it: one release has them in several."""
    for place in places:
        try:
            descriptor = os.open(f"{place.directory}/{name}", os.O_RDONLY | os.O_CLOEXEC)
            try:
                text = os.read(descriptor, _FILE_BYTES_MAX)
            finally:
                os.close(descriptor)
        except OSError as error:
            if error.errno in _ELSEWHERE:
                continue
            raise
        return _Found(text.decode("ascii", "replace").strip(), place.source)
    return _Found()


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def _server(places: Sequence[Place]) -> str:
    """The NID of the server; empty if it is unknown."""
    for name in ("ost_conn_uuid", "conn_uuid"):
        words = _read(places, name).text.split()
        if words:
            break
    else:
        words = [_import(places, _IMPORT_NID)]
    nid = words[0][:_NID_CHARS_MAX]
    return "" if nid in ("<none>", _LOCAL_NID) else nid


def _import(places: Sequence[Place], field: re.Pattern[str]) -> str:
    """A field of the file `import`, which only root may read since 2.17."""
    match = field.search(_read(places, "import").text)
    return match[1] if match else ""


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "EIO")
