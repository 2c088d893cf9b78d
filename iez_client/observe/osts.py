"""Osts: the file systems of this machine with their OSTs, servers, space and states."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iez_client import filesystems
from iez_client.observe import cache
from iez_client.observe.cache import SeenOst
from iez_client.observe.speed import with_slow_ones
from iez_client.observe.states import with_space
from iez_common import mock
from iez_common.config import Config
from iez_common.records import Ost

DEADLINE_S = 5.0  # for a look at everything; a healthy OST answers within milliseconds


@dataclass(frozen=True, slots=True)
class Observation:
    """One OST, and how it is known."""

    ost: Ost
    name: str  # work-OST0003
    used_bytes: int
    age_s: float | None  # of the sizes; None: they were never told, and are 0
    source: str  # who told them: sys, proc, debugfs, loopback, ioctl, mock; empty: nobody
    bytes_per_s: float = 0.0  # of this client's own writes; 0: not known
    is_slow: bool = False  # beside the others; then ost.bandwidth_bytes_per_s is set for all


@dataclass(frozen=True, slots=True)
class ObservedFileSystem:
    """A directory below which files can be placed, with what is known about its OSTs."""

    kind: int  # of filesystems.KIND_NAMES
    prefix: str
    name: str
    observations: tuple[Observation, ...]  # sorted by index
    trouble: str = ""  # why OSTs may be missing
    aliases: tuple[str, ...] = ()  # other names of the same directory
    store: Path | None = None  # of a loopback file system

    @property
    def key(self) -> str:
        """Mounts with the same key are of the same file system."""
        return str(self.store or self.name)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.prefix, *self.aliases)

    @property
    def osts(self) -> tuple[Ost, ...]:
        return tuple(each.ost for each in self.observations)


def observe(
    config: Config, refresh: bool = False, deadline_s: float = DEADLINE_S
) -> list[ObservedFileSystem]:
    """The mock if one is configured; else every mount of Lustre or of a loopback file system.

    Nothing is asked again within cache.FRESH_S of the last look, unless `refresh` is set. An OST
    that does not answer is `unreachable`, and its values are the last that it told. Never takes
    much longer than `deadline_s`."""
    if config["mock"].value or config["mock_state"].value:
        return [_observe_mock(config)]
    until_s = time.monotonic() + deadline_s
    mounts = filesystems.client_mounts()
    file = cache.cache_file()
    now_s = time.time()
    seen = cache.load(file)
    stale: dict[str, filesystems.Mount] = {}
    for mount in mounts:
        known = seen.get(mount.key)
        if refresh or known is None or not known.is_fresh(now_s):
            stale.setdefault(mount.key, mount)
    if stale:
        # Its modules are not needed to tell again what was just told.
        from iez_client.observe.look import look

        seen |= look(stale, seen, until_s)
        # Loopback file systems, whose keys are paths, never come back once they are gone.
        here = {mount.key for mount in mounts}
        seen = {key: each for key, each in seen.items() if key in here or key[0] != "/"}
        cache.store(file, seen)
    now_s = time.time()
    return [
        ObservedFileSystem(
            mount.kind,
            mount.directory,
            mount.fs_name,
            _observations(mount.fs_name, seen[mount.key].osts, now_s),
            seen[mount.key].trouble,
            store=mount.store,
        )
        for mount in mounts
    ]


def _observations(fs_name: str, osts: Sequence[SeenOst], now_s: float) -> tuple[Observation, ...]:
    speeds = with_slow_ones([seen.bytes_per_s for seen in osts], [seen.oss for seen in osts])
    usual = max(speeds, default=0.0)
    return tuple(
        _observation(fs_name, seen, speed, speed < usual, now_s)
        for seen, speed in zip(osts, speeds, strict=True)
    )


def _observation(
    fs_name: str, seen: SeenOst, speed: float, is_slow: bool, now_s: float
) -> Observation:
    return Observation(
        Ost(
            seen.index,
            seen.size_bytes,
            seen.available_bytes,
            seen.oss,
            frozenset(seen.states),
            speed,
        ),
        f"{fs_name}-OST{seen.index:04x}",
        seen.used_bytes,
        None if seen.time_s is None else max(0.0, now_s - seen.time_s),
        seen.source,
        seen.bytes_per_s,
        is_slow,
    )


def _observe_mock(config: Config) -> ObservedFileSystem:
    from iez_client.plan.build import known_file_systems

    (found,) = known_file_systems(config)
    directory = config.path("mock")
    assert directory is not None  # known_file_systems refuses a state without a directory
    state = mock.state_of(directory, config.path("mock_state"))
    observations = tuple(_mock_observation(each) for each in state.osts)
    return ObservedFileSystem(
        filesystems.MOCK, found.prefix, "mock", observations, aliases=found.aliases
    )


def _mock_observation(each: mock.MockOst) -> Observation:
    states = with_space(each.states, each.size_bytes, each.available_bytes)
    return Observation(
        Ost(each.index, each.size_bytes, each.available_bytes, str(each.oss), states),
        f"mock-OST{each.index:04x}",
        each.used_bytes,
        0.0,
        "mock",
    )
