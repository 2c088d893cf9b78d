"""Trees: where the devices of each OST are, in the three places of different releases."""

from collections.abc import Sequence
from pathlib import Path

from iez_client import filesystems
from iez_client.observe.facts import STATE_FILE, Place, Task

SOURCES = ("sys", "proc", "debugfs")  # names of filesystems.OSC_ROOTS


def tasks_by_file_system(
    mounts: dict[str, str], roots: Sequence[Path] | None = None
) -> dict[str, list[Task]]:
    """What to ask about the OSTs of each file system, sorted by index; only those that the trees
    know. `mounts` gives a mount point for each name."""
    found: dict[str, dict[int, dict[str, list[Place]]]] = {}
    for source, root in zip(SOURCES, roots or filesystems.OSC_ROOTS, strict=True):
        for device in filesystems.devices_below(root):
            if device.fs_name in mounts:
                instances = found.setdefault(device.fs_name, {}).setdefault(device.index, {})
                place = Place(source, str(device.directory))
                instances.setdefault(device.instance, []).append(place)
    return {name: _tasks(osts, mounts[name]) for name, osts in found.items()}


def state_task(task: Task) -> Task | None:
    """What to ask for the states of an OST of a release whose trees do not tell them."""
    places = [place for instance in task.instances for place in instance]
    # A file that is there or not: that asks nobody.
    if not places or any(Path(each.directory, STATE_FILE).exists() for each in places):
        return None
    return Task(task.index, mount=task.mount)


def _tasks(osts: dict[int, dict[str, list[Place]]], mount: str) -> list[Task]:
    every = sorted({instance for instances in osts.values() for instance in instances})
    return [
        # An instance that lacks the OST stands there with no directory.
        Task(index, tuple(tuple(instances.get(each, ())) for each in every), mount)
        for index, instances in sorted(osts.items())
    ]
