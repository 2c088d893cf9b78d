"""Loopback file systems for tests: real ones, brought up and taken down by the real commands.

A test that uses them carries `pytest.mark.fuse`:

    mounted = loopback(osts=5, size="64M", stripe_count=2)
    (mounted.mount / "file").write_bytes(b"data")
    mounted.set("3", "--bandwidth", "5M")

Each lives until the end of all tests, or of `with loopback(…) as mounted:`, or until
`mounted.down()`. There is no limit of bandwidth, and OSTs are directories, unless the call says so.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import pytest

from iez_client.loopback.config import Config, read_config

ROOT = Path(__file__).parents[1]
IEZ = [sys.executable, "-m", "iez_client.cli.main"]
TIMEOUT_S = 120

Result = subprocess.CompletedProcess[str]


@dataclass(slots=True)
class Mounted:
    """A loopback file system that is up."""

    mount: Path
    store: Path
    env: dict[str, str] = field(repr=False)  # for commands: IEZ_STATE_DIR is the tests' own
    is_up: bool = True

    @property
    def config(self) -> Config:
        """What it is set to now."""
        return read_config(self.store)

    def iez(self, *words: str | Path) -> Result:
        """Runs `iez WORDS…`."""
        return run_iez(words, self.env)

    def set(self, *words: str) -> None:
        """`iez loopback set WORDS…` on this one; it must succeed."""
        must(self.iez("loopback", "set", "--dir", self.mount, *words))

    def down(self, *words: str) -> None:
        self.is_up = False
        must(self.iez("loopback", "down", *words, self.mount))

    def __enter__(self) -> "Mounted":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.is_up:
            self.down()


Loopback = Callable[..., Mounted]


def run_iez(words: tuple[str | Path, ...], env: dict[str, str]) -> Result:
    return subprocess.run(
        [*IEZ, *map(str, words)],
        env=env,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=TIMEOUT_S,
        check=False,
    )


def must(done: Result) -> Result:
    assert done.returncode == 0, f"{done.args}\n{done.stdout}{done.stderr}"
    return done


def flags(options: dict[str, object]) -> list[str]:
    """`stripe_count=2` is `--stripe-count 2`, `mmap=True` `--mmap`, a list a flag for each."""
    words = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is not False:
                words += [flag] if each is True else [flag, str(each)]
    return words


def needs_fuse() -> None:
    """Skips where this machine cannot mount."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        pytest.skip(f"/dev/fuse cannot be opened: {error.strerror}")


@pytest.fixture(scope="session")
def loopback_env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of commands: no setting of this machine counts."""
    home = tmp_path_factory.mktemp("loopback-home")
    ours = {name: value for name, value in os.environ.items() if not name.startswith("IEZ_")}
    own = {"HOME": str(home), "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": str(home / "cache")}
    python = {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", "COLUMNS": "120"}
    return ours | own | python | {"IEZ_STATE_DIR": str(home / "state")}


@pytest.fixture(scope="session")
def loopback(
    tmp_path_factory: pytest.TempPathFactory, loopback_env: dict[str, str]
) -> Iterator[Loopback]:
    """Brings a file system up: loopback(oss=1, osts=5, size="64M", bandwidth="0", images=False, …)
    takes the options of `iez loopback up`."""
    needs_fuse()
    every: list[Mounted] = []

    def up(**options: object) -> Mounted:
        name = f"loop{len(every)}"
        mount = tmp_path_factory.mktemp(name) / "mount"
        usual = {"name": name, "oss": 1, "osts": 5, "size": "64M", "bandwidth": "0"}
        given = usual | options
        if not given.pop("images", False):
            given["directories"] = True
        else:
            given["images"] = True
        must(run_iez(("loopback", "up", *flags(given), mount), loopback_env))
        store = Path(loopback_env["IEZ_STATE_DIR"]) / "loopback" / str(given["name"])
        every.append(Mounted(mount, store.resolve(), loopback_env))
        return every[-1]

    yield up
    for mounted in every:
        if mounted.is_up:
            mounted.down()
