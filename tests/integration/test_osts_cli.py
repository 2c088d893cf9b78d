"""`iez osts` as a user types it: tables, JSON, mocks, OSTs that hang, wrong words."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import IEZ, ROOT, Run, clean_env, runner
from lustre_trees import GIB_KIB, RELEASES, FakeOst, LustreMachine

from iez_client.observe.cache import FRESH_S
from iez_client.observe.osts import DEADLINE_S
from iez_client.observe.readers import READERS, READERS_MAX
from iez_client.observe.states import FILES_LOW, NEARLY_FULL_PERCENT
from iez_common.records import AVOIDED, CLOSED

GIB = 1 << 30
DRIVER = Path(__file__).parent / "programs" / "iez_on_machine.py"
IN_TIME = ["timeout", "120"]  # exit code 124: the command hangs
WORK = "10.0.0.1@tcp:/work /lustre/work lustre rw,flock 0 0"
FIELDS = {
    *("index", "name", "oss", "size_bytes", "available_bytes", "used_bytes", "states", "age_s"),
    *("source", "bytes_per_s", "is_slow"),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "mock").mkdir()
    return tmp_path


@pytest.fixture
def machine(home: Path) -> Iterator[LustreMachine]:
    machine = LustreMachine(home)
    machine.mount(WORK)
    yield machine
    machine.heal()


@pytest.fixture
def on_machine(home: Path, machine: LustreMachine) -> Run:
    return runner([*IN_TIME, sys.executable, str(DRIVER), str(home)], home)


@pytest.fixture
def iez(home: Path) -> Run:
    return runner([*IN_TIME, *IEZ], home)


def rows(text: str) -> list[str]:
    return [re.sub("  +", "|", line) for line in text.splitlines()]


@pytest.mark.parametrize("release", RELEASES)
def test_a_table_a_file_system_with_its_sum(home: Path, release: str) -> None:
    machine = LustreMachine(home, release)
    machine.mount(WORK, "m@tcp:/home /home lustre rw 0 0", "m@tcp:/work/sub /sub lustre rw 0 0")
    machine.add(
        FakeOst(0),
        FakeOst(1, active="0"),
        FakeOst(0xA, available_kib=3 * GIB_KIB, nid="10.9.0.12@tcp"),
    )
    machine.add(FakeOst(2, nid="0@lo"), fs_name="home")
    done = runner([*IN_TIME, sys.executable, str(DRIVER), str(home)], home)("osts")
    assert (done.returncode, done.stderr) == (0, "")
    assert rows(done.stdout) == [
        "/lustre/work, /sub (lustre)",
        "OST|OSS|SIZE|USED|AVAILABLE|USE%|STATE",
        "work-OST0000|10.9.0.11@tcp|100.0G|40.0G|50.0G|45%|ok",
        "work-OST0001|10.9.0.11@tcp|?|?|?|?|inactive",
        "work-OST000a|10.9.0.12@tcp|100.0G|40.0G|3.0G|94%|nearly-full",
        "work: 3 OSTs on 2 OSSs: 200.0G, 80.0G used, 53.0G available; 1 inactive; 1 nearly-full",
        "",
        "/home (lustre)",
        "OST|OSS|SIZE|USED|AVAILABLE|USE%|STATE",
        "home-OST0002|?|100.0G|40.0G|50.0G|45%|ok",
        "home: 1 OST: 100.0G, 40.0G used, 50.0G available",
    ]


def test_json_has_every_field(on_machine: Run, machine: LustreMachine) -> None:
    machine.mount(WORK, "10.0.0.1@tcp:/work /again lustre rw 0 0")
    machine.add(FakeOst(0, letters="D"), FakeOst(1, active="0", nid="<none>"))
    done = on_machine("osts", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    values = json.loads(done.stdout)
    assert set(values) == {"schema", "file_systems"}
    assert values["schema"] == 1
    one, again = values["file_systems"]
    assert (one.pop("prefix"), again.pop("prefix")) == ("/lustre/work", "/again")
    assert one == again
    first, second = one.pop("osts")
    assert one == {"kind": "lustre", "name": "work", "error": None}
    assert first.pop("age_s") >= 0
    assert first == {
        "index": 0,
        "name": "work-OST0000",
        "oss": "10.9.0.11@tcp",
        "size_bytes": 100 * GIB,
        "available_bytes": 50 * GIB,
        "used_bytes": 40 * GIB,
        "states": ["degraded"],
        "bytes_per_s": None,
        "is_slow": False,
        "source": "sys",
    }
    assert set(second) == FIELDS
    assert {name for name, value in second.items() if value is None} == {
        *("oss", "size_bytes", "available_bytes", "used_bytes", "age_s", "source", "bytes_per_s")
    }


def test_a_slow_ost_is_told_with_its_speed(home: Path) -> None:
    machine = LustreMachine(home, "2.15")
    machine.mount(WORK)
    machine.add(*(FakeOst(n, writes=(64, 1 << 20, 2_000_000 if n else 500_000)) for n in (1, 0)))
    machine.add(*(FakeOst(n, writes=(64, 1 << 20, 500_000)) for n in (2, 3)))
    on_machine = runner([*IN_TIME, sys.executable, str(DRIVER), str(home)], home)
    assert [row.split("|")[-1] for row in rows(on_machine("osts").stdout)[2:6]] == [
        *("ok", "slow (4.0M/s)", "ok", "ok")
    ]
    (found,) = json.loads(on_machine("osts", "--json").stdout)["file_systems"]
    assert [ost["is_slow"] for ost in found["osts"]] == [False, True, False, False]
    assert [ost["bytes_per_s"] >> 20 for ost in found["osts"]] == [16, 4, 16, 16]


def test_an_ost_that_hangs_is_marked_and_the_command_ends(
    on_machine: Run, machine: LustreMachine
) -> None:
    """It hangs for good here: that the command ends, and its pipes with it, is the deadline."""
    machine.add(FakeOst(0), FakeOst(1))
    assert on_machine("osts").returncode == 0
    machine.hang(1)
    done = on_machine("osts", "--refresh", "--deadline", "4")
    assert (done.returncode, done.stderr) == (0, "")
    _, _, well, sick, total = rows(done.stdout)
    assert well == "work-OST0000|10.9.0.11@tcp|100.0G|40.0G|50.0G|45%|ok"
    assert re.fullmatch(
        r"work-OST0001\|10\.9\.0\.11@tcp\|100\.0G\|40\.0G\|50\.0G\|45%"
        r"\|unreachable \(space \d+ s old\)",
        sick,
    )
    assert total.endswith(": 100.0G, 40.0G used, 50.0G available; 1 unreachable")


def test_a_look_is_kept_for_seconds_and_asked_again_if_wanted(
    on_machine: Run, machine: LustreMachine, home: Path
) -> None:
    machine.add(FakeOst(0))
    assert "|50.0G|" in rows(on_machine("osts").stdout)[2]
    file = home / ".cache" / "iez" / "osts.json"
    kept = json.loads(file.read_text())
    kept["file_systems"]["work"]["osts"][0]["available_bytes"] = 7 * GIB

    def shown_from_cache() -> bool:
        kept["file_systems"]["work"]["time_s"] = time.time()
        file.write_text(json.dumps(kept))
        return "|7.0G|" in rows(on_machine("osts").stdout)[2]

    # More than once: on a machine that is very busy the seconds may be over at its start.
    assert any(shown_from_cache() for _ in range(5))
    assert "|50.0G|" in rows(on_machine("osts", "--refresh").stdout)[2]


@pytest.mark.parametrize("place", ["/proc/none", "damaged"])
def test_a_cache_that_cannot_be_used_is_no_trouble(
    on_machine: Run, machine: LustreMachine, home: Path, place: str
) -> None:
    machine.add(FakeOst(0))
    (home / "damaged" / "iez").mkdir(parents=True)
    (home / "damaged" / "iez" / "osts.json").write_text('{"schema": 1, "host"')
    done = on_machine("osts", XDG_CACHE_HOME=str(home / place))
    assert (done.returncode, done.stderr) == (0, "")
    assert rows(done.stdout)[2].endswith("|ok")


def test_a_file_system_whose_osts_cannot_be_told_is_one_line(
    on_machine: Run, machine: LustreMachine, home: Path
) -> None:
    machine.mount(WORK, f"10.0.0.2@tcp:/home {home} lustre rw 0 0")
    machine.add(FakeOst(0))
    done = on_machine("osts")
    assert done.returncode == 1
    assert done.stderr == f"iez: {home}: it does not answer as Lustre does\n"
    assert "work-OST0000" in done.stdout
    found = json.loads(on_machine("osts", "--json").stdout)["file_systems"]
    assert [each["error"] for each in found] == [None, "it does not answer as Lustre does"]


def test_without_lustre_there_is_one_line_and_a_hint(
    on_machine: Run, machine: LustreMachine
) -> None:
    machine.mount()
    done = on_machine("osts")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "iez: no Lustre file system is mounted here",
        "  try: iez osts --mock DIR",
    ]
    done = on_machine("osts", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout) == {"schema": 1, "file_systems": []}


def test_the_readers_run_from_an_installed_copy(machine: LustreMachine, home: Path) -> None:
    """They are isolated from the environment, so they must find the package by themselves."""
    installed = home / "lib" / "site packages"
    for name in ("iez_client", "iez_common"):
        shutil.copytree(ROOT / name, installed / name)
    shutil.copy(DRIVER, installed)
    machine.add(FakeOst(0))
    (home / "json.py").write_text("raise SystemExit('a module of the current directory')")

    def python(*words: str | Path) -> str:
        return subprocess.run(
            [*IN_TIME, sys.executable, "-P", *words],
            cwd=home,
            env=clean_env(home) | {"PYTHONPATH": str(installed)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

    origin = python("-c", "import iez_client; print(iez_client.__file__)")
    assert origin.startswith(str(installed))
    (found,) = json.loads(python(installed / DRIVER.name, home, "osts", "--json"))["file_systems"]
    assert found["osts"][0]["size_bytes"] == 100 * GIB


def test_a_mock_and_its_state(iez: Run, home: Path) -> None:
    done = iez("osts", "--mock", "mock")
    assert (done.returncode, done.stderr) == (0, "")
    lines = rows(done.stdout)
    assert lines[0] == f"{home}/mock (mock)"
    assert lines[2] == "mock-OST0000|0|10.0G|0|10.0G|0%|ok"
    assert lines[-1] == "mock: 15 OSTs on 3 OSSs: 150.0G, 0 used, 150.0G available"
    (home / "s.toml").write_text(
        'osts = "0-1,300"\n[[ost]]\nindex = 300\noss = 2\nsize = "1T"\nstate = ["read-only"]\n'
    )
    lines = rows(iez("osts", "--mock-state", "s.toml", IEZ_MOCK="mock").stdout)
    assert lines[4] == "mock-OST012c|2|1.0T|0|1.0T|0%|read-only"
    assert lines[5].endswith("; 1 read-only")
    values = json.loads(iez("osts", "--mock", "mock", "--json").stdout)
    assert values["schema"] == 1
    (found,) = values["file_systems"]
    assert (found["kind"], found["name"], len(found["osts"])) == ("mock", "mock", 15)
    assert set(found["osts"][0]) == FIELDS
    assert found["osts"][0]["source"] == "mock"
    assert not (home / ".cache").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--deadline", "0"], 2, "--deadline: '0' is not a number of seconds up to an hour"),
        (["--deadline", "nan"], 2, "'nan' is not a number of seconds"),
        (["--deadline", "3601"], 2, "'3601' is not a number of seconds"),
        (["--deadline"], 2, "--deadline: expected one argument"),
        (["--bogus"], 2, "unrecognized arguments: --bogus"),
        (["more"], 2, "unrecognized arguments: more"),
        (["--mock-state", "bad.toml"], 2, "a mock state file belongs to a mock directory"),
        (["--mock", "none"], 66, "none does not exist"),
        (["--mock", "mock", "--mock-state", "bad.toml"], 78, "bad.toml"),
        (["--mock", "mock", "--mock-state", "wrong.toml"], 78, "'broken' is not a state"),
    ],
)
def test_what_makes_no_sense_is_one_line_and_a_hint(
    iez: Run, home: Path, words: list[str], code: int, message: str
) -> None:
    (home / "bad.toml").write_text("osts = x")
    (home / "wrong.toml").write_text('state = ["broken"]')
    done = iez("osts", *words)
    assert (done.returncode, done.stdout) == (code, "")
    first, *more = done.stderr.splitlines()
    assert first.startswith("iez: ")
    assert message in first
    assert len(more) <= 1
    assert all(line.startswith("  try: ") for line in more)
    assert more or code == 78


@pytest.mark.parametrize(
    ("where", "code", "message"),
    [
        (">&-", 0, ""),
        ("<&- >&-", 0, ""),
        (">/dev/full", 73, "iez: no space left on device\n"),
        ("| head -n 2", 0, ""),
    ],
)
def test_an_output_that_is_closed_full_or_read_in_part(
    machine: LustreMachine, home: Path, where: str, code: int, message: str
) -> None:
    machine.add(*(FakeOst(index) for index in range(500)))
    words = map(str, (*IN_TIME, sys.executable, DRIVER, home, "osts", "--json"))
    done = subprocess.run(
        ["sh", "-c", f"{shlex.join(words)} {where}"],
        cwd=home,
        env=clean_env(home) | {"PYTHONWARNINGS": ""},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (code, message)
    assert done.stdout == ('{\n  "schema": 1,\n' if "head" in where else "")


def test_the_page_shows_what_the_command_prints(iez: Run, home: Path) -> None:
    page = (ROOT / "docs" / "osts.md").read_text()
    example = page.partition("```\n")[2].partition("```")[0]
    state, _, shown = example.partition("$ iez osts --mock /tmp/lustre\n")
    (home / "mock" / "iez-mock.toml").write_text(state.partition("\n")[2])
    assert iez("osts", "--mock", "mock").stdout == shown.replace("/tmp/lustre", f"{home}/mock")


def test_the_page_names_every_state_and_limit() -> None:
    page = " ".join((ROOT / "docs" / "osts.md").read_text().split())
    for closed in CLOSED:
        assert re.search(rf"\| `{closed}` \|[^|]+\| never \|", page)
    for avoided in AVOIDED:
        assert re.search(rf"\| `{avoided}` \|[^|]+\| only if the others cannot", page)
    assert f"{READERS} at a time" in page
    assert f"at most {READERS_MAX} of them" in page
    assert f"the deadline: {DEADLINE_S:.0f} seconds" in page
    assert f"For {FRESH_S:.0f} seconds after a look" in page
    assert f"less than {NEARLY_FULL_PERCENT} %" in page
    assert f"fewer than {FILES_LOW} objects" in page
