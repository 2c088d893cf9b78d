"""What is wrong with an OST is told by the trees, by ioctl and by `iez osts`."""

import errno
import fcntl
import json
import os
from collections.abc import Iterator, Mapping

import pytest
from loopback_fixtures import Loopback, Mounted
from posix_checks import KIB, MIB, opened, raises
from store_trees import SPACE, file_on, number_of, obdfilter, osc, refresh, text_of

from iez_client.observe.statfs import LL_IOC_GETOBDCOUNT, ask_ost, count_osts

pytestmark = pytest.mark.fuse

OSTS = 8
SIZE = 64 * MIB
STATES = ("degraded", "read-only", "no-create", "full", "inactive", "dead")


@pytest.fixture(scope="module")
def troubled(loopback: Loopback) -> Iterator[Mounted]:
    """A file system with an OST in each state, and two that are well."""
    name = f"t{os.getpid()}"  # `iez osts` lists those of others on this machine as well
    with loopback(oss=2, osts=OSTS // 2, size=f"{SIZE}", name=name) as up:
        up.iez("osts", "--refresh")  # what is known of an OST before it is lost
        for ost, name in enumerate(STATES):
            up.set(str(ost), "--state", name)
        yield up


def test_states_are_told_in_letters(troubled: Mounted) -> None:
    letters = [text_of(osc(troubled, ost), "statfs_state") for ost in range(OSTS)]
    assert letters == ["D", "R", "N", "S", "", "", "", ""]
    for name, ost in (("degraded", 0), ("no_create", 2)):
        told = [number_of(obdfilter(troubled, each), name) for each in range(OSTS)]
        assert told == [int(each == ost) for each in range(OSTS)]
    assert number_of(osc(troubled, 3), "kbytesavail") == 0
    assert number_of(osc(troubled, 3), "kbytesfree") == SIZE // KIB
    assert "state: DISCONN" in text_of(osc(troubled, 5), "import")
    assert not any((osc(troubled, 5) / name).exists() for name in SPACE)


def told_osts(mounted: Mounted) -> list[Mapping[str, object]]:
    """What `iez osts --json` says of this file system; there may be others."""
    told = json.loads(mounted.iez("osts", "--json", "--refresh").stdout)
    (found,) = (each for each in told["file_systems"] if each["prefix"] == str(mounted.mount))
    assert (found["kind"], found["name"]) == ("loopback", mounted.config.fsname)
    osts: list[Mapping[str, object]] = found["osts"]
    return osts


def test_iez_osts_tells_what_the_trees_tell(troubled: Mounted) -> None:
    path = file_on(troubled.mount / "file", 6)
    path.write_bytes(b"x" * 3 * MIB)
    refresh(troubled)
    osts = told_osts(troubled)
    assert [each["index"] for each in osts] == list(range(OSTS))
    states = [[name] for name in (*STATES[:5], "unreachable")] + [[], []]
    assert [each["states"] for each in osts] == states
    assert [each["oss"] for each in osts] == ["127.0.1.1@tcp"] * 4 + ["127.0.1.2@tcp"] * 4
    assert [each["size_bytes"] for each in osts] == [SIZE] * OSTS
    used = number_of(osc(troubled, 6), "kbytesavail") * KIB
    assert [each["available_bytes"] for each in osts[:4]] == [SIZE] * 3 + [0]
    assert (osts[6]["available_bytes"], osts[6]["used_bytes"]) == (used, SIZE - used)
    assert used <= SIZE - 3 * MIB
    assert {each["source"] for each in osts} == {"loopback"}
    lines = troubled.iez("osts").stdout.splitlines()
    name = troubled.config.fsname
    rows = [line.split() for line in lines if line.startswith(f"{name}-OST")]
    assert [row[0] for row in rows] == [f"{name}-OST{ost:04x}" for ost in range(OSTS)]
    assert [row[6] for row in rows] == [*STATES[:5], "unreachable", "ok", "ok"]
    assert {(row[1], row[2]) for row in rows[:4]} == {("127.0.1.1@tcp", "64.0M")}
    assert {(row[1], row[2]) for row in rows[4:]} == {("127.0.1.2@tcp", "64.0M")}
    path.unlink()


def test_ioctl_tells_the_space_of_each_ost(troubled: Mounted) -> None:
    with opened(troubled.mount, os.O_RDONLY | os.O_DIRECTORY) as fd:
        assert count_osts(fd) == OSTS
        for ost, bits in enumerate((0x1, 0x2, 0x4, 0x20)):
            told = ask_ost(fd, ost)
            assert told.uuid == f"{troubled.config.fsname}-OST{ost:04x}_UUID"
            assert told.state_bits == bits
            assert (told.size_bytes, told.free_bytes) == (SIZE, SIZE)
            assert told.available_bytes == (0 if ost == 3 else SIZE)
            assert told.files_free > 0
        path = file_on(troubled.mount / "asked", 7)
        path.write_bytes(b"x" * MIB)
        refresh(troubled)
        told = ask_ost(fd, 7)
        assert told.state_bits == 0
        assert told.available_bytes == number_of(osc(troubled, 7), "kbytesavail") * KIB < SIZE
        with opened(path, os.O_RDONLY) as other:
            assert ask_ost(other, 7).uuid == told.uuid
        for ost, number in (
            (4, errno.ENODATA),
            (5, errno.EIO),
            (OSTS, errno.EAGAIN),
            (63, errno.EAGAIN),
            (64, errno.ENODEV),
            (65534, errno.ENODEV),
        ):
            with raises(number):
                ask_ost(fd, ost)
        path.unlink()


def test_ioctl_counts_osts_or_mdts(troubled: Mounted) -> None:
    with opened(troubled.mount, os.O_RDONLY | os.O_DIRECTORY) as fd:
        for asked, count in ((0, OSTS), (1, 1)):
            buffer = bytearray(asked.to_bytes(8, "little"))
            fcntl.ioctl(fd, LL_IOC_GETOBDCOUNT, buffer, True)
            assert int.from_bytes(buffer[:4], "little") == count
