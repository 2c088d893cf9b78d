"""Machines that lack something, and users who are not root.

A mount namespace of the test's own makes it so.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from command_checks import kill_with_helper, needs_root, refused, status
from loopback_fixtures import ROOT, Home, must
from posix_checks import NOBODY

pytestmark = pytest.mark.fuse


@pytest.fixture
def world(home: Home) -> Iterator[Callable[[str], Home]]:
    """world(commands of the shell): the same home where these have changed the mounts."""
    shells = []

    def change(commands: str) -> Home:
        script = f"mount --make-rprivate / && {commands} && echo ready && exec cat"
        shell = subprocess.Popen(
            ["unshare", "-m", "sh", "-euc", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=home.root,
        )
        shells.append(shell)
        assert shell.stdout is not None
        assert shell.stdout.readline() == b"ready\n"
        enter = ("nsenter", "-t", str(shell.pid), "-m", "--")
        return replace(home, before=enter, mounts_file=Path(f"/proc/{shell.pid}/mounts"))

    yield change
    for shell in shells:
        shell.communicate()


# machines that lack something


@needs_root
def test_machine_without_fuse_is_told_so(world: Callable[[str], Home]) -> None:
    bare = world("mount -t tmpfs none /dev")
    done = bare.iez("loopback", "up", "--directories", bare.root / "mount")
    refused(done, 69, "/dev/fuse cannot be opened: no such file or directory", "modprobe fuse")
    assert list(bare.root.iterdir()) == []


@needs_root
@pytest.mark.parametrize("kind", ["--directories", "--images"])
def test_daemon_that_cannot_mount_leaves_nothing(kind: str, world: Callable[[str], Home]) -> None:
    helper = shutil.which("fusermount3")
    bare = world(f"mount --bind /dev/null {helper}")
    done = bare.iez("loopback", "up", kind, "--size", "16M", bare.root / "mount")
    assert done.returncode == 69
    assert done.stderr.startswith("iez: the daemon does not start: cannot mount")
    bare.assert_bare()
    assert not (bare.root / "mount").exists()


@needs_root
@pytest.mark.parametrize("missing", ["mkfs.ext4", "/dev/loop-control"])
def test_machine_without_images_gets_directories(
    missing: str, world: Callable[[str], Home]
) -> None:
    tool = shutil.which(missing, path="/usr/sbin:/sbin")
    nodes = "mknod /dev/fuse c 10 229 && mknod /dev/null c 1 3"
    without = (
        f"touch no && mount --bind no {tool}" if tool else f"mount -t tmpfs no /dev && {nodes}"
    )
    bare = world(without)
    up = ("loopback", "up", "--oss", "1", "--osts", "1", "--size", "16M")
    refused(bare.iez(*up, "--images", bare.root / "mount"), 2, f"images need {missing}")
    done = must(bare.iez(*up, bare.root / "mount"))
    assert done.stderr == f"iez: no {missing} here: the OSTs are directories\n"
    assert [each["images"] for each in status(bare)] == [False]
    must(bare.iez("loopback", "down"))
    bare.assert_bare()


# users


@pytest.fixture
def nobody(world: Callable[[str], Home], loopback_env: dict[str, str]) -> Iterator[Home]:
    """The home of a user who is not root, with a /dev/fuse that is open to all."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="iez-nobody-") as made:
        root = Path(made)
        os.chown(root, NOBODY, NOBODY)
        place = world(
            f"mount -t tmpfs -o mode=755 none {root} && mknod -m 666 {root}/fuse c 10 229"
            f" && mount --bind {root}/fuse /dev/fuse && umount -l {root}"
        )
        paths = {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path[1:]])}
        env = loopback_env | paths | {"IEZ_STATE_DIR": f"{root}/state", "HOME": made}
        become = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env", "-C", "/")
        before = (*place.before, "setpriv", *become)
        for python in (sys.executable, "/usr/bin/python3"):
            user = replace(place, root=root, env=env, before=before, python=python)
            if user.iez("loopback", "clean").returncode == 0:
                break
        else:
            pytest.skip("another user cannot run this Python")
        yield user
        user.end()


def root_beside(user: Home) -> Home:
    """Root where this user is."""
    enter = user.before[: user.before.index("setpriv")]
    return replace(user, env=user.env | {"IEZ_STATE_DIR": f"{user.root}/roots"}, before=enter)


def test_user_who_is_not_root_gets_directories(nobody: Home) -> None:
    mount = nobody.root / "mount"
    done = must(nobody.iez("loopback", "up", "--size", "64M", "--stripe-count", "2", mount))
    assert done.stdout.startswith(f"{mount}: 15 OSTs of 64M on 3 OSSs, ")
    (told,) = status(nobody)
    assert told["images"] is False

    def run(*words: str) -> str:
        command = [*nobody.before, *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    run("sh", "-c", f"head -c 9000000 /dev/zero > {mount}/file && sync {mount}/file")
    run("sh", "-c", f"mkdir -p {mount}/a/b && touch {mount}/a/b/c && chmod 0 {mount}/a/b {mount}/a")
    assert run("stat", "-c", "%s %u %g", f"{mount}/file") == f"9000000 {NOBODY} {NOBODY}\n"
    seen = json.loads(nobody.iez("osts", "--json").stdout)["file_systems"]
    assert [len(each["osts"]) for each in seen if each["prefix"] == str(mount)] == [15]
    laid_out = must(nobody.iez("layout", mount / "file")).stdout.splitlines()[1].split()
    assert laid_out[1:5] == ["0-eof", "2", "4M", "raid0"]
    must(nobody.iez("loopback", "set", "all", "--size", "32M"))
    must(nobody.iez("loopback", "down", "--keep", mount))
    must(nobody.iez("loopback", "up", mount))
    assert run("stat", "-c", "%s", f"{mount}/file") == "9000000\n"
    must(nobody.iez("loopback", "down", mount))
    nobody.assert_bare()
    refused(nobody.iez("loopback", "up", "--images", mount), 2, "only root can mount images")


def test_user_can_clean_up_after_a_killed_daemon(nobody: Home) -> None:
    nobody.up(nobody.root / "mount")
    (store,) = nobody.stores
    kill_with_helper(store)
    done = must(nobody.iez("loopback", "clean"))
    assert done.stdout == f"removed the mount {nobody.root}/mount\nremoved the store {store.path}\n"
    nobody.assert_bare()


def test_users_leave_each_others_file_systems_alone(nobody: Home) -> None:
    root = root_beside(nobody)
    roots, own = nobody.root / "roots-mount", nobody.root / "mount"
    root.up(roots)
    nobody.up(own)
    refused(nobody.iez("loopback", "down", roots), 69, f"{roots} is not yours")
    refused(nobody.iez("loopback", "set", "--dir", roots, "0", "--state", "full"), 69, "not yours")
    assert must(nobody.iez("loopback", "clean")).stdout == ""
    assert must(root.iez("loopback", "clean")).stdout == ""
    assert len(status(nobody)) == len(status(root)) == 1
    must(root.iez("loopback", "down", own))  # root may end what is a user's
    assert status(nobody) == []
    must(root.iez("loopback", "down"))
