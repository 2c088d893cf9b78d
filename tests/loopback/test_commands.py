"""`iez loopback up`, `status` and `set` do what they say, or say why not and leave nothing."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from command_checks import refused, status
from loopback_fixtures import Home, Result, must
from lustre_calls import layout_of, osts_of
from posix_checks import KIB, MIB

from iez_client.cli.main import main

pytestmark = pytest.mark.fuse

WRONG_OPTIONS = [
    (["--oss", "0"], "'0' is not a number from 1 on"),
    (["--oss", "three"], "'three' is not a number from 1 on"),
    (["--oss", "255", "--osts", "1"], "255 OSTs on 255 servers are too many"),
    (["--osts", "700"], "2100 OSTs on 3 servers are too many"),
    (["--size", "big"], "'big' is not a size"),
    (["--size", "1023K"], "at least 1M"),
    (["--size", "100E"], "above 1E"),
    (["--bandwidth", "-1"], "--bandwidth"),
    (["--bandwidth", "16E"], "above 1E"),
    (["--oss-bandwidth", "fast"], "'fast' is not a size"),
    (["--window", "16E"], "above 1E"),
    (["--stripe-count", "0"], "--stripe-count is neither -1 nor from 1 to 2000"),
    (["--stripe-count", "2001"], "--stripe-count is neither -1 nor from 1 to 2000"),
    (["--stripe-count", "-2"], "--stripe-count is neither -1 nor from 1 to 2000"),
    (["--stripe-size", "100K"], "not a multiple of 64K"),
    (["--stripe-size", "0"], "not a multiple of 64K"),
    (["--stripe-size", "4G"], "not a multiple of 64K"),
    (["--pool", "flash"], "'flash' is no pool"),
    (["--pool", "flash=fast"], "neither an index nor a range"),
    (["--pool", "a b=0"], "'a b=0' is no pool"),
    (["--pool", "sixteen-letters-=0"], "is no pool"),
    (["--pool", "flash=0-15"], "OST 15 that is not there"),
    (["--pool", "flash=0", "--pool", "flash=1"], "of different names"),
    (["--pool", "a=0"] + [w for i in range(32) for w in ("--pool", f"p{i}=1")], "up to 32"),
    (["--seed", "0"], "'0' is not a number from 1 on"),
    (["--jobid", ""], "'' is no variable"),
    (["--jobid", "A\nB"], "is no variable"),
    (["--jobid", "A" * 64], "is no variable"),
    (["--name", "a/b"], "is no name"),
    (["--name", "ninechars"], "is no name"),
    (["--name", "é"], "is no name"),
    (["--images", "--directories"], "not allowed with"),
    (["--speed", "1"], "unrecognized arguments"),
]

WRONG_CHANGES = [
    ([], "nothing to change"),
    (["3"], "nothing to change"),
    (["--inject", "none", "3"], "nothing to change"),
    (["--bandwidth", "1M"], "which OSTs"),
    (["--state", "full", "--inject", "EIO"], "which OSTs"),
    (["99", "--state", "full"], "there is no OST 99"),
    (["0-99", "--state", "full"], "there is no OST 0-99"),
    (["oss9", "--state", "full"], "there is no OST oss9"),
    (["ten", "--state", "full"], "'ten' is neither an index nor a range"),
    (["0", "--state", "broken"], "'broken' is not a state"),
    (["0", "--oss-bandwidth", "1M"], "--oss-bandwidth is for a server"),
    (["oss9", "--oss-bandwidth", "1M"], "--oss-bandwidth is for a server"),
    (["0", "--size", "1K"], "at least 1M"),
    (["0", "--bandwidth", "16E"], "above 1E"),
    (["--inject", "EWHAT"], "'EWHAT' cannot be injected"),
]


# up


@pytest.mark.parametrize(("words", "message"), WRONG_OPTIONS)
def test_wrong_option_is_refused_and_nothing_is_made(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("IEZ_STATE_DIR", str(tmp_path / "state"))
    arguments = ["loopback", "up", *words, str(tmp_path / "mount")]
    code = main(arguments)
    refused(Result(arguments, code, *capsys.readouterr()), 2, message)
    assert list(tmp_path.iterdir()) == []


def test_up_says_what_it_made(home: Home) -> None:
    words = ["--oss", "2", "--osts", "3", "--size", "64M", "--bandwidth", "10M", "--directories"]
    done = must(home.iez("loopback", "up", *words, home.root / "mount"))
    assert done.stdout == (
        f"{home.root}/mount: 6 OSTs of 64M on 2 OSSs, 10M/s each, empty (try: iez osts)\n"
    )
    words = ["--oss", "1", "--osts", "1", "--size", "1M", "--bandwidth", "0", "--directories"]
    done = must(home.iez("loopback", "up", *words, home.root / "other"))
    assert done.stdout == (
        f"{home.root}/other: 1 OST of 1M on 1 OSS, no limit each, empty (try: iez osts)\n"
    )


def test_every_option_arrives(home: Home) -> None:
    words = [
        "--oss", "2", "--osts", "2", "--size", "32M", "--bandwidth", "7M", "--oss-bandwidth", "9M",
        "--window", "3M", "--stripe-count", "2", "--stripe-size", "192K", "--pool", "flash=1-2",
        "--pool", "disk=0,3", "--seed", "42", "--jobid", "MY_JOB", "--mmap", "--name", "fast1",
    ]  # fmt: skip
    store = home.up(*words, home.root / "mount")
    (told,) = status(home)
    assert told == {
        "name": "fast1",
        "mount": str(home.root / "mount"),
        "store": str(store.path),
        "pid": store.pid,
        "mmap": True,
        "images": False,
        "inject": None,
        "oss_bandwidths": [9 * MIB, 9 * MIB],
        "pools": {"flash": [1, 2], "disk": [0, 3]},
        "osts": [
            {
                "index": index,
                "oss": index // 2,
                "size_bytes": 32 * MIB,
                "bandwidth_bytes_per_s": 7 * MIB,
                "window_bytes": 3 * MIB,
                "states": [],
            }
            for index in range(4)
        ],
    }
    assert (store.config.seed, store.config.jobid) == (42, "MY_JOB")
    (home.root / "mount" / "file").touch()
    (component,) = layout_of(home.root / "mount" / "file").components
    assert (component.stripe_count, component.stripe_size_bytes) == (2, 192 * KIB)


def test_default_stripe_count_may_be_all(home: Home) -> None:
    home.up("--oss", "1", "--osts", "3", "--stripe-count", "-1", home.root / "mount")
    (home.root / "mount" / "file").touch()
    assert sorted(osts_of(home.root / "mount" / "file")) == [0, 1, 2]


def test_same_seed_makes_the_same_choices(home: Home) -> None:
    chosen = []
    for name in ("one", "two"):
        home.up("--osts", "5", "--seed", "7", home.root / name)
        for number in range(20):
            (home.root / name / f"{number}").touch()
        chosen.append([osts_of(home.root / name / f"{number}") for number in range(20)])
    assert chosen[0] == chosen[1]


def test_places_that_will_not_do_are_refused(home: Home) -> None:
    (home.root / "file").touch()
    (home.root / "full").mkdir()
    (home.root / "full" / "mine").write_text("mine")
    before = sorted(home.root.iterdir())
    up = ("loopback", "up", "--directories")
    refused(home.iez(*up, home.root / "file"), 73, "file exists")
    refused(home.iez(*up, home.root / "full"), 2, "is not empty")
    refused(home.iez(*up, home.root / "none" / "mount"), 73, f"mkdir -p {home.root}/none")
    refused(home.iez(*up, f"{home.root}/two\nlines"), 2, "control characters")
    for store, code, message in (
        ("file", 73, "not a directory"),
        ("file/store", 73, "not a directory"),
        ("none/store", 73, "no such file"),
        ("full", 2, "neither empty nor a store"),
        ("mount", 2, "one in the other"),
        ("mount/store", 2, "one in the other"),
        (".", 2, "one in the other"),
        ("two\nlines", 2, "control characters"),
    ):
        refused(home.iez(*up, "--store", home.root / store, home.root / "mount"), code, message)
    home.assert_bare()
    assert sorted({*home.root.iterdir()} - {home.root / "state"}) == before
    assert (home.root / "full" / "mine").read_text() == "mine"


def test_state_directory_that_cannot_be_made_is_refused(home: Home) -> None:
    (home.root / "file").touch()
    elsewhere = Home(home.root, home.env | {"IEZ_STATE_DIR": str(home.root / "file" / "state")})
    done = elsewhere.iez("loopback", "up", "--directories", home.root / "mount")
    refused(done, 73, "not a directory", "IEZ_STATE_DIR=DIR")
    assert not (home.root / "mount").exists()


def test_mount_point_goes_only_if_it_was_made(home: Home) -> None:
    (home.root / "old").mkdir()
    for name in ("old", "new"):
        home.up(home.root / name)
    for name in ("old", "new"):
        must(home.iez("loopback", "down", home.root / name))
    assert (home.root / "old").is_dir()
    assert not (home.root / "new").exists()
    home.assert_bare()


def test_names_of_every_kind_do(home: Home) -> None:
    names = ("two words, a=b:c", "back\\slash ü\u2028", '\udcff"')
    for number, name in enumerate(names):
        mount, store = home.root / name, home.root / f"{name} store"
        assert home.up("--store", store, mount).path == store
        (mount / "file").write_text(name.encode(errors="surrogateescape").hex())
        assert [each["mount"] for each in status(home, mount)] == [str(mount)]
        assert str(mount) in must(home.iez("osts")).stdout
        must(home.iez("loopback", "set", "--dir", mount, "0", "--state", "degraded"))
        if number % 2:
            must(home.iez("loopback", "down", "--keep", mount))
            home.up(mount)
            assert (mount / "file").exists()
        must(home.iez("loopback", "down", mount))
        assert not mount.exists()
        assert not store.exists()
    home.assert_bare()


def test_relative_path_and_link_name_the_same_place(home: Home) -> None:
    (home.root / "real").mkdir()
    (home.root / "link").symlink_to("real")
    store = home.up(home.root / "link" / "mount")
    assert store.config.mount == str(home.root / "real" / "mount")
    here = Home(home.root, home.env, ("env", "-C", str(home.root / "real")))
    assert len(status(here, "mount")) == 1
    must(here.iez("loopback", "set", "--dir", "../link/mount", "0", "--state", "full"))
    must(here.iez("loopback", "down", "mount"))
    home.assert_bare()


def test_up_twice_is_refused_and_disturbs_nothing(home: Home) -> None:
    store = home.up(home.root / "mount")
    (home.root / "mount" / "file").write_text("content")
    for words in ((), ("--name", "other")):
        refused(home.iez("loopback", "up", *words, home.root / "mount"), 69, "is up already")
    refused(home.iez("loopback", "up", "--name", "loop0", home.root / "other"), 2, "called loop0")
    stranger = Home(home.root, home.env | {"IEZ_STATE_DIR": str(home.root / "elsewhere")})
    (home.root / "mount" / "file").unlink()  # an empty directory is not enough
    refused(stranger.iez("loopback", "up", home.root / "mount"), 69, "is mounted at")
    assert (store.pid > 0, home.mounts) == (True, [str(home.root / "mount")])
    assert not (home.root / "other").exists()


def test_several_at_the_same_moment_get_names_of_their_own(home: Home) -> None:
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda n: home.up(home.root / f"mount{n}"), range(6)))
    assert len({store.path for store in stores}) == 6
    assert {each["name"] for each in status(home)} == {f"loop{n}" for n in range(6)}


def test_only_one_of_several_gets_the_same_place(home: Home) -> None:
    words = ("loopback", "up", "--directories", home.root / "mount")
    with ThreadPoolExecutor(4) as pool:
        codes = sorted(done.returncode for done in pool.map(lambda _: home.iez(*words), range(4)))
    assert codes == [0, 69, 69, 69]
    assert (len(home.stores), len(home.mounts)) == (1, 1)


# status


def test_status_lists_what_there_is(home: Home) -> None:
    none = home.iez("loopback", "status")
    assert (none.returncode, none.stdout) == (1, "")
    assert none.stderr.splitlines()[0] == "iez: there is no loopback file system"
    assert status(home) == []
    one = home.up("--oss", "1", "--osts", "2", "--pool", "flash=1", home.root / "one")
    two = home.up("--oss", "1", "--osts", "1", "--oss-bandwidth", "9M", home.root / "two")
    done = must(home.iez("loopback", "status"))
    assert done.stdout.split("\n\n") == [
        f"{home.root}/one (loop0): up, process {one.pid}, kept in {one.path}\n"
        "OST  OSS  SIZE  BANDWIDTH  WINDOW  STATE\n"
        "0    0    64M   no limit   8M      ok\n"
        "1    0    64M   no limit   8M      ok\n"
        "pool flash: OST 1",
        f"{home.root}/two (loop1): up, process {two.pid}, kept in {two.path}\n"
        "OST  OSS  SIZE  BANDWIDTH  WINDOW  STATE\n"
        "0    0    64M   no limit   8M      ok\n"
        "OSS 0: 9M/s for all its OSTs\n",
    ]
    assert [each["name"] for each in status(home, home.root / "two")] == ["loop1"]
    refused(home.iez("loopback", "status", home.root), 69, "is no loopback file system")
    must(home.iez("loopback", "down", "--keep", home.root / "one"))
    done = home.iez("loopback", "status")
    assert done.returncode == 1
    assert f"{home.root}/one (loop0): down" in done.stdout
    assert [each["pid"] for each in status(home)] == [None, two.pid]


def test_several_must_be_named(home: Home) -> None:
    refused(home.iez("loopback", "down"), 69, "there is no loopback file system")
    refused(home.iez("loopback", "set", "0", "--state", "full"), 69, "there is no")
    for name in ("one", "two"):
        home.up(home.root / name)
    refused(home.iez("loopback", "down"), 69, "several", f"{home.root}/one, {home.root}/two")
    refused(home.iez("loopback", "set", "0", "--state", "full"), 69, "several")
    (home.root / "one" / "file").write_text("one")
    (home.root / "two" / "file").write_text("two")
    must(home.iez("loopback", "set", "--dir", home.root / "one", "0", "--state", "full"))
    assert [each["osts"][0]["states"] for each in status(home)] == [["full"], []]  # type: ignore[index]
    must(home.iez("loopback", "down", home.root / "one"))
    assert (home.root / "two" / "file").read_text() == "two"
    must(home.iez("loopback", "down"))
    home.assert_bare()


# set


def test_set_changes_what_it_names_and_nothing_else(home: Home) -> None:
    store = home.up("--oss", "2", "--osts", "2", "--bandwidth", "5M", home.root / "mount")

    def change(*words: str) -> None:
        must(home.iez("loopback", "set", *words))

    def column(name: str) -> list[object]:
        return [getattr(ost, name) for ost in store.config.osts]

    change("1", "--bandwidth", "2M")
    change("0,2-3", "--window", "1M")
    change("oss1", "--state", "degraded,no-create")
    change("all", "--size", "32M")
    change("oss0", "--oss-bandwidth", "6M")
    change("--inject", "ENOSPC")
    assert column("bandwidth") == [5 * MIB, 2 * MIB, 5 * MIB, 5 * MIB]
    assert column("window_bytes") == [MIB, 8 * MIB, MIB, MIB]
    assert column("state_names") == [(), ()] + 2 * [("degraded", "no-create")]
    assert column("size_bytes") == [32 * MIB] * 4
    (told,) = status(home)
    assert (told["oss_bandwidths"], told["inject"]) == ([6 * MIB, 0], "ENOSPC")
    assert must(home.iez("loopback", "status")).stdout.endswith(
        "OSS 0: 6M/s for all its OSTs\nevery layout that is asked for is answered with ENOSPC\n"
    )
    change("all", "--state", "ok")
    change("--inject", "none")
    assert column("state_names") == [()] * 4
    assert os.statvfs(home.root / "mount").f_blocks * 4096 == 4 * 32 * MIB


def test_wrong_change_is_refused_and_changes_nothing(home: Home) -> None:
    store = home.up(home.root / "mount")
    before = store.config
    for words, message in WRONG_CHANGES:
        refused(home.iez("loopback", "set", *words), 2, message)
        assert store.config == before


def test_changes_at_the_same_moment_are_all_made(home: Home) -> None:
    store = home.up("--oss", "1", "--osts", "6", home.root / "mount")
    words = [("loopback", "set", f"{ost}", "--bandwidth", f"{ost + 1}M") for ost in range(6)]
    with ThreadPoolExecutor(6) as pool:
        for done in pool.map(lambda each: home.iez(*each), words):
            must(done)
    assert [ost.bandwidth for ost in store.config.osts] == [n * MIB for n in range(1, 7)]


def test_change_while_it_is_down_holds_when_it_is_up(home: Home) -> None:
    store = home.up("--oss", "1", "--osts", "2", home.root / "mount")
    must(home.iez("loopback", "down", "--keep"))
    must(home.iez("loopback", "set", "all", "--size", "16M"))
    home.up(home.root / "mount")
    assert os.statvfs(home.root / "mount").f_blocks * 4096 == 2 * 16 * MIB
    must(home.iez("loopback", "set", "0", "--state", "degraded"))
    assert store.config.osts[0].state_names == ("degraded",)


def test_help_of_each_ends_with_an_example_that_can_be_parsed(home: Home) -> None:
    for command in ("up", "status", "set", "down", "clean"):
        done = must(home.iez("loopback", command, "--help"))
        examples = done.stdout.partition("example:\n")[2].strip().splitlines()
        assert examples
        for example in examples:
            words = ["sh", "-c", f"set -- {example.strip()}; printf '%s\\n' \"$@\""]
            told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            assert told.splitlines()[:3] == ["iez", "loopback", command]
