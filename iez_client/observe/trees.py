"""Trees: where the devices of each OST are, in the three places of different releases."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from iez_client.filesystems import Mount, devices_below
from iez_client.observe.facts import STATE_FILE, Place, Task


def tasks_by_file_system(
    mounts: Mapping[str, Mount], roots: Sequence[Path] | None = None
) -> dict[str, list[Task]]:
    """What to ask about the OSTs of each file system, sorted by index; only those that the trees
    know. `mounts` gives a mount for each key."""
    found = {key: _places(mount, mount.osc_roots(roots)) for key, mount in mounts.items()}
    return {key: _tasks(osts, mounts[key].directory) for key, osts in found.items() if osts}


def _places(mount: Mount, roots: Mapping[str, Path]) -> dict[int, dict[str, list[Place]]]:
    """The directories of each OST, by instance."""
    found: dict[int, dict[str, list[Place]]] = {}
    for tree, root in roots.items():
        for device in devices_below(root):
            if device.fs_name == mount.fs_name:
                instances = found.setdefault(device.index, {})
                instances.setdefault(device.instance, []).append(Place(tree, str(device.directory)))
    return found


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
