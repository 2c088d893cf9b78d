"""Facts: what is asked about an OST, and what has been said about it.

Standard library only, as all that the readers import: they are started for every look.
"""

import json
from dataclasses import asdict, dataclass

from iez_client.observe.speed import NO_RPCS, Rpcs

COUNT = -1  # in place of an index: how many OSTs a mount has
STATE_FILE = "statfs_state"  # of a device, since 2.17


@dataclass(frozen=True, slots=True)
class Place:
    """A directory of one device in one of the trees."""

    source: str  # the tree: sys, proc, debugfs
    directory: str


@dataclass(frozen=True, slots=True)
class Task:
    """One OST to ask about."""

    index: int
    # The OST's directories, for each instance of a mount in the order of the trees; none for an
    # instance that does not have the OST.
    instances: tuple[tuple[Place, ...], ...] = ()
    mount: str = ""  # asked by ioctl where the trees do not tell; empty: not asked


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known so far. An OST that hangs leaves it at that."""

    answered: bool = False  # nothing more will come
    error: str = ""  # an errno's name: why there are no sizes
    is_inactive: bool = False
    oss: str = ""
    states: tuple[str, ...] = ()
    size_bytes: int = 0  # 0: not told
    available_bytes: int = 0
    used_bytes: int = 0
    files_free: int | None = None
    source: str = ""
    rpcs: Rpcs = NO_RPCS
    count: int = 0  # the answer to COUNT


def dump_tasks(tasks: list[Task], until_s: float) -> bytes:
    """The tasks as one line of text. `until_s` is on the machine's monotonic clock, which all its
    processes share."""
    return json.dumps({"until_s": until_s, "tasks": [asdict(task) for task in tasks]}).encode()


def load_tasks(text: bytes) -> tuple[list[Task], float]:
    values = json.loads(text)
    tasks = [
        Task(
            task["index"],
            tuple(tuple(Place(**place) for place in places) for places in task["instances"]),
            task["mount"],
        )
        for task in values["tasks"]
    ]
    return tasks, values["until_s"]


def dump_facts(facts: Facts) -> str:
    return json.dumps(asdict(facts))


def load_facts(text: str) -> Facts:
    values = json.loads(text)
    made = {"states": tuple(values["states"]), "rpcs": Rpcs(**values["rpcs"])}
    return Facts(**(values | made))
