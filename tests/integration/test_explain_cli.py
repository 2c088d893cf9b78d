"""`iez explain` as a user types it, and the page of `iez allocate` and `iez explain`."""

import json
import re
from pathlib import Path

import pytest
from command_line import IEZ, ROOT, Run, runner
from request_tables import FROM, SICK, assert_one_line, files, rows

GIB = 1 << 30
PAGE = (ROOT / "docs" / "allocate.md").read_text()


@pytest.fixture
def home(work: Path) -> Path:
    """The parent of the directory `mock`, with two OSTs that are not well."""
    (work / "iez-mock.toml").write_text(SICK)
    return work.parent


@pytest.fixture
def iez(home: Path) -> Run:
    return runner(IEZ, home)


def test_explain_tells_of_each_ost_and_file(iez: Run, home: Path) -> None:
    files(home, "mock/a,4G,,2", "mock/b,20K,,", *(f"mock/c{n},1G,,1" for n in range(2)))
    (home / "p.toml").write_text('pfl = "never"')
    done = iez("explain", *FROM, "--policy", "p.toml")
    assert (done.returncode, done.stderr) == (0, "")
    found = {row[0]: row[-1] for row in rows(done.stdout)}
    assert found["2"] == "degraded, and the others suffice"
    assert found["5"] == "read-only: it takes no new files"
    assert found[f"{home}/mock/a"] == "count: as asked for"
    assert found[f"{home}/mock/b"] == "smaller than pin_min, 1M: not worth it"

    values = json.loads(iez("explain", *FROM, "--policy", "p.toml", "--json").stdout)
    assert values["schema"] == 1
    (place,) = values["file_systems"]
    assert [ost["index"] for ost in place["osts"]] == list(range(15))
    assert sum(ost["load_bytes"] for ost in place["osts"]) == 6 * GIB
    assert [file["rung_why"] for file in place["files"]] == ["allowed", "small"] + ["allowed"] * 2
    assert not any("osts" in file for file in place["files"])


def test_explain_tells_of_one_file_and_of_one_ost_the_same(iez: Run, home: Path) -> None:
    (home / "p.toml").write_text('pfl = "never"')
    words = ["explain", *FROM, "--policy", "p.toml"]
    files(home, *(f"mock/c{n},{n + 1}G,,2" for n in range(6)))
    (only,) = json.loads(iez(*words, "--file", "mock/c4", "--json").stdout)["file_systems"]
    (file,) = only["files"]
    assert file["path"] == f"{home}/mock/c4"
    assert [each["index"] for each in file["osts"] if each["is_chosen"]] == sorted(
        file["layout"]["osts"]
    )
    text = iez(*words, "--file", "mock/c4").stdout
    told = {row[0]: row[-1] for row in rows(text)}
    for each in file["osts"]:
        (by_ost,) = json.loads(
            iez(*words, "--ost", each["index"], "--json").stdout
        )["file_systems"]  # fmt: skip
        assert [ost["index"] for ost in by_ost["osts"]] == [each["index"]]
        assert by_ost["files"][4]["osts"] == [each]
        assert told[str(each["index"])] == each["words"]
    shown = rows(iez(*words, "--ost", "5").stdout)
    assert [row[-1] for row in shown[-6:]] == ["read-only: it takes no new files"] * 6


def test_explain_of_what_is_not_there(iez: Run, home: Path) -> None:
    files(home, "mock/a,1G,,")
    for words, message in (
        (["--file", "mock/b"], "files.csv has no file mock/b"),
        (["--ost", "15"], "there is no OST 15"),
        (["--ost", "x"], "'x' is not a number"),
    ):
        done = iez("explain", *FROM, *words)
        assert done.returncode == 2
        assert_one_line(done, message)


def test_the_page_shows_what_the_commands_print(iez: Run, home: Path) -> None:
    """Each `$ iez …` of the page is run, where the mock is another directory than on the page."""
    where = str(home / "mock")
    for name, text in re.findall(r"\$ cat (\S+)\n(.*?)(?=^\$ )", PAGE, re.DOTALL | re.MULTILINE):
        Path(home, name.replace("/tmp/lustre", where)).write_text(
            text.replace("/tmp/lustre", where)
        )
    (home / "wrong.csv").write_text(f"path,write_bytes\n{where}/a,4G\n{where}/b,4X\n")
    (home / "large.csv").write_text(f"path,write_bytes\n{where}/a,9T\n")
    commands = re.findall(r"^\$ iez (.*)\n((?:(?!\$ |```).*\n)*)", PAGE, re.MULTILINE)
    assert [command.split()[0] for command, _ in commands] == (
        ["allocate", "plan"] + ["explain"] * 3 + ["allocate"] * 2
    )
    for command, shown in commands:
        done = iez(*command.replace("/tmp/lustre", where).split())
        printed = (done.stdout + done.stderr).replace(where, "/tmp/lustre")
        if command.startswith("plan"):  # its size is that of the paths
            printed, shown = (re.sub(r"\d+ bytes", "", text) for text in (printed, shown))
        assert rows(printed) == rows(shown), command
