"""Loopback file systems for tests: real ones, brought up and taken down by the real commands.

A test that uses them carries `pytest.mark.fuse`:

    mounted = loopback(osts=5, size="64M", stripe_count=2)
    (mounted.mount / "file").write_bytes(b"data")
    mounted.set("3", "--bandwidth", "5M")

Each lives until the end of all tests, or of `with loopback(…) as mounted:`, or until
`mounted.down()`. There is no limit of bandwidth, and OSTs are directories, unless the call says so.

What the commands themselves do is tested in a `home` that no other test knows of.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import pytest

from iez_client.filesystems import client_mounts
from iez_client.loopback.config import Config, read_config
from iez_client.loopback.store import Store, wait_until_dead
from iez_client.loopback.unmount import unmount
from iez_common.errors import IezError

ROOT = Path(__file__).parents[1]
IEZ = ["-m", "iez_client.cli.main"]  # what Python runs
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

    @contextlib.contextmanager
    def state(self, ost: int, name: str) -> Iterator[None]:
        """The OST is in this state until the end of the block."""
        self.set(str(ost), "--state", name)
        try:
            yield
        finally:
            self.set(str(ost), "--state", "ok")

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
        self.end()

    def end(self) -> None:
        """Takes it away if it is there, also from a test that failed and holds a file open."""
        if self.is_up and self.iez("loopback", "down", self.mount).returncode != 0:
            end_by_force(Store(self.store))
            self.iez("loopback", "clean")
        self.is_up = False


@dataclass(frozen=True, slots=True)
class Home:
    """A user's own stores, and a directory to mount in."""

    root: Path
    env: dict[str, str] = field(repr=False)
    before: tuple[str, ...] = ()  # words that come before each command
    python: str = sys.executable
    mounts_file: Path = Path("/proc/mounts")

    def iez(self, *words: str | Path) -> Result:
        return run_iez(words, self.env, (*self.before, self.python))

    def up(self, *words: str | Path) -> Store:
        """Brings one up: two OSTs that are directories, unless the words say otherwise."""
        kind = [] if "--images" in words else ["--directories"]
        usual = ["--oss", "1", "--osts", "2", "--size", "64M", "--bandwidth", "0"]
        must(self.iez("loopback", "up", *usual, *kind, *words))
        at = os.path.realpath(words[-1])
        return next(store for store in self.stores if store.config.mount == at)

    @property
    def stores(self) -> list[Store]:
        configs = Path(self.env["IEZ_STATE_DIR"]).glob("loopback/*/config")
        return [Store(config.parent.resolve()) for config in sorted(configs)]

    @property
    def mounts(self) -> list[str]:
        every = (mount.directory for mount in client_mounts(self.mounts_file))
        return [at for at in every if Path(at).is_relative_to(self.root)]

    @property
    def loop_devices(self) -> list[str]:
        """Files below it that the kernel has as disks."""
        found = []
        for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
            with contextlib.suppress(OSError):
                found.append(backing.read_text().strip())
        return [name for name in found if name.startswith(f"{self.root}/")]

    def assert_bare(self) -> None:
        """Nothing is mounted, and there is no store."""
        assert (self.stores, self.mounts, self.loop_devices) == ([], [], [])
        assert list(self.root.glob("state/loopback/*")) == []

    def end(self) -> None:
        for mount in client_mounts(self.mounts_file):
            if mount.store and mount.directory in self.mounts:
                end_by_force(Store(mount.store))
        if self.stores:
            self.iez("loopback", "clean")


def end_by_force(store: Store) -> None:
    """Kills the daemon and unmounts whoever uses it."""
    if pid := store.pid:
        os.kill(pid, signal.SIGKILL)
        wait_until_dead(store, TIMEOUT_S)
    with contextlib.suppress(IezError):
        for directory in store.mounts:
            unmount(directory, lazily=True)


Loopback = Callable[..., Mounted]


def run_iez(
    words: tuple[str | Path, ...],
    env: dict[str, str],
    python: tuple[str, ...] = (sys.executable,),
) -> Result:
    return subprocess.run(
        [*python, *IEZ, *map(str, words)],
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
    takes the options of `iez loopback up`, and `mount`, the directory."""
    needs_fuse()
    every: list[Mounted] = []

    def up(**options: object) -> Mounted:
        name = f"loop{len(every)}"
        usual = {"name": name, "oss": 1, "osts": 5, "size": "64M", "bandwidth": "0"}
        given = usual | options
        mount = Path(given.pop("mount", "") or tmp_path_factory.mktemp(name) / "mount")
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
        mounted.end()


@pytest.fixture
def home(tmp_path: Path, loopback_env: dict[str, str]) -> Iterator[Home]:
    """Stores that only this test knows of."""
    needs_fuse()
    made = Home(tmp_path, loopback_env | {"IEZ_STATE_DIR": str(tmp_path / "state")})
    yield made
    made.end()


@pytest.fixture
def folder(mounted: Mounted, request: pytest.FixtureRequest) -> Path:
    """An empty directory, for each test; each module has its own `mounted`."""
    made = mounted.mount / f"{request.node.name[:200]}"
    made.mkdir()
    return made
