"""The trees below a store tell of space and traffic as Lustre's do."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback_fixtures import TIMEOUT_S, Loopback, Mounted, must
from lustre_calls import ALL, create, layout_of, specific, v1
from posix_checks import KIB, MIB, opened, pattern
from store_objects import expected_objects, places_of
from store_trees import SPACE, file_on, number_of, obdfilter, osc, refresh, text_of

pytestmark = pytest.mark.fuse

OSTS = 8
SIZE = 64 * MIB
BLOCK = 64 * KIB  # a read or write of so much is one request

# What release 2.17 shows, but for what came with 2.16 (`hist`).
STATS = """\
snapshot_time:            1794966217.546841630 secs.nsecs
start_time:               1794966217.071001420 secs.nsecs
elapsed_time:             0.475840210 secs.nsecs
"""
JOB = """\
- job_id:          dd.1000
  snapshot_time:   1794966217.546841630 secs.nsecs
  start_time:      1794966217.071001420 secs.nsecs
  elapsed_time:    0.475840210 secs.nsecs
"""
JOB_BYTES = """\
  read_bytes:      { samples:           8, unit: bytes, min:  1048576, max:  1048576, \
sum:          8388608, sumsq:      8796093022208 }"""
JOB_TIMES = """\
  read:            { samples:           8, unit: usecs, min:     1538, max:     7507, \
sum:            32472, sumsq:          150536508 }"""
JOB_OPERATIONS = (
    "read_bytes", "write_bytes", "read", "write", "getattr", "setattr", "punch", "sync", "destroy",
    "create", "statfs", "get_info", "set_info", "quotactl", "prealloc",
)  # fmt: skip


@pytest.fixture(scope="module")
def mounted(loopback: Loopback) -> Iterator[Mounted]:
    with loopback(oss=2, osts=OSTS // 2, size=f"{SIZE}", stripe_count=2) as up:
        yield up


def shape(text: str) -> str:
    """The text with a sign for each number, as wide as its place."""
    text = re.sub(r"\d+\.\d{9}", "TIME", text)
    return re.sub(r" *\b\d+", lambda found: "#" * len(found[0]), text)


def stats_of(mounted: Mounted, ost: int) -> dict[str, list[int]]:
    """By operation: samples, least, most, sum, sum of squares."""
    lines = text_of(obdfilter(mounted, ost), "stats").splitlines()[3:]
    form = r"(\w+) +(\d+) samples \[(bytes|usecs)\] (\d+) (\d+) (\d+) (\d+)"
    found = [re.fullmatch(form, line) for line in lines]
    assert all(found), lines
    return {each[1]: [int(each[i]) for i in (2, 4, 5, 6, 7)] for each in found if each}


def bytes_of(mounted: Mounted, ost: int, operation: str) -> int:
    return stats_of(mounted, ost).get(operation, [0] * 5)[3]


def jobs_of(mounted: Mounted, ost: int) -> dict[str, dict[str, list[int]]]:
    """By job and operation: samples, least, most, sum, sum of squares."""
    text = text_of(obdfilter(mounted, ost), "job_stats")
    head, *jobs = text.split("\n- job_id:")
    assert head == "job_stats:"
    found = {}
    for job in jobs:
        name, _, _, _, *lines = job.splitlines()
        found[name.strip()] = {
            line.split(":")[0].strip(): [int(each) for each in re.findall(r" (\d+)\b", line)]
            for line in lines
        }
    return found


def dd(
    source: Path | str, target: Path | str, count: int, program: str = "dd", job: str = ""
) -> None:
    words = [program, f"if={source}", f"of={target}", f"bs={BLOCK}", f"count={count}"]
    env = {"PATH": os.environ["PATH"]} | ({"SLURM_JOB_ID": job} if job else {})
    subprocess.run([*words, "conv=notrunc"], env=env, check=True, capture_output=True)


def test_each_ost_has_its_place(mounted: Mounted) -> None:
    assert re.fullmatch(r"[0-9a-f]{16}", mounted.config.instance)
    places = sorted((mounted.store / "client" / "osc").iterdir())
    assert places == [osc(mounted, ost) for ost in range(OSTS)]
    places = sorted((mounted.store / "server" / "obdfilter").iterdir())
    assert places == [obdfilter(mounted, ost) for ost in range(OSTS)]


def test_each_server_has_its_address(mounted: Mounted) -> None:
    addresses = [text_of(osc(mounted, ost), "ost_conn_uuid") for ost in range(OSTS)]
    assert addresses == ["127.0.1.1@tcp"] * 4 + ["127.0.1.2@tcp"] * 4
    for ost, address in enumerate(addresses):
        text = text_of(osc(mounted, ost), "import")
        assert "    state: FULL\n" in text
        assert f'current_connection: "{address}"' in text


def test_volume_tells_defaults_and_counts(mounted: Mounted) -> None:
    (volume,) = (mounted.store / "client" / "lov").iterdir()
    assert volume.name.startswith(f"{mounted.config.fsname}-clilov-")
    told = {each.name: each.read_text() for each in volume.iterdir()}
    assert told == {
        "stripesize": f"{4 * MIB}\n",
        "stripecount": "2\n",
        "stripeoffset": "-1\n",
        "numobd": f"{OSTS}\n",
        "activeobd": f"{OSTS}\n",
    }
    with mounted.state(3, "inactive"):
        assert number_of(volume, "activeobd") == OSTS - 1
        assert number_of(volume, "numobd") == OSTS
        assert [number_of(osc(mounted, ost), "active") for ost in (2, 3)] == [1, 0]
    assert number_of(volume, "activeobd") == OSTS
    assert number_of(osc(mounted, 3), "active") == 1


def test_space_is_what_the_objects_leave(mounted: Mounted, folder: Path) -> None:
    for ost in range(OSTS):
        path = file_on(folder / f"{ost}", ost)
        path.write_bytes(b"x" * (ost * MIB + 1))
    refresh(mounted)
    for ost in range(OSTS):
        below = mounted.store / "ost" / f"{ost:04x}" / "objects"
        used_kib = sum(each.stat().st_blocks for each in below.iterdir()) // 2
        assert used_kib >= ost * KIB
        for place in (osc(mounted, ost), obdfilter(mounted, ost)):
            total, free, available, files, files_free, block = (
                number_of(place, name) for name in SPACE
            )
            assert (total, free, available) == (SIZE // KIB, total - used_kib, total - used_kib)
            assert 0 < files_free <= files
            assert block == 4096
    for each in folder.iterdir():
        each.unlink()
    refresh(mounted)
    assert number_of(osc(mounted, 7), "kbytesfree") > SIZE // KIB - 7 * KIB


def test_size_follows_the_setting(mounted: Mounted) -> None:
    mounted.set("6", "--size", "32M")
    assert number_of(osc(mounted, 6), "kbytestotal") == 32 * KIB
    mounted.set("6", "--size", f"{SIZE}")
    assert number_of(obdfilter(mounted, 6), "kbytestotal") == SIZE // KIB


def test_stats_count_each_request(loopback: Loopback) -> None:
    with loopback(oss=1, osts=2) as mounted:
        file_on(mounted.mount / "file", 1)
        with opened(mounted.mount / "file", os.O_RDWR) as fd:
            for i, length in enumerate((BLOCK, 1, 4096, BLOCK)):
                os.pwrite(fd, b"x" * length, i * BLOCK)
            for length in (100, 10):
                os.pread(fd, length, 0)
            os.fsync(fd)
        (mounted.mount / "file").unlink()
        refresh(mounted)
        stats = stats_of(mounted, 1)
        squares = 2 * BLOCK**2 + 1 + 4096**2
        assert stats["write_bytes"] == [4, 1, BLOCK, 2 * BLOCK + 4097, squares]
        assert stats["read_bytes"] == [2, 10, 100, 110, 100**2 + 10**2]
        counts = {name: numbers[0] for name, numbers in stats.items()}
        assert counts == {
            "read_bytes": 2, "write_bytes": 4, "read": 2, "write": 4,
            "sync": 1, "create": 1, "destroy": 1,
        }  # fmt: skip
        text = text_of(obdfilter(mounted, 1), "stats")
        assert shape(text).startswith(shape(STATS))
        snapshot, start, elapsed = map(float, re.findall(r"\d+\.\d{9}", text))
        assert start < snapshot <= time.time()
        assert elapsed == pytest.approx(snapshot - start, abs=1e-6)
        assert stats_of(mounted, 0) == {}


def test_bytes_of_each_ost_are_those_of_its_objects(mounted: Mounted, folder: Path) -> None:
    before = [bytes_of(mounted, ost, "write_bytes") for ost in range(OSTS)]
    data = pattern(3 * MIB + 12345)
    for name, wire in (
        ("list", specific([5, 0, 3], 192 * KIB)),
        ("all", v1(ALL, 64 * KIB)),
        ("one", v1(1, MIB)),
    ):
        os.close(create(folder / name, wire))
        (folder / name).write_bytes(data)
        places = places_of(mounted, folder / name)
        for key, content in expected_objects(layout_of(folder / name), data).items():
            before[int(places[key])] += len(content)
    refresh(mounted)
    assert [bytes_of(mounted, ost, "write_bytes") for ost in range(OSTS)] == before
    reads = [bytes_of(mounted, ost, "read_bytes") for ost in range(OSTS)]
    assert (folder / "list").read_bytes() == data
    refresh(mounted)
    lengths = [len(each) for each in expected_objects(layout_of(folder / "list"), data).values()]
    for ost, length in zip((5, 0, 3), lengths, strict=True):
        reads[ost] += length
    assert [bytes_of(mounted, ost, "read_bytes") for ost in range(OSTS)] == reads


def test_trees_keep_up_by_themselves(mounted: Mounted, folder: Path) -> None:
    before = bytes_of(mounted, 2, "write_bytes")
    file_on(folder / "file", 2).write_bytes(b"x" * 12345)
    end_s = time.monotonic() + TIMEOUT_S
    while bytes_of(mounted, 2, "write_bytes") != before + 12345:
        assert time.monotonic() < end_s
        time.sleep(0.05)


def test_trees_are_complete_when_it_is_down(loopback: Loopback) -> None:
    with loopback(oss=1, osts=2) as mounted:
        file_on(mounted.mount / "file", 0).write_bytes(b"x" * 54321)
        must(mounted.iez("loopback", "down", "--keep", mounted.mount))
        assert bytes_of(mounted, 0, "write_bytes") == 54321


def test_next_daemon_takes_away_what_does_not_hold_any_more(loopback: Loopback) -> None:
    with loopback(oss=1, osts=2) as mounted:
        must(mounted.iez("loopback", "down", "--keep", mounted.mount))
        assert (osc(mounted, 1) / "kbytesfree").exists()
        mounted.set("1", "--state", "dead")
        must(mounted.iez("loopback", "up", mounted.mount))
        assert (osc(mounted, 0) / "kbytesfree").exists()
        assert not (osc(mounted, 1) / "kbytesfree").exists()


def test_jobs_are_told_apart_by_name_and_user(mounted: Mounted, tmp_path: Path) -> None:
    path = file_on(mounted.mount / "by name", 4)
    (tmp_path / "other").symlink_to(shutil.which("dd") or "")
    before = bytes_of(mounted, 4, "write_bytes")
    dd("/dev/zero", path, 8)
    dd(path, "/dev/null", 4)
    dd("/dev/zero", path, 3, program=str(tmp_path / "other"))
    refresh(mounted)
    jobs = jobs_of(mounted, 4)
    dds, other = jobs[f"dd.{os.geteuid()}"], jobs[f"other.{os.geteuid()}"]
    assert dds["write_bytes"] == [8, BLOCK, BLOCK, 8 * BLOCK, 8 * BLOCK**2]
    assert dds["read_bytes"] == [4, BLOCK, BLOCK, 4 * BLOCK, 4 * BLOCK**2]
    assert other["write_bytes"] == [3, BLOCK, BLOCK, 3 * BLOCK, 3 * BLOCK**2]
    assert other["read_bytes"] == [0] * 5
    assert (dds["write"][0], dds["read"][0], other["write"][0]) == (8, 4, 3)
    assert bytes_of(mounted, 4, "write_bytes") - before == 11 * BLOCK
    assert all(f"dd.{os.geteuid()}" not in jobs_of(mounted, ost) for ost in (2, 5))
    path.unlink()


def test_job_has_the_form_of_lustre(mounted: Mounted, folder: Path) -> None:
    dd("/dev/zero", file_on(folder / "file", 7), 8)
    refresh(mounted)
    text = text_of(obdfilter(mounted, 7), "job_stats")
    start = text.index(f"- job_id:          dd.{os.geteuid()}\n")
    lines = text[start:].splitlines()[: 4 + len(JOB_OPERATIONS)]
    assert shape("\n".join(lines[1:4])) == shape("\n".join(JOB.splitlines()[1:]))
    forms = {"bytes": shape(JOB_BYTES), "usecs": shape(JOB_TIMES)}
    told = {line.split(":")[0].strip(): line for line in lines[4:]}
    assert sorted(told) == sorted(JOB_OPERATIONS)
    for name, line in told.items():
        form = forms["bytes" if name.endswith("_bytes") else "usecs"]
        assert shape(line)[19:] == form[19:], name
        assert line[:19] == f"  {name + ':':<17}"


def test_jobs_are_told_apart_by_a_variable(loopback: Loopback) -> None:
    long = "a_name_of_more_than_31_characters_in_all"
    with loopback(oss=1, osts=1, jobid="SLURM_JOB_ID") as mounted:
        path = file_on(mounted.mount / "file", 0)
        for job, count in (("4711", 5), ("4712", 6), (long, 7), ("", 8)):
            dd("/dev/zero", path, count, job=job)
        refresh(mounted)
        jobs = {name: counts["write_bytes"][0] for name, counts in jobs_of(mounted, 0).items()}
    assert jobs == {"4711": 5, "4712": 6, long[:31]: 7, f"dd.{os.geteuid()}": 8}
