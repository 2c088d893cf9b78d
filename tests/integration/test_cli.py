"""The command `iez` as a user types it: output, errors, exit codes."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import IEZ, ROOT, Run, clean_env, runner, write_csv

from iez_client.cli.main import COMMANDS
from iez_common.layout import Component, Layout, plain


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "mock").mkdir()
    return tmp_path


@pytest.fixture
def iez(home: Path) -> Run:
    return runner(IEZ, home)


@pytest.fixture
def env(home: Path) -> dict[str, str]:
    return clean_env(home)


def test_version_and_help_without_a_command(iez: Run) -> None:
    assert re.fullmatch(r"iez \d+\.\d+\.\d+\n", iez("--version").stdout)
    for words in ([], ["--help"], ["-h"]):
        done = iez(*words)
        assert done.returncode == 0
        assert all(command.name in done.stdout for command in COMMANDS)
    assert "plan show" in iez("plan").stdout
    assert "layout" not in iez("plan", "--help").stdout.partition("example")[0].split("commands")[1]


def test_version_imports_nothing_heavy(env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "iez_client.cli.main", "--version"],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    heavy = {"rich", "cffi", "_cffi_backend", "iez_common._core", "csv", "json.decoder", "tomllib"}
    assert "iez_client.cli.commands" in imported
    assert not imported & (heavy - {"json.decoder"})


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_every_command_has_help_that_ends_with_an_example_and_is_documented(
    iez: Run, command: str
) -> None:
    done = iez(*command.split(), "--help")
    assert done.returncode == 0
    last = done.stdout.rstrip().partition("\nexample:\n")[2]
    assert last.startswith("  ")
    assert f"iez {command}" in last
    assert f"## iez {command}\n" in (ROOT / "docs" / "commands.md").read_text()


def test_the_page_of_commands_is_up_to_date(env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "docs-commands"],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    page = (ROOT / "docs" / "commands.md").read_text()
    assert done.stdout == page, "scripts/docs-commands > docs/commands.md"


@pytest.mark.parametrize(
    "words",
    [["bogus"], ["plan", "bogus"], ["plan", "build"], ["layout"], ["plan", "show"], ["--bogus"]],
)
def test_a_wrong_command_line_is_two_lines_and_exit_code_2(iez: Run, words: list[str]) -> None:
    done = iez(*words)
    assert (done.returncode, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert first.startswith("iez: ")
    assert second.startswith("  try: iez ")


def test_build_and_show(iez: Run, home: Path) -> None:
    write_csv(home, "mock/a,,4M,3 1 2,\nmock/s_#,2,1M,,\nmock/s_#,,1M,4 5,\nmock/**,1,,,flash\n")
    done = iez("plan", "build", "--from", "f.csv", "-o", "my.plan", "--mock", "mock")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("my.plan: 1 path, 2 templates, ")
    shown = iez("plan", "show", "my.plan", "--check").stdout
    assert "every byte checked" in shown
    assert re.search(rf"{home}/mock +mock +0-14\n", shown)
    assert re.search(rf"{home}/mock/a +3 × 4M on OSTs 3 1 2\n", shown)
    assert re.search(r"s_# +2/2 +2 × 1M on OSTs 4 5\n", shown)
    assert re.search(r"\*\* +1/1 +1 × default in pool flash\n", shown)


def test_show_json_can_be_built_again(iez: Run, home: Path) -> None:
    source = {
        "files": [
            {"path": "mock/a", "osts": [3, 3], "stripe_size": "1M"},
            {"path": r"mock/odd\#\*\\name", "stripe_count": -1},
            {"path": "mock/c", "components": [{"end": "1M", "mdt": True}, {"end": "eof"}]},
            {"path": "mock/*/s#_#", "layouts": [{"osts": [1]}, {"pool": "p"}],
             "choose": {"field": 0, "first": 5}},
            {"path": "mock/one_#", "stripe_count": 4, "overstripe": True},
        ]
    }  # fmt: skip
    (home / "f.json").write_text(json.dumps(source))
    shown = []
    for file in ("f.json", "again.json"):
        done = iez("plan", "build", "--from", file, "-o", "my.plan", "--mock", "mock")
        assert (done.returncode, done.stderr) == (0, "")
        text = iez("plan", "show", "my.plan", "--json").stdout
        shown.append(json.loads(text))
        (home / "again.json").write_text(text)
    assert shown[0]["files"] == shown[1]["files"]
    assert shown[0]["schema"] == 1
    assert len(shown[0]["files"]) == 5
    assert shown[0]["file_systems"][0]["kind"] == "mock"


def test_find_says_what_a_path_would_get(iez: Run, home: Path) -> None:
    write_csv(home, "mock/a,,4M,3,\nmock/s_#,2,1M,,\n")
    iez("plan", "build", "--from", "f.csv", "-o", "p", "--mock", "mock")
    found = iez("plan", "show", "p", "--find", "mock/../mock/s_007")
    assert found.stdout == f"{home}/mock/s_007: 2 × 1M, by {home}/mock/s_#\n"
    found = iez("plan", "show", "p", "--find", f"{home}/mock/a")
    assert found.stdout == f"{home}/mock/a: 1 × 4M on OST 3, by its own path\n"
    missed = iez("plan", "show", "p", "--find", "mock/x")
    assert (missed.returncode, missed.stdout) == (1, f"{home}/mock/x: nothing planned\n")
    assert iez("plan", "show", "p", "--find", "/x").returncode == 1
    values = json.loads(iez("plan", "show", "p", "--find", "mock/a", "--json").stdout)
    assert values["layout"]["osts"] == [3]
    assert values["template"] is None


def test_long_plans_are_shown_in_part(iez: Run, home: Path) -> None:
    write_csv(home, "".join(f"mock/{i},1,,,\n" for i in range(70)))
    iez("plan", "build", "--from", "f.csv", "-o", "p", "--mock", "mock")
    assert "… and 20 more paths" in iez("plan", "show", "p").stdout
    assert "… and 67 more paths" in iez("plan", "show", "p", "--limit", "3").stdout
    assert "more paths" not in iez("plan", "show", "p", "--limit", "0").stdout


def test_without_a_file_system_the_plan_is_not_bound(iez: Run, home: Path) -> None:
    write_csv(home, "/nowhere/a,1,,,\n")
    done = iez("plan", "build", "--from", "f.csv", "-o", "p")
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1
    assert "iez-run --mock DIR binds it" in done.stderr
    assert "not bound" in iez("plan", "show", "p").stdout
    done = iez("plan", "build", "--from", "f.csv", "-o", "p", "--mock", "mock")
    assert "no path lies below" in done.stderr
    write_csv(home, "/nowhere/a,1,,,\nmock/a,1,,,\n")
    done = iez("plan", "build", "--from", "f.csv", "-o", "p", IEZ_MOCK="mock")
    assert "1 of its names lie on no known file system, such as /nowhere/a" in done.stderr


def test_a_plan_for_another_machine(iez: Run, home: Path) -> None:
    write_csv(home, "/far/a,,,3 20,\n")
    build = ["plan", "build", "--from", "f.csv", "-o", "p", "--prefix", "/far", "--osts"]
    assert iez(*build, "0-14,20").returncode == 0
    assert re.search(r"/far +lustre +0-14,20\n", iez("plan", "show", "p").stdout)
    (home / "p").unlink()
    refused = iez(*build, "0-14")
    assert refused.returncode == 65
    assert "/far/a: OST 20 does not exist on /far" in refused.stderr
    assert not (home / "p").exists()
    assert iez(*build, "x").returncode == 2
    assert iez(*build[:-1]).returncode == 2


@pytest.mark.parametrize(
    ("rows", "code"), [("mock/a,x,,,\n", 65), ("mock/a,1,,,\nmock/a,2,,,\n", 65)]
)
def test_errors_in_the_source_name_file_and_line(
    iez: Run, home: Path, rows: str, code: int
) -> None:
    write_csv(home, rows)
    done = iez("plan", "build", "--from", "f.csv", "-o", "p", "--mock", "mock")
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("iez: f.csv, line ")


def test_files_that_cannot_be_read_or_written(iez: Run, home: Path) -> None:
    write_csv(home, "")
    assert iez("plan", "build", "--from", "none.csv", "-o", "p").returncode == 66
    assert iez("plan", "build", "--from", "f.csv", "-o", "none/p").returncode == 73
    assert iez("plan", "show", "none").returncode == 66
    assert iez("plan", "show", "f.csv").returncode == 65
    (home / "mock" / "iez-mock.toml").write_text("osts = x")
    assert iez("plan", "build", "--from", "f.csv", "-o", "p", "--mock", "mock").returncode == 78
    assert iez("config", "show", IEZ_REFRESH_MS="x").returncode == 78


def test_layout_tells_lustre_mock_and_none_apart(iez: Run, home: Path) -> None:
    composite = Layout(
        (Component(mdt=True, extent_end_bytes=1 << 20), Component(0, 4 << 20, (7, 8), "flash"))
    )
    for name, layout in {"a": plain(0, 1 << 20, (3, 1)), "b": composite, "d": plain(2)}.items():
        (home / name).touch()
        os.setxattr(home / name, "user.iez.lov", layout.wire())
    (home / "none").touch()
    done = iez("layout", "a", "b", "none", "d")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [re.sub("  +", "|", line) for line in done.stdout.splitlines()]
    assert lines == [
        "FILE|EXTENT|COUNT|SIZE|PATTERN|OSTS",
        "a|0-eof|2|1M|raid0|3 1",
        "b|0-1M|default|1M|mdt|MDT",
        "|1M-eof|2|4M|raid0|7 8 (pool flash)",
        "none|-|-|-|-|no layout",
        "d|0-eof|2|default|raid0|not chosen yet",
    ]
    values = json.loads(iez("layout", "a", "none", "--json").stdout)
    assert values["schema"] == 1
    first, second = values["files"]
    assert (first["source"], first["components"][0]["osts"]) == ("mock", [3, 1])
    assert (second["source"], second["components"], second["error"]) == (None, None, None)


def test_layout_of_files_that_cannot_be_read(iez: Run, home: Path) -> None:
    (home / "a").touch()
    (home / "bad").touch()
    os.setxattr(home / "bad", "user.iez.lov", b"nonsense")
    done = iez("layout", "a", "gone", "bad")
    assert done.returncode == 1
    assert "no layout" in done.stdout
    assert "iez: gone: no such file or directory\n" in done.stderr
    assert "iez: bad: user.iez.lov: " in done.stderr
    done = iez("layout", "gone", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["files"][0]["error"] == "no such file or directory"


def test_names_that_are_no_text_come_out_as_they_went_in(iez: Run, home: Path) -> None:
    name = os.fsdecode(b"\xff\xfe")
    (home / name).touch()
    assert name in iez("layout", name).stdout
    assert json.loads(iez("layout", name, "--json").stdout)["files"][0]["path"] == name


def test_config_show(iez: Run, home: Path) -> None:
    (home / ".config" / "iez").mkdir(parents=True)
    (home / ".config" / "iez" / "config.toml").write_text("refresh_ms = 7\n")
    shown = iez("config", "show", IEZ_MOCK="mock").stdout
    assert re.search(r"mock +mock +IEZ_MOCK", shown)
    assert re.search(r"refresh_ms +7 +\S+config\.toml", shown)
    values = json.loads(iez("config", "show", "--json").stdout)
    assert values["schema"] == 1
    found = {each["name"]: each["value"] for each in values["settings"]}
    assert found["refresh_ms"] == "7"


def on_terminal(home: Path, env: dict[str, str], *words: str) -> str:
    """Output of `iez WORDS…` with a terminal as its standard output."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*IEZ, *words], cwd=home, env=env, stdout=theirs)
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # EIO: the other side is closed
            break
        parts.append(part)
    os.close(ours)
    assert process.wait() == 0
    return b"".join(parts).decode()


def test_a_terminal_gets_tables_and_colour_only_if_wanted(home: Path, env: dict[str, str]) -> None:
    (home / "[red]x").touch()
    env |= {"TERM": "xterm-256color"}
    env.pop("NO_COLOR", None)
    table = on_terminal(home, env, "layout", "[red]x")
    assert "─" in table
    assert "\x1b[1m" in table
    assert "[red]x" in table
    plain_text = on_terminal(home, env | {"NO_COLOR": "1"}, "layout", "[red]x")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", plain_text)


def test_a_closed_pipe_is_no_traceback(home: Path, env: dict[str, str]) -> None:
    write_csv(home, "".join(f"mock/{i},1,,,\n" for i in range(20_000)))
    build = ["plan", "build", "--from", "f.csv", "-o", "p", "--mock", "mock"]
    subprocess.run([*IEZ, *build], cwd=home, env=env, check=True, capture_output=True)
    show = " ".join([*IEZ, "plan", "show", "p", "--limit", "0"])
    done = subprocess.run(
        ["sh", "-c", f"{show} | head -n 1"],
        cwd=home,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("p: made ")
    assert done.stderr == ""


def test_a_device_is_not_replaced_by_a_plan(iez: Run, home: Path) -> None:
    write_csv(home, f"{home}/mock/a,1,1M,0,\n", "a.csv")
    os.mkfifo(home / "pipe")
    done = iez("plan", "build", "--from", "a.csv", "--mock", "mock", "-o", "pipe")
    assert done.returncode == 73
    assert "pipe is not a regular file" in done.stderr
    assert (home / "pipe").is_fifo()


def test_output_that_cannot_be_written_is_one_line(env: dict[str, str], home: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*IEZ, "config", "show"], env=env, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (73, "iez: no space left on device\n")


@pytest.mark.parametrize(
    "text",
    [
        '{"files": [{"path": "/x/\\ud800"}]}',
        '{"files": [{"path": "/x", "components": [{"end": 184467440737095516160}, {}]}]}',
        '{"files": [{"path": "/x", "stripe_count": ' + 5000 * "9" + "}]}",
        '{"files": [{"path": "/x", "components": ['
        + ",".join(f'{{"end": {65536 * n}, "stripe_size": "64K"}}' for n in range(1, 3000))
        + ', {"end": "eof"}]}]}',
    ],
    ids=["surrogate", "huge extent", "huge number", "too many components"],
)
def test_what_nothing_can_hold_is_refused_in_one_line(iez: Run, home: Path, text: str) -> None:
    (home / "a.json").write_text(text)
    done = iez("plan", "build", "--from", "a.json", "--mock", "mock", "-o", "plan")
    assert done.returncode == 65
    assert done.stderr.startswith("iez: a.json")
    assert "Traceback" not in done.stderr
    assert not (home / "plan").exists()
