"""Look: asks all OSTs of some file systems, and joins what they say with what was seen before."""

import errno
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from iez_client.filesystems import Mount
from iez_client.observe import trees
from iez_client.observe.cache import SeenFileSystem, SeenOst
from iez_client.observe.deadline import ask_all
from iez_client.observe.facts import COUNT, Facts, Task
from iez_client.observe.speed import NO_RPCS, Rpcs
from iez_client.observe.states import with_space

_TABLE_STEP = 64  # the kernel's table of OSTs grows in such steps, with holes in it
_INDEX_MAX = 65534
_NOT_LUSTRE = {"ENOTTY", "EINVAL", "EOPNOTSUPP", "ENOSYS"}
_RISE = 1.5  # an OST that was slow is believed to have become so much faster, at a time
_NO_ANSWER = "no answer before the deadline"

Answers = dict[int, Facts | None]  # by OST index; None: not asked in time


@dataclass(slots=True)
class _Walk:
    """A file system whose OSTs only the ioctl can tell."""

    mount: str
    count: int
    trouble: str
    next_index: int = 0
    has_ended: bool = False
    answers: Answers = field(default_factory=dict)

    def tasks(self) -> list[Task]:
        if self.has_ended or len(self.answers) >= self.count:
            return []
        last = self.next_index + -(-self.count // _TABLE_STEP) * _TABLE_STEP
        span = range(self.next_index, min(last, _INDEX_MAX + 1))
        self.next_index = span.stop
        return [Task(index, mount=self.mount) for index in span]

    def note(self, index: int, facts: Facts | None) -> None:
        if facts is None:
            self.has_ended, self.trouble = True, _NO_ANSWER
        elif facts.error == "ENODEV":
            self.has_ended = True  # past the table
        elif facts.error != "EAGAIN":  # a hole
            self.answers[index] = facts


def look(
    mounts: Mapping[str, Mount],
    before: Mapping[str, SeenFileSystem],
    until_s: float,
    clock: Callable[[], float] = time.time,
) -> dict[str, SeenFileSystem]:
    """Sees the file systems that are mounted there, by key. `until_s` is of the monotonic clock,
    `clock` the wall's. Sizes count from the beginning of the look, so that none is taken for
    younger than it is."""
    start_s = clock()
    asked = trees.tasks_by_file_system(mounts)
    for name in mounts:
        asked.setdefault(name, [Task(COUNT, mount=mounts[name].directory)])
    answers = _ask(asked, before, until_s)
    walks: dict[str, _Walk] = {}
    for name in mounts:
        if asked[name][0].index == COUNT:
            counted = answers[name][COUNT]
            walks[name] = _Walk(
                mounts[name].directory, counted.count if counted else 0, _trouble(counted)
            )
    while step := {name: tasks for name, walk in walks.items() if (tasks := walk.tasks())}:
        for name, found in _ask(step, before, until_s).items():
            for index, facts in found.items():
                walks[name].note(index, facts)
    for name, walk in walks.items():
        # Those that were there and could not be asked now are not gone.
        missed = before[name].osts if walk.trouble and name in before else ()
        answers[name] = {**{each.index: None for each in missed}, **walk.answers}
    end_s = clock()
    return {
        name: SeenFileSystem(
            end_s,
            tuple(_settle(answers[name], before.get(name), start_s)),
            walks[name].trouble if name in walks else "",
        )
        for name in mounts
    }


def _ask(
    asked: Mapping[str, list[Task]], before: Mapping[str, SeenFileSystem], until_s: float
) -> dict[str, Answers]:
    """One round. Those that did not answer last time come last: they must not take the time of
    the others, nor the turn of those that were not even asked."""
    silent = {
        (name, ost.index) for name, seen in before.items() for ost in seen.osts if ost.is_silent
    }
    order = [(name, task) for name, tasks in asked.items() for task in tasks]
    order.sort(key=lambda each: (each[0], each[1].index) in silent)
    # Behind all of them, as these also need the MDS: a sick one must not cost the sizes.
    states = [(name, more) for name, task in order if (more := trees.state_task(task))]
    told = ask_all([task for _, task in (*order, *states)], until_s)
    found: dict[str, Answers] = {name: {} for name in asked}
    for (name, task), facts in zip(order, told[: len(order)], strict=True):
        found[name][task.index] = facts
    for (name, task), facts in zip(states, told[len(order) :], strict=True):
        sizes = found[name][task.index]
        if sizes and facts:
            found[name][task.index] = replace(sizes, states=facts.states)
    return found


def _trouble(counted: Facts | None) -> str:
    if counted is None or not counted.answered:
        return _NO_ANSWER
    if counted.error in _NOT_LUSTRE:
        return "it does not answer as Lustre does"
    if counted.error in ("EACCES", "EPERM"):
        return "its OSTs are hidden, and this user may not open the mount point"
    if counted.error:
        return f"it cannot be asked: {os.strerror(getattr(errno, counted.error)).lower()}"
    return "" if counted.count else "it has no OSTs"


def _settle(answers: Answers, before: SeenFileSystem | None, now_s: float) -> Iterable[SeenOst]:
    last = {ost.index: ost for ost in before.osts} if before else {}
    for index in sorted(answers):
        yield settle(index, answers[index], last.get(index), now_s)


def settle(index: int, facts: Facts | None, last: SeenOst | None, now_s: float) -> SeenOst:
    """What an OST is taken for. Without sizes now it keeps the last good ones and their time."""
    rpcs, bytes_per_s = _speed(facts, last)
    if facts and facts.size_bytes:
        told = (*facts.states, *(("inactive",) if facts.is_inactive else ()))
        states = with_space(told, facts.size_bytes, facts.available_bytes, facts.files_free)
        return SeenOst(
            index,
            facts.size_bytes,
            facts.available_bytes,
            facts.used_bytes,
            now_s,
            facts.oss,
            tuple(sorted(states)),
            facts.source,
            rpcs=rpcs,
            bytes_per_s=bytes_per_s,
        )
    state = "inactive" if facts and facts.answered and facts.is_inactive else "unreachable"
    return SeenOst(
        index,
        last.size_bytes if last else 0,
        last.available_bytes if last else 0,
        last.used_bytes if last else 0,
        last.time_s if last else None,
        (facts.oss if facts else "") or (last.oss if last else ""),
        (state,),
        last.source if last else "",
        is_silent=state == "unreachable" and facts is not None,
        rpcs=rpcs,
        bytes_per_s=bytes_per_s,
    )


def _speed(facts: Facts | None, last: SeenOst | None) -> tuple[Rpcs, float]:
    """By the writes since the last look that had enough of them."""
    before = last.rpcs if last else NO_RPCS
    now = facts.rpcs if facts else before
    bytes_per_s = now.since(before).bytes_per_s
    if bytes_per_s or not last:
        # One of several that share a slow server looks fast as soon as it is spared.
        most = last.bytes_per_s * _RISE if last and last.bytes_per_s else bytes_per_s
        return now, min(bytes_per_s, most)
    return before if now.count >= before.count else now, last.bytes_per_s
