"""Config: what a loopback file system is set to, as the text that its daemon reads."""

from dataclasses import dataclass, replace
from pathlib import Path

from iez_common.atomic import replacing
from iez_common.errors import InputError, LoopbackError, reason

CONFIG_FILE = "config"
# Bits of the daemon's settings.h.
STATES = {
    "degraded": 1, "read-only": 2, "no-create": 4, "full": 8, "inactive": 16, "dead": 32,
}  # fmt: skip
SILENT = 65535  # as an injected answer: "0 but no layout"


@dataclass(frozen=True, slots=True)
class Ost:
    """One storage target."""

    index: int
    oss: int
    size_bytes: int
    bandwidth: int  # bytes/s; 0: no limit
    window_bytes: int
    states: int = 0

    @property
    def state_names(self) -> tuple[str, ...]:
        return tuple(name for name, bit in STATES.items() if self.states & bit)


@dataclass(frozen=True, slots=True)
class Config:
    """The whole of it."""

    fsname: str
    mount: str
    instance: str  # 16 hex digits: of this mount
    osts: tuple[Ost, ...]  # sorted by index
    oss_bandwidths: tuple[int, ...]  # by number of the OSS
    generation: int = 1
    seed: int = 1
    maxage: int = 5
    stripe_count: int = 1
    stripe_size: int = 4 << 20
    jobid: str = "procname_uid"
    mmap: bool = False
    others: bool = False
    images: bool = False
    inject: int = 0
    pools: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def text(self) -> str:
        lines = [
            f"generation {self.generation}",
            f"fsname {self.fsname}",
            f"mount {self.mount}",
            f"instance {self.instance}",
            f"seed {self.seed}",
            f"maxage {self.maxage}",
            f"stripe_count {self.stripe_count}",
            f"stripe_size {self.stripe_size}",
            f"jobid {self.jobid}",
            f"mmap {self.mmap:d}",
            f"others {self.others:d}",
            f"images {self.images:d}",
            f"inject {self.inject}",
        ]
        lines += [f"oss {n} bandwidth {rate}" for n, rate in enumerate(self.oss_bandwidths)]
        lines += [
            f"ost {ost.index} oss {ost.oss} size {ost.size_bytes} bandwidth {ost.bandwidth} "
            f"window {ost.window_bytes} states {ost.states}"
            for ost in self.osts
        ]
        lines += [f"pool {name} {' '.join(map(str, members))}" for name, members in self.pools]
        return "\n".join(lines) + "\n"

    def with_osts(self, changed: dict[int, Ost]) -> "Config":
        return replace(self, osts=tuple(changed.get(ost.index, ost) for ost in self.osts))


def read_config(store: Path) -> Config:
    """The settings of a store. InputError where there is none, LoopbackError where they are
    damaged."""
    path = store / CONFIG_FILE
    try:
        text = path.read_bytes().decode(errors="surrogateescape")
    except OSError as error:
        raise InputError(f"{path}: {reason(error)}") from error
    try:
        return _parse(text)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise LoopbackError(
            f"{path} makes no sense", "mend it, or iez loopback down DIR, or iez loopback clean"
        ) from error


def write_config(store: Path, config: Config) -> None:
    with replacing(store / CONFIG_FILE, 0o600) as file:
        file.write(config.text().encode(errors="surrogateescape"))


def _parse(text: str) -> Config:
    values: dict[str, str] = {}
    osts: list[Ost] = []
    rates: dict[int, int] = {}
    pools: list[tuple[str, tuple[int, ...]]] = []
    for line in text.split("\n"):
        name, _, value = line.partition(" ")
        words = value.split()
        if name == "ost":
            osts.append(Ost(*(int(words[at]) for at in (0, 2, 4, 6, 8, 10))))
        elif name == "oss":
            rates[int(words[0])] = int(words[2])
        elif name == "pool":
            pools.append((words[0], tuple(map(int, words[1:]))))
        else:
            values[name] = value
    return Config(
        fsname=values["fsname"],
        mount=values["mount"],
        instance=values["instance"],
        jobid=values["jobid"],
        osts=tuple(osts),
        oss_bandwidths=tuple(rates[number] for number in range(len(rates))),
        pools=tuple(pools),
        generation=int(values["generation"]),
        seed=int(values["seed"]),
        maxage=int(values["maxage"]),
        stripe_count=int(values["stripe_count"]),
        stripe_size=int(values["stripe_size"]),
        inject=int(values["inject"]),
        mmap=values["mmap"] == "1",
        others=values["others"] == "1",
        images=values["images"] == "1",
    )
