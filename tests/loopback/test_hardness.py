"""What is wrong, hostile or too much neither kills the daemon nor loses anything."""

import errno
import fcntl
import mmap
import os
import shutil
import subprocess
import threading

import pytest
from command_checks import needs_root, refused
from loopback_fixtures import Home, must
from lustre_calls import (
    EOF,
    GETSTRIPE,
    OVERSTRIPING,
    RAID0,
    composite,
    create,
    layout_of,
    set_stripe,
    specific,
    v1,
)
from posix_checks import KIB, MIB, NOBODY, in_child, opened, raises

pytestmark = pytest.mark.fuse

FEW = 1000  # descriptors
GROUP = 5000


def test_more_files_are_known_than_there_are_descriptors(home: Home) -> None:
    mount = home.root / "mount"
    Home(home.root, home.env, ("prlimit", f"--nofile={FEW}:{FEW}")).up(mount)
    (mount / "folder").mkdir()
    with opened(mount / "folder" / "held", os.O_CREAT | os.O_RDWR) as held:
        for number in range(3 * FEW):
            (mount / "folder" / f"file{number}").write_bytes(b"content")
        os.write(held, b"held")
    assert len(list((mount / "folder").iterdir())) == 3 * FEW + 1
    assert all(path.stat().st_size for path in (mount / "folder").iterdir())
    assert (mount / "folder" / "file0").read_bytes() == b"content"
    assert (mount / "folder" / "held").read_bytes() == b"held"
    shutil.rmtree(mount / "folder")
    assert not list(mount.iterdir())


def test_copy_of_a_store_is_refused_and_the_store_itself_is_not(home: Home) -> None:
    mount = home.root / "mount"
    store = home.up(mount)
    (mount / "file").write_bytes(b"content")
    must(home.iez("loopback", "down", "--keep", mount))
    copy = home.root / "copy"
    shutil.copytree(store.path, copy, symlinks=True)
    refused(
        home.iez("loopback", "up", "--name", "other", "--store", copy, home.root / "second"),
        69,
        "the store is a copy",
    )
    objects = [path for path in copy.glob("ost/*/objects/*") if path.is_file()]
    assert [path.read_bytes() for path in objects] == [b"content"]
    must(home.iez("loopback", "up", mount))
    assert (mount / "file").read_bytes() == b"content"


def test_file_with_damaged_metadata_is_seen_and_removed_but_not_opened(home: Home) -> None:
    mount = home.root / "mount"
    store = home.up(mount)
    (mount / "file").write_bytes(b"content")
    (mount / "well").write_bytes(b"content")
    must(home.iez("loopback", "down", "--keep", mount))
    with (store.path / "meta" / "file").open("r+b") as file:
        file.write(b"\xff" * 8)
    must(home.iez("loopback", "up", mount))
    for flags in (os.O_RDONLY, os.O_WRONLY):
        with raises(errno.EIO):
            os.open(mount / "file", flags)
    assert (mount / "file").stat().st_size == 0
    assert (mount / "well").read_bytes() == b"content"
    (mount / "file").unlink()
    assert [path.name for path in mount.iterdir()] == ["well"]


def test_layout_that_could_not_be_told_again_is_refused(home: Home) -> None:
    mount = home.root / "mount"
    home.up(mount)
    wide = v1(2000, 64 * KIB, pattern=RAID0 | OVERSTRIPING)
    with raises(errno.E2BIG):
        create(mount / "large", composite((1 << 30, wide), (EOF, wide)))
    os.close(create(mount / "file", wide))
    assert len(layout_of(mount / "file").components[0].osts) == 2000


def test_empty_pool_is_no_setting(home: Home) -> None:
    mount = home.root / "mount"
    store = home.up("--pool", "flash=0", mount)
    must(home.iez("loopback", "down", "--keep", mount))
    config = store.path / "config"
    config.write_text(config.read_text().replace("pool flash 0", "pool flash"))
    refused(home.iez("loopback", "up", mount), 69, "makes no sense")


def test_requests_in_memory_of_the_mount_itself_do_not_stop_it(home: Home) -> None:
    """The daemon fetches each request from a mapping of a file that it has to read for that."""
    mount = home.root / "mount"
    home.up(mount)
    count = 100
    pages = []
    for number in range(count):
        (mount / f"file{number}").write_bytes(bytes(4 * KIB))
        with opened(mount / f"file{number}", os.O_RDONLY) as fd:
            pages.append(mmap.mmap(fd, 4 * KIB, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE))
    answers = []
    fd = os.open(mount / "file0", os.O_RDONLY)

    def ask(page: mmap.mmap) -> None:
        answers.append(fcntl.ioctl(fd, GETSTRIPE, page, True))

    threads = [threading.Thread(target=ask, args=(page,), daemon=True) for page in pages]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    os.close(fd)
    assert answers == [0] * count
    for page in pages:
        page.close()


@needs_root
def test_further_groups_of_a_user_count(home: Home) -> None:
    mount = home.root / "mount"
    home.up(mount)
    os.mknod(mount / "file")
    os.chown(mount / "file", 0, GROUP)
    (mount / "file").chmod(0o664)
    with opened(mount / "file", os.O_RDONLY) as fd:

        def become(*groups: int) -> None:
            os.setgroups(groups)
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)

        def member() -> None:
            become(GROUP)
            set_stripe(fd, specific([1], MIB))

        def stranger() -> None:
            become(GROUP + 1)
            with raises(errno.EACCES):
                set_stripe(fd, specific([1], MIB))

        in_child(stranger)
        in_child(member)


@needs_root
def test_component_that_could_not_be_kept_is_not_written_either(home: Home) -> None:
    """Where its metadata find no room, a write fails, and what was there is there afterwards."""
    mount = home.root / "mount"
    store = home.up(mount)
    wide = v1(300, 64 * KIB, pattern=RAID0 | OVERSTRIPING)
    fd = create(mount / "file", composite((MIB, v1(1, 64 * KIB)), (EOF, wide)))
    os.pwrite(fd, b"first", 0)
    limit = (store.path / "meta" / "file").stat().st_size + 100
    subprocess.run(["prlimit", f"--fsize={limit}", "--pid", str(store.pid)], check=True)
    for _ in range(3):
        with raises(errno.EFBIG, errno.ENOSPC):
            os.pwrite(fd, b"second", 2 * MIB)
    os.close(fd)
    must(home.iez("loopback", "down", "--keep", mount))
    must(home.iez("loopback", "up", mount))
    assert (mount / "file").read_bytes() == b"first"
    with opened(mount / "file", os.O_WRONLY) as fd:
        os.pwrite(fd, b"second", 2 * MIB)
    assert (mount / "file").read_bytes()[2 * MIB :] == b"second"
