"""Decide: files that will be written in, an Allocation for each file system out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from iez_client.observe.osts import ObservedFileSystem
from iez_client.plan.locate import file_systems_of
from iez_client.request.row import Wanted
from iez_common.allocate import Allocation, Osts, Policy, Requests, allocate
from iez_common.errors import AllocationError, SourceError


@dataclass(frozen=True, slots=True)
class Decided:
    """The files of one file system, in the order of the source, and what each is to get."""

    file_system: ObservedFileSystem
    files: tuple[Wanted, ...]
    requests: Requests
    osts: Osts
    policy: Policy
    allocation: Allocation

    def without_parts(self) -> "Decided":
        """The same files in plain layouts."""
        policy = replace(self.policy, pfl="never")
        allocation = allocate(self.requests, self.osts, policy)
        return replace(self, policy=policy, allocation=allocation)


@dataclass(frozen=True, slots=True)
class Decision:
    """Everything that was decided."""

    groups: tuple[Decided, ...]
    outside: tuple[Wanted, ...] = ()  # files that lie on no file system


def decide(
    files: Sequence[Wanted], file_systems: Sequence[ObservedFileSystem], policy: Policy
) -> Decision:
    """Allocates each file on the file system that its path lies on."""
    first = {each.key: each for each in reversed(file_systems)}
    groups: dict[str, list[Wanted]] = {each.key: [] for each in file_systems}
    outside: list[Wanted] = []
    for file in files:
        key = _key_of(file, file_systems)
        (outside if key is None else groups[key]).append(file)
    return Decision(
        tuple(_decide(first[key], own, policy) for key, own in groups.items() if own),
        tuple(outside),
    )


def _key_of(file: Wanted, file_systems: Sequence[ObservedFileSystem]) -> str | None:
    """Of its file system, which may be mounted in several places."""
    found = {each.key: each.name for each in file_systems_of(file.name, file_systems)}
    if len(found) > 1:
        names = ", ".join(sorted(found.values()))
        raise SourceError(
            f"{file.where}: {file.path} may lie on several file systems: {names}",
            "a row for each of them",
        )
    return next(iter(found), None)


def _decide(where: ObservedFileSystem, files: Sequence[Wanted], policy: Policy) -> Decided:
    if where.trouble:
        raise AllocationError(f"{where.prefix}: {where.trouble}", "iez osts")
    osts = Osts.of(where.osts)
    for file in files:
        count = file.request.stripe_count
        if count > len(osts) and not file.request.overstripe:
            raise SourceError(
                f"{file.where}: stripe_count: {count} is more than the {len(osts)} OSTs of "
                f"{where.prefix}",
                "auto, fewer stripes, or overstripe",
            )
    requests = Requests.of(file.request for file in files)
    try:
        allocation = allocate(requests, osts, policy)
    except AllocationError as error:
        raise AllocationError(f"{where.prefix}: {error.message}", error.hint) from None
    return Decided(where, tuple(files), requests, osts, policy, allocation)
