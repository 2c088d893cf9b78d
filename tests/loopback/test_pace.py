"""OSTs are as fast as they are set to be, and a dead one blocks those who need it.

On a mount only the least time is looked at: other work on this machine can make everything slower.
"""

import ctypes
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from loopback_fixtures import Loopback, Mounted
from lustre_calls import create, specific
from pace_library import MICROSECOND_NS, RATE, Buckets, Work, compile_pace
from posix_checks import KIB, LIBC, MIB, await_child, opened, start_child

pytestmark = pytest.mark.fuse

START_NS = 10**15
BLOCKED_S = 0.25  # who has not gone on by then, and should have, would be noticed


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_pace(tmp_path_factory.mktemp("pace") / "pace.so")


def after(*microseconds: float) -> Work:
    """How long the work takes, when it is done, and when who asked goes on, counted from START."""
    service, done, due = (round(each * MICROSECOND_NS) for each in microseconds)
    return Work(service, START_NS + done, START_NS + due)


def test_without_limit_work_is_done_at_once(library: Path) -> None:
    bucket = Buckets(library, (0, 1000))
    for bytes_ in (1, 1 << 40):
        assert bucket.add(bytes_, START_NS) == after(0, 0, 0)
        assert bucket.add(bytes_, START_NS, own_ns=7000) == after(7, 0, 0)
    assert bucket.idle_ns == 0


def test_window_lets_the_caller_go_on_ahead_of_the_work(library: Path) -> None:
    bucket = Buckets(library, (RATE, 1000))
    assert bucket.add(400, START_NS) == after(400, 400, 0)
    assert bucket.add(600, START_NS) == after(600, 1000, 0)
    assert bucket.add(1, START_NS) == after(1, 1001, 1)
    assert bucket.add(5000, START_NS) == after(5000, 6001, 5001)
    assert bucket.idle_ns == START_NS + 6001 * MICROSECOND_NS


def test_without_window_the_caller_waits_for_the_work(library: Path) -> None:
    bucket = Buckets(library, (RATE, 0))
    assert bucket.add(250, START_NS) == after(250, 250, 250)
    assert bucket.add(250, START_NS) == after(250, 500, 500)


def test_idle_time_is_not_saved_up(library: Path) -> None:
    bucket = Buckets(library, (RATE, 1000))
    bucket.add(3000, START_NS)
    now_ns = START_NS + 1000 * MICROSECOND_NS
    assert bucket.add(500, now_ns) == after(500, 3500, 2500)
    now_ns = START_NS + 10_000 * MICROSECOND_NS
    assert bucket.add(500, now_ns) == after(500, 10_500, 10_000)
    assert bucket.idle_ns == now_ns + 500 * MICROSECOND_NS


def test_slower_of_ost_and_server_counts(library: Path) -> None:
    both = Buckets(library, (RATE, 0), (RATE // 2, 0))
    assert both.add(1000, START_NS) == after(2000, 2000, 2000)
    both = Buckets(library, (RATE, 0), (2 * RATE, 0))
    assert both.add(1000, START_NS) == after(1000, 1000, 1000)
    # A window of the server's is of no help where the OST has none.
    both = Buckets(library, (RATE, 0), (RATE // 2, 10_000))
    assert both.add(1000, START_NS) == after(2000, 2000, 1000)
    # What takes the daemon itself longer than the limit is told as it was.
    assert both.add(1, START_NS, own_ns=10**9).service_ns == 10**9


def test_any_work_at_any_rate_is_done_in_its_turn(library: Path) -> None:
    chance = random.Random(7)
    for _ in range(200):
        rate, window_bytes = chance.randint(1, 1 << 40), chance.randint(0, 1 << 24)
        bucket = Buckets(library, (rate, window_bytes))
        now_ns, free_ns = START_NS, 0
        for _ in range(50):
            bytes_ = chance.randint(1, 1 << 20)
            now_ns += chance.randint(0, 10**7)
            takes_ns = int(bytes_ * 1e9 / rate)
            free_ns = max(now_ns, free_ns) + takes_ns
            due_ns = max(now_ns, free_ns - int(window_bytes * 1e9 / rate))
            assert bucket.add(bytes_, now_ns) == Work(takes_ns, free_ns, due_ns)
            assert bucket.idle_ns == free_ns


def test_what_waits_goes_on_at_a_new_rate(library: Path) -> None:
    bucket = Buckets(library, (RATE, 1000))
    bucket.add(1000, START_NS)
    now_ns = START_NS + 200 * MICROSECOND_NS
    bucket.set(RATE // 4, 0, now_ns)
    assert bucket.idle_ns == now_ns + 3200 * MICROSECOND_NS
    assert bucket.add(100, now_ns) == after(400, 3800, 3800)
    bucket.set(RATE * 10, 0, now_ns)
    assert bucket.add(100, now_ns) == after(10, 300, 300)
    bucket.set(RATE * 10, 500, now_ns)
    assert bucket.add(100, now_ns) == after(10, 310, 260)


def test_what_waits_is_done_once_there_is_no_limit(library: Path) -> None:
    bucket = Buckets(library, (1, 1 << 20))
    bucket.add(1 << 20, START_NS)
    bucket.set(0, 1 << 20, START_NS)
    assert bucket.add(100, START_NS) == after(0, 0, 0)
    bucket.set(RATE, 0, START_NS)
    assert bucket.add(100, START_NS) == after(100, 100, 100)


@pytest.fixture(scope="module")
def mounted(loopback: Loopback) -> Iterator[Mounted]:
    with loopback(oss=2, osts=2, size="64M") as up:
        yield up


@contextmanager
def limit(mounted: Mounted, which: str, *words: str) -> Iterator[None]:
    """OSTs are set to this until the end of the block."""
    mounted.set(which, *words)
    try:
        yield
    finally:
        mounted.set(which, "--bandwidth", "0", "--window", "8M")
        if which.startswith("oss"):
            mounted.set(which, "--oss-bandwidth", "0")


@contextmanager
def takes_at_least(seconds: float) -> Iterator[None]:
    start_s = time.monotonic()
    yield
    assert time.monotonic() - start_s >= seconds


def on_osts(path: Path, *osts: int) -> Path:
    os.close(create(path, specific(osts, 64 * KIB)))
    return path


def write(path: Path, bytes_: int, block: int = 128 * KIB) -> None:
    with opened(path, os.O_WRONLY) as fd:
        for at in range(0, bytes_, block):
            assert os.pwrite(fd, b"x" * block, at) == block


@pytest.mark.parametrize("block", [64 * KIB, 3 * MIB])
def test_write_takes_what_the_window_does_not(block: int, mounted: Mounted, folder: Path) -> None:
    path = on_osts(folder / "file", 0)
    with (
        limit(mounted, "0", "--bandwidth", "4M", "--window", "1M"),
        takes_at_least((3 - 1) / 4),
    ):
        write(path, 3 * MIB, block)


@pytest.mark.parametrize("block", [64 * KIB, 3 * MIB])
def test_read_takes_its_time_as_well(block: int, mounted: Mounted, folder: Path) -> None:
    path = on_osts(folder / "file", 1)
    write(path, 3 * MIB)
    with (
        limit(mounted, "1", "--bandwidth", "4M", "--window", "1M"),
        opened(path, os.O_RDONLY) as fd,
        takes_at_least((3 - 1) / 4),
    ):
        for at in range(0, 3 * MIB, block):
            assert len(os.pread(fd, block, at)) == block


def test_reads_and_writes_share_an_ost(mounted: Mounted, folder: Path) -> None:
    paths = [on_osts(folder / name, 0) for name in ("one", "two")]
    write(paths[0], MIB)
    with limit(mounted, "0", "--bandwidth", "4M", "--window", "0"), takes_at_least(2 / 4):
        write(paths[1], MIB)
        assert len(paths[0].read_bytes()) == MIB


def test_stripes_wait_for_the_slowest_ost(mounted: Mounted, folder: Path) -> None:
    path = on_osts(folder / "file", 1, 3, 2)
    with limit(mounted, "3", "--bandwidth", "2M", "--window", "0"), takes_at_least(0.5):
        write(path, 3 * MIB, 3 * MIB)


def test_osts_share_the_limit_of_their_server(mounted: Mounted, folder: Path) -> None:
    # Its window is that of all its OSTs.
    paths = [on_osts(folder / f"{ost}", ost) for ost in (2, 3)]
    with (
        limit(mounted, "oss1", "--oss-bandwidth", "4M", "--window", "512K"),
        takes_at_least((3 - 1) / 4),
        ThreadPoolExecutor() as pool,
    ):
        list(pool.map(lambda path: write(path, 3 * MIB // 2), paths))


def test_sync_waits_for_all_that_lies_waiting(mounted: Mounted, folder: Path) -> None:
    path = on_osts(folder / "file", 0, 1)
    with (
        limit(mounted, "1", "--bandwidth", "2M", "--window", "8M"),
        opened(path, os.O_WRONLY) as fd,
        takes_at_least(1 / 2),
    ):
        write(path, 2 * MIB)
        os.fsync(fd)


def test_sync_waits_for_the_server(mounted: Mounted, folder: Path) -> None:
    path = on_osts(folder / "file", 2)
    with (
        limit(mounted, "oss1", "--oss-bandwidth", "2M", "--window", "8M"),
        opened(path, os.O_WRONLY) as fd,
        takes_at_least(1 / 2),
    ):
        write(path, MIB)
        os.fdatasync(fd)


def test_ost_is_slowed_while_it_works(mounted: Mounted, folder: Path) -> None:
    path = on_osts(folder / "file", 0)
    with (
        limit(mounted, "0", "--bandwidth", "1M", "--window", "8M"),
        opened(path, os.O_WRONLY) as fd,
    ):
        start_s = time.monotonic()
        write(path, 512 * KIB)
        mounted.set("0", "--bandwidth", "512K")
        # Half as fast, what is left takes twice as long.
        worked_s = min(0.5, time.monotonic() - start_s)
        os.fsync(fd)
        assert time.monotonic() - start_s >= worked_s + 2 * (0.5 - worked_s)
        with takes_at_least(1 / 4):
            write(path, 128 * KIB)
            os.fsync(fd)


class Blocked:
    """A child that is about to do something that blocks."""

    def __init__(self, run: Callable[[], object]) -> None:
        ready, told = os.pipe()

        def child() -> None:
            os.write(told, b"x")
            run()

        self.pid = start_child(child)
        os.close(told)
        assert os.read(ready, 1) == b"x"
        os.close(ready)

    def has_ended(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def are_blocked(*children: Blocked) -> bool:
    time.sleep(BLOCKED_S)
    return not any(each.has_ended() for each in children)


def test_dead_ost_blocks_until_it_is_well(mounted: Mounted, folder: Path) -> None:
    path = on_osts(folder / "file", 1)
    write(path, 128 * KIB)
    with opened(path, os.O_RDWR) as fd:

        def read() -> None:
            assert os.pread(fd, 5, 0) == b"xxxxx"

        with mounted.state(1, "dead"):
            blocked = [
                Blocked(run)
                for run in (lambda: os.pwrite(fd, b"end", 128 * KIB), read, lambda: os.fsync(fd))
            ]
            assert are_blocked(*blocked)
        for each in blocked:
            await_child(each.pid)
        assert os.pread(fd, 10, 128 * KIB - 1) == b"xend"


def test_other_osts_go_on_meanwhile(mounted: Mounted, folder: Path) -> None:
    path, other = on_osts(folder / "file", 1), on_osts(folder / "other", 0, 2, 3)
    write(path, 128 * KIB)
    with opened(path, os.O_WRONLY) as fd, mounted.state(1, "dead"):
        blocked = Blocked(lambda: os.pwrite(fd, b"x", 0))
        assert are_blocked(blocked)
        write(other, MIB)
        with opened(other, os.O_RDWR) as descriptor:
            os.fsync(descriptor)
        assert len(other.read_bytes()) == MIB
        assert path.stat().st_size == 128 * KIB
        os.close(create(folder / "new", specific([1, 0], MIB)))  # objects are made beforehand
        assert are_blocked(blocked)
    await_child(blocked.pid)


def test_request_waits_for_all_its_dead_osts(mounted: Mounted, folder: Path) -> None:
    path = on_osts(folder / "file", 0, 1, 2)
    with opened(path, os.O_WRONLY) as fd, mounted.state(0, "dead"):
        with mounted.state(2, "dead"):
            blocked = [
                Blocked(lambda: os.pwrite(fd, b"x" * 192 * KIB, 0)),
                Blocked(lambda: os.fsync(fd)),
            ]
            assert are_blocked(*blocked)
        assert are_blocked(*blocked)
    for each in blocked:
        await_child(each.pid)


def test_who_waits_for_a_dead_ost_can_be_killed(mounted: Mounted, folder: Path) -> None:
    path = on_osts(folder / "file", 1)
    write(path, 128 * KIB)
    with opened(path, os.O_RDWR) as fd, mounted.state(1, "dead"):
        for run in (
            lambda: os.pwrite(fd, b"x" * MIB, 0),
            lambda: os.pread(fd, 10, 0),
            lambda: os.fsync(fd),
        ):
            blocked = Blocked(run)
            assert are_blocked(blocked)
            os.kill(blocked.pid, signal.SIGKILL)
            _, status = os.waitpid(blocked.pid, 0)
            assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
    write(path, 128 * KIB)


def test_signal_that_is_caught_ends_no_wait(mounted: Mounted, folder: Path) -> None:
    path = on_osts(folder / "file", 1)
    caught: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: caught.append(number))

    def run() -> None:
        # os.pwrite() would try again.
        assert LIBC.pwrite(fd, b"whole", ctypes.c_size_t(5), ctypes.c_long(0)) == 5
        assert caught == [signal.SIGUSR1]

    with opened(path, os.O_WRONLY) as fd:
        with mounted.state(1, "dead"):
            blocked = Blocked(run)
            assert are_blocked(blocked)
            os.kill(blocked.pid, signal.SIGUSR1)
            assert are_blocked(blocked)
        await_child(blocked.pid)
    signal.signal(signal.SIGUSR1, before)
    assert path.read_bytes() == b"whole"
