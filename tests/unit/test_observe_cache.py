"""What was last seen: kept for a moment as the truth, for longer as the last good sizes."""

import json
import os
from pathlib import Path

import pytest

from iez_client.observe.cache import (
    FRESH_S,
    SeenFileSystem,
    SeenOst,
    cache_file,
    load,
    store,
)

OST = SeenOst(3, 100, 60, 40, 1234.5, "10.0.0.7@tcp", ("degraded",), "sys")
NEVER = SeenOst(4, 0, 0, 0, None, "", ("unreachable",), "", is_silent=True)
SEEN = {"work": SeenFileSystem(1240.0, (OST, NEVER)), "home": SeenFileSystem(1.0, (), "trouble")}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "iez" / "osts.json"


def test_what_is_kept_comes_back_and_is_the_users_alone(file: Path) -> None:
    store(file, SEEN)
    assert load(file) == SEEN
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in file.parent.iterdir()] == ["osts.json"]


@pytest.mark.parametrize(
    ("age_s", "is_fresh"), [(0, True), (FRESH_S - 0.1, True), (FRESH_S, False), (-1, False)]
)
def test_fresh_for_a_moment_and_never_from_the_future(age_s: float, is_fresh: bool) -> None:
    assert SeenFileSystem(1000.0, ()).is_fresh(1000.0 + age_s) is is_fresh


def test_the_file_lies_where_xdg_says() -> None:
    assert cache_file({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/x/iez/osts.json")
    for other in ({"HOME": "/h"}, {"HOME": "/h", "XDG_CACHE_HOME": "rel"}):
        assert cache_file(other) == Path("/h/.cache/iez/osts.json")


def test_another_machines_sizes_are_never_fresh(file: Path) -> None:
    store(file, SEEN)
    values = json.loads(file.read_text())
    file.write_text(json.dumps(values | {"host": "elsewhere"}))
    assert load(file)["work"] == SeenFileSystem(0.0, (OST, NEVER))


def damaged(name: str, value: object) -> str:
    """The cache with one field of its first OST replaced, or without it."""
    ost = {
        "index": 3, "size_bytes": 1, "available_bytes": 1, "used_bytes": 0, "time_s": 1.0,
        "oss": "", "states": [], "source": "sys", "is_silent": False,
        "rpcs": {"count": 1, "bytes": 2, "usecs": 3, "in_flight": 4}, "bytes_per_s": 0.0,
        name: value,
    }  # fmt: skip
    if value is None and name != "time_s":
        del ost[name]
    seen = {"time_s": 1.0, "osts": [ost], "trouble": ""}
    host = os.uname().nodename
    return json.dumps({"schema": 2, "host": host, "file_systems": {"work": seen}})


def test_the_helper_of_the_next_test_makes_a_good_file(file: Path) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(damaged("index", 5))
    assert load(file)["work"].osts[0].index == 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "\x00\x01",
        '{"schema": 1, "host": "", "file_systems": {}}',
        '{"schema": 2, "host": "", "file_systems": []}',
        '{"schema": 2, "host": "", "file_systems": {"work": 3}}',
        '{"schema": 2, "host": "", "file_systems": {"work": {"time_s": 1, "osts": {}}}}',
        "[" * 100_000,
        damaged("index", None),
        damaged("index", -1),
        damaged("size_bytes", "10"),
        damaged("size_bytes", True),
        damaged("size_bytes", 1.5),
        damaged("time_s", "now"),
        damaged("time_s", float("nan")),
        damaged("oss", 5),
        damaged("states", ["bogus"]),
        damaged("states", "full"),
        damaged("states", [[]]),
        damaged("is_silent", 1),
        damaged("rpcs", None),
        damaged("rpcs", {"count": 1}),
        damaged("rpcs", [1, 2, 3, 4]),
        damaged("rpcs", {"count": 1, "bytes": 2, "usecs": 3, "in_flight": "4"}),
        damaged("bytes_per_s", "fast"),
    ],
)
def test_a_damaged_file_is_no_file_and_is_written_anew(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text)
    assert load(file) == {}
    store(file, SEEN)
    assert load(file) == SEEN


def test_a_pipe_or_a_directory_in_its_place_does_not_hang(file: Path) -> None:
    file.parent.mkdir(parents=True)
    os.mkfifo(file)
    assert load(file) == {}
    store(file, SEEN)
    file.unlink()
    file.mkdir()
    assert load(file) == {}
    store(file, SEEN)


def test_a_cache_that_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store(tmp_path / "file" / "iez" / "osts.json", SEEN)
    assert load(tmp_path / "file" / "iez" / "osts.json") == {}
    assert load(Path("/proc/none/osts.json")) == {}
    store(Path("/proc/none/osts.json"), SEEN)
