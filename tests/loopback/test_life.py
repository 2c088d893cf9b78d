"""A loopback file system keeps its files however it ends, and leaves nothing once they are gone."""

import errno
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command_checks import (
    ends_by_itself,
    eventually,
    kill_daemon,
    kill_with_helper,
    needs_root,
    refused,
    status,
)
from loopback_fixtures import IEZ, Home, Loopback, must
from posix_checks import raises

pytestmark = pytest.mark.fuse

KINDS = [["--directories"], pytest.param(["--images"], marks=needs_root)]


# down


@pytest.mark.parametrize("kind", KINDS)
def test_down_leaves_nothing_and_keep_leaves_the_files(kind: list[str], home: Home) -> None:
    mount = home.root / "mount"
    store = home.up(*kind, "--size", "16M", mount)
    assert len(home.loop_devices) == (2 if kind == ["--images"] else 0)
    (mount / "folder").mkdir()
    (mount / "folder" / "file").write_bytes(b"content" * 100_000)
    os.setxattr(mount / "folder" / "file", "user.mine", b"kept")
    for _ in range(2):
        must(home.iez("loopback", "down", "--keep", mount))
        assert (home.mounts, home.loop_devices) == ([], [])
        assert list(mount.iterdir()) == []
        done = must(home.iez("loopback", "up", mount))
        assert done.stdout.endswith("no limit each, again, with its files (try: iez osts)\n")
        assert (mount / "folder" / "file").read_bytes() == b"content" * 100_000
        assert os.getxattr(mount / "folder" / "file", "user.mine") == b"kept"
        assert store.config.images == (kind == ["--images"])
    must(home.iez("loopback", "down", mount))
    home.assert_bare()
    assert not store.path.exists()
    assert not mount.exists()


@needs_root
def test_root_gets_images_and_may_have_directories(home: Home) -> None:
    up = ("loopback", "up", "--oss", "1", "--osts", "1", "--size", "16M")
    must(home.iez(*up, home.root / "images"))
    must(home.iez(*up, "--directories", home.root / "directories"))
    assert [each["images"] for each in status(home)] == [True, False]
    assert [Path(name).name for name in home.loop_devices] == ["0000"]
    refused(home.iez("loopback", "set", "--dir", home.root / "images", "0", "--size", "32M"), 2)
    refused(home.iez(*up[:-1], "4M", "--images", home.root / "small"), 2, "at least 8M")


def test_down_says_who_is_in_the_way(home: Home) -> None:
    mount = home.root / "mount"
    home.up(mount)
    (mount / "file").write_text("content")
    with (mount / "file").open() as file:
        done = home.iez("loopback", "down", mount)
        comm = Path("/proc/self/comm").read_text().strip()
        refused(done, 69, f"{mount} is in use by {comm} (process {os.getpid()})")
        assert file.read() == "content"
        assert len(status(home)) == 1
    sleeper = subprocess.Popen(["sleep", "1000"], cwd=mount)
    refused(home.iez("loopback", "down", mount), 69, f"in use by sleep (process {sleeper.pid})")
    sleeper.kill()
    sleeper.wait()
    there = Home(home.root, home.env, ("env", "-C", str(mount)))  # its own place is not in the way
    must(there.iez("loopback", "down"))
    home.assert_bare()


@pytest.mark.parametrize("kind", KINDS)
def test_store_of_ones_own_holds_the_files_and_can_move(kind: list[str], home: Home) -> None:
    one, two, kept = home.root / "one", home.root / "two", home.root / "kept"
    kept.mkdir()
    store = home.up(*kind, "--size", "16M", "--store", kept, one)
    assert store.path == kept
    (one / "file").write_text("content")
    refused(home.iez("loopback", "up", "--store", kept, two), 69, f"{kept} is up at {one}")
    assert (one / "file").read_text() == "content"
    must(home.iez("loopback", "down", "--keep", one))
    done = must(home.iez("loopback", "up", "--store", kept, two))
    assert "again, with its files" in done.stdout
    assert not one.exists()
    assert (two / "file").read_text() == "content"
    assert [each["name"] for each in status(home)] == ["loop0"]
    must(home.iez("loopback", "down", "--keep", two))
    stranger = Home(home.root, home.env | {"IEZ_STATE_DIR": str(home.root / "elsewhere")})
    must(stranger.iez("loopback", "up", "--store", kept, "--name", "mine", one))
    assert (one / "file").read_text() == "content"
    assert [each["name"] for each in status(stranger)] == ["mine"]
    must(stranger.iez("loopback", "down", one))
    assert not kept.exists()
    assert status(home) == []


def test_what_is_not_the_stores_own_stays_in_its_directory(home: Home) -> None:
    kept = home.root / "kept"
    home.up("--store", kept, home.root / "mount")
    (kept / "notes").write_text("mine")
    must(home.iez("loopback", "down"))
    assert [path.name for path in kept.iterdir()] == ["notes"]
    home.assert_bare()


def test_many_files_of_all_kinds_go_with_the_store(home: Home) -> None:
    mount = home.root / "mount"
    home.up(mount)
    (home.root / "outside").mkdir(mode=0o500)
    (mount / "link").symlink_to(home.root / "outside")
    (mount / "dangling").symlink_to("nowhere")
    os.mkfifo(mount / "fifo")
    (mount / "a" / "b").mkdir(parents=True)
    (mount / "a" / "b" / "file").touch()
    for folder in ("a/b", "a", "."):
        (mount / folder).chmod(0)
    must(home.iez("loopback", "down"))
    home.assert_bare()
    assert (home.root / "outside").stat().st_mode & 0o777 == 0o500


# crashes


@pytest.mark.parametrize("kind", KINDS)
def test_killed_daemon_leaves_nothing_after_clean(kind: list[str], home: Home) -> None:
    mount = home.root / "mount"
    store = home.up(*kind, "--size", "16M", mount)
    (mount / "file").write_text("content")
    fd = os.open(mount / "file", os.O_RDONLY)
    kill_daemon(store)
    done = home.iez("loopback", "status")
    assert (done.returncode, f"{mount} (loop0): down" in done.stdout) == (1, True)
    done = must(home.iez("loopback", "clean"))
    with raises(errno.ENOTCONN):
        os.close(fd)
    assert f"removed the store {store.path}\n" in done.stdout
    home.assert_bare()
    assert not mount.exists()
    assert must(home.iez("loopback", "clean")).stdout == ""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", ["clean", "down", "up"])
def test_dead_mount_is_no_obstacle(command: str, kind: list[str], home: Home) -> None:
    mount = home.root / "mount"
    store = home.up(*kind, "--size", "16M", mount)
    (mount / "file").write_text("content")
    kill_with_helper(store)
    assert home.mounts == [str(mount)]
    with raises(errno.ENOTCONN):
        next(mount.iterdir())
    if command == "clean":
        done = must(home.iez("loopback", "clean"))
        assert done.stdout == f"removed the mount {mount}\nremoved the store {store.path}\n"
    else:
        must(home.iez("loopback", command, mount))
    if command == "up":
        assert (mount / "file").read_text() == "content"
        must(home.iez("loopback", "down", mount))
    home.assert_bare()
    assert not mount.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_terminated_daemon_unmounts(kind: list[str], home: Home) -> None:
    mount = home.root / "mount"
    store = home.up(*kind, "--size", "16M", mount)
    (mount / "file").write_text("content")
    time.sleep(0.5)  # nobody asks for anything any more: no request is what wakes it
    os.kill(store.pid, signal.SIGTERM)
    assert ends_by_itself(store)
    eventually(lambda: home.mounts == [])
    must(home.iez("loopback", "up", mount))
    assert (mount / "file").read_text() == "content"


@needs_root
def test_daemons_have_nothing_to_do_with_each_others_mounts(home: Home) -> None:
    one = home.up(home.root / "one")
    home.up("--images", "--size", "16M", home.root / "two")
    subprocess.run(["umount", home.root / "one"], check=True)
    assert ends_by_itself(one)


@needs_root
def test_daemon_with_images_holds_no_other_mount_of_the_machine(home: Home) -> None:
    store = home.up("--images", "--size", "16M", home.root / "mount")
    own = Path("/proc/self/ns/mnt").readlink()
    threads = Path(f"/proc/{store.pid}/task").glob("*/ns/mnt")
    assert {each.readlink() for each in threads} == {own}


def test_another_file_system_in_the_same_place_is_another_one(home: Home) -> None:
    mount = home.root / "mount"
    for count in (3, 2):
        home.up("--name", "same", "--osts", str(count), mount)
        told = must(home.iez("osts")).stdout
        rows = [line for line in told.splitlines() if line.startswith("same-OST")]
        assert len(rows) == count
        must(home.iez("loopback", "down", mount))


def test_clean_spares_what_is_up(home: Home) -> None:
    for name in ("up", "kept", "dead"):
        home.up(home.root / name)
    (home.root / "up" / "file").write_text("content")
    must(home.iez("loopback", "down", "--keep", home.root / "kept"))
    kill_daemon(next(each for each in home.stores if each.config.mount.endswith("dead")))
    must(home.iez("loopback", "clean"))
    assert [each["name"] for each in status(home)] == ["loop0"]
    assert (home.root / "up" / "file").read_text() == "content"
    assert home.mounts == [str(home.root / "up")]


def test_damaged_settings_are_said_and_can_be_cleaned_away(home: Home) -> None:
    mount = home.root / "mount"
    store = home.up(mount)
    text = (store.path / "config").read_text()
    for damage in (
        "",
        "ost 0\n",
        text.replace("seed", "sneed"),
        text.replace("oss 0 b", "oss 5 b"),
    ):
        (store.path / "config").write_text(damage)
        for words in (("status",), ("set", "0", "--state", "full")):
            refused(home.iez("loopback", *words), 69, f"{store.path}/config makes no sense")
    refused(home.iez("loopback", "up", mount), 69, "is mounted at")
    must(home.iez("loopback", "down", mount))
    home.assert_bare()
    store = home.up(mount)
    (store.path / "config").write_text("")
    kill_with_helper(store)
    must(home.iez("loopback", "clean"))
    home.assert_bare()


def test_mount_of_a_test_that_failed_goes_though_it_is_in_use(loopback: Loopback) -> None:
    mounted = loopback(osts=1)
    fd = os.open(mounted.mount / "file", os.O_CREAT | os.O_WRONLY)
    mounted.end()
    assert not mounted.store.exists()
    assert str(mounted.mount) not in Path("/proc/mounts").read_text()
    with raises(errno.ENOTCONN):
        os.close(fd)


# starts that fail


def test_kept_files_outlive_a_daemon_that_does_not_start(home: Home) -> None:
    mount, other = home.root / "mount", home.root / "other"
    store = home.up(mount)
    (mount / "file").write_text("content")
    must(home.iez("loopback", "down", "--keep"))
    mount.rmdir()
    config = (store.path / "config").read_text()
    damaged = config.replace("maxage 5", "maxage 0")  # only the daemon minds
    (store.path / "config").write_text(damaged)
    for words in ((mount,), ("--store", store.path, other)):
        done = home.iez("loopback", "up", *words)
        assert (done.returncode, done.stdout) == (69, "")
        assert "the daemon does not start" in done.stderr
        assert "line 6 makes no sense" in done.stderr
        assert not mount.exists()
        assert not other.exists()
        assert (store.path / "config").read_text() == damaged
    (store.path / "config").write_text(config)
    must(home.iez("loopback", "up", mount))
    assert (mount / "file").read_text() == "content"


@pytest.mark.parametrize("kind", KINDS)
def test_interrupted_up_leaves_nothing(kind: list[str], home: Home) -> None:
    words = ["loopback", "up", *kind, "--oss", "4", "--osts", "5", home.root / "mount"]
    command = [home.python, *IEZ, *map(str, words)]
    with subprocess.Popen(command, env=home.env, stderr=subprocess.PIPE) as up:
        eventually(lambda: bool(home.stores))
        up.send_signal(signal.SIGINT)
        _, error = up.communicate()
    assert (up.returncode, error) == (130, b"")
    home.assert_bare()
    assert not (home.root / "mount").exists()
