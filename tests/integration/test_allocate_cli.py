"""`iez allocate` as a user types it, and its layouts on to a job's files."""

import csv
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from command_line import IEZ, Run, clean_env, runner
from iez_run_command import IEZ_RUN
from lustre_trees import FakeOst, LustreMachine
from request_tables import FROM, SICK, assert_one_line, files, rows

DRIVER = Path(__file__).parent / "programs" / "iez_on_machine.py"


@pytest.fixture
def home(work: Path) -> Path:
    return work.parent  # of the directory `mock`


@pytest.fixture
def iez(home: Path) -> Run:
    return runner(IEZ, home)


def allocated(iez: Run, *words: str) -> dict[str, Any]:
    """The one file system of `iez allocate --json`."""
    done = iez("allocate", "--from", "files.csv", "--mock", "mock", "--json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    values = json.loads(done.stdout)
    assert (values["schema"], values["outside"]) == (1, [])
    (found,) = values["file_systems"]
    assert isinstance(found, dict)
    return found


def create(home: Path, *paths: str, plan: str = "my.plan") -> str:
    """Runs a job that creates the files; its line."""
    job = "\n".join(f": > {path}" for path in paths)
    done = subprocess.run(
        [IEZ_RUN, "--plan", plan, "--mock", "mock", "sh", "-c", job],
        cwd=home,
        env=clean_env(home),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    return done.stderr


def test_from_a_table_to_the_files_of_a_job(iez: Run, home: Path) -> None:
    """allocate, plan build, iez-run, layout: the files lie where the allocation says."""
    (home / "mock" / "iez-mock.toml").write_text(SICK)
    parts = [f"mock/part_{number}.dat" for number in range(6)]
    files(home, "mock/field.h5,9G,64,", *(f"{part},2G,," for part in parts), "mock/log,4K,,")
    done = iez("allocate", "--from", "files.csv", "--mock", "mock", "-o", "l.json")
    assert (done.returncode, done.stderr) == (0, "")
    *_, certificate, last = done.stdout.splitlines()
    assert last == "l.json: 7 files (try: iez plan build --from l.json -o PLAN)"
    assert re.fullmatch(
        r"mock: blend [\d.]+ s, at least [\d.]+ s: ratio 1\.\d{4}; "
        r"OSTCost [\d.]+ new, [\d.]+ total; OSS [\d.]+; predicted [\d.]+ s",
        certificate,
    )
    done = iez("plan", "build", "--from", "l.json", "--mock", "mock", "-o", "my.plan")
    assert (done.returncode, done.stderr) == (0, "")
    assert create(home, "mock/field.h5", "mock/log", *parts).startswith("iez: 7 files placed;")

    layouts = {each["path"]: each for each in json.loads((home / "l.json").read_text())["files"]}
    done = iez("layout", "--json", "mock/field.h5", "mock/log", *parts)
    found = {each["path"]: each["components"] for each in json.loads(done.stdout)["files"]}
    for path in ("mock/field.h5", *parts):
        wanted = layouts[f"{home}/{path}"]
        wanted = wanted.get("components") or [wanted]
        assert [each["osts"] for each in found[path]] == [each["osts"] for each in wanted]
        assert [each["stripe_size"] for each in found[path]] == [
            each["stripe_size"] for each in wanted
        ]
    assert not found["mock/log"]
    assert f"{home}/mock/log" not in layouts
    used = Counter(ost for each in layouts.values() for ost in _osts(each))
    assert set(used) == set(range(15)) - {2, 5}


def _osts(layout: dict[str, Any]) -> list[int]:
    return [ost for each in layout.get("components", [layout]) for ost in each["osts"]]


def test_a_traced_run_is_allocated_for_its_next_run(iez: Run, home: Path) -> None:
    """The table of iez parse goes in as it is; what it creates next time lies as allocated."""
    job = "for n in 0 1 2; do head -c 3000000 /dev/zero > mock/out_$n; done; echo x > mock/log"
    words = [IEZ_RUN, "--mock", "mock", "--trace-dir", "traces", "sh", "-c", job]
    subprocess.run(words, cwd=home, env=clean_env(home), check=True, capture_output=True)
    for table in (["--csv", "seen.csv"], ["--json"]):
        done = iez("parse", "traces", *table)
        assert done.returncode == 0
    (home / "seen.json").write_text(done.stdout)
    for name in ("seen.csv", "seen.json"):
        done = iez("allocate", "--from", name, "--mock", "mock", "-o", f"{name}.json")
        assert (done.returncode, done.stderr) == (0, "")
    first, second = ((home / f"{name}.json").read_text() for name in ("seen.csv", "seen.json"))
    assert first == second
    layouts = json.loads(first)["files"]
    assert [each["path"] for each in layouts] == [f"{home}/mock/out_{n}" for n in range(3)]
    assert len({ost for each in layouts for ost in each["osts"]}) == 3
    iez("plan", "build", "--from", "seen.csv.json", "--mock", "mock", "-o", "my.plan")
    for number in range(3):
        (home / "mock" / f"out_{number}").unlink()
    assert create(home, *(f"mock/out_{n}" for n in range(3))).startswith("iez: 3 files placed")


def test_a_csv_of_layouts_builds_too_and_splits_nothing(iez: Run, home: Path) -> None:
    # 64 equal stripes on 15 OSTs: they cannot be even.
    files(home, *(f"mock/part_{number},2G,,8" for number in range(8)), "mock/small,1K,,")
    words = ["allocate", "--from", "files.csv", "--mock", "mock"]
    assert "-eof: " in iez(*words, "-o", "l.json").stdout
    done = iez(*words, "-o", "l.csv")
    assert done.returncode == 0
    assert done.stderr == (
        "iez: note: a CSV file cannot say layouts of several parts, so no file is split "
        "(a name that ends in .json can)\n"
    )
    assert "-eof: " not in done.stdout
    with (home / "l.csv").open() as table:
        layouts = list(csv.DictReader(table))
    assert [each["path"] for each in layouts] == [f"{home}/mock/part_{n}" for n in range(8)]
    assert all(len(set(each["ost_list"].split())) == 8 for each in layouts)
    assert iez("plan", "build", "--from", "l.csv", "--mock", "mock", "-o", "p").returncode == 0
    # A policy that splits nothing has nothing to note.
    (home / "p.toml").write_text('pfl = "never"')
    assert iez(*words, "-o", "l.csv", "--policy", "p.toml").stderr == ""


def test_templates_take_turns_with_their_rows(iez: Run, home: Path) -> None:
    files(home, *["mock/step_#.h5,2G,,1"] * 3)
    for name in ("l.json", "l.csv"):
        assert iez("allocate", "--from", "files.csv", "--mock", "mock", "-o", name).returncode == 0
        done = iez("plan", "build", "--from", name, "--mock", "mock", "-o", "my.plan")
        assert done.stdout.startswith("my.plan: 0 paths, 1 template")
        found = [
            iez("plan", "show", "my.plan", "--find", f"{home}/mock/step_{number}.h5").stdout
            for number in range(4)
        ]
        osts = [re.search(r"on OST (\d+)", each)[1] for each in found]  # type: ignore[index]
        assert len(set(osts[:3])) == 3
        assert osts[3] == osts[0]


@pytest.mark.parametrize(
    ("ladder", "shown", "layout"),
    [
        ("nothing", ["-", "-", "left to Lustre"], None),
        ("count", ["2", "4M", "any"], {"stripe_size": 4 << 20, "stripe_count": 2}),
        (
            "pool",
            ["2", "4M", "any of pool flash"],
            {"stripe_size": 4 << 20, "stripe_count": 2, "pool": "flash"},
        ),
        ("list", ["2", "4M", "0 5"], {"stripe_size": 4 << 20, "osts": [0, 5], "pool": "flash"}),
    ],
)
def test_the_policy_decides_how_far_it_goes(
    iez: Run, home: Path, ladder: str, shown: list[str], layout: dict[str, object] | None
) -> None:
    (home / "p.toml").write_text(f'ladder = "{ladder}"\n[pools]\nflash = "0,5"\n')
    files(home, "mock/a,2G,,2,flash", header="path,write_bytes,writers,stripe_count,pool")
    done = iez("allocate", "--from", "files.csv", "--mock", "mock", IEZ_POLICY="p.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert rows(done.stdout)[1] == [f"{home}/mock/a", "2.0G", *shown]
    (file,) = allocated(iez, "--policy", "p.toml", "-o", "l.json")["files"]
    assert (file["rung"], file["layout"]) == (ladder, layout)
    if layout is not None:
        done = iez("plan", "build", "--from", "l.json", "--mock", "mock", "-o", "p")
        assert done.returncode == 0


def test_the_policy_of_the_settings_is_shown_and_used(iez: Run, home: Path) -> None:
    settings = home / ".config" / "iez"
    settings.mkdir(parents=True)
    (settings / "config.toml").write_text('policy = "own.toml"')
    (settings / "own.toml").write_text('exclude_osts = "0-13"\npfl = "never"')
    files(home, "mock/a,2G,,")
    assert allocated(iez)["files"][0]["layout"]["osts"] == [14]
    shown = {row[0]: row[1:3] for row in rows(iez("config", "show").stdout)}
    assert shown["policy"] == [str(settings / "own.toml"), str(settings / "config.toml")]
    assert _osts(allocated(iez, "--policy", "")["files"][0]["layout"]) != [14]


def test_strategy_and_objective_of_the_command_line_beat_the_policy(iez: Run, home: Path) -> None:
    (home / "p.toml").write_text('strategy = "lustre-rr"\nobjective = "bandwidth"')
    files(home, "mock/a,2G,,", "mock/b,3G,,")
    found = allocated(iez, "--policy", "p.toml")
    assert (found["strategy"], found["certificate"]["objective"]) == ("lustre-rr", "bandwidth")
    found = allocated(iez, "--policy", "p.toml", "--strategy", "greedy", "--objective", "space")
    assert (found["strategy"], found["certificate"]["objective"]) == ("greedy", "space")
    certificate = found["certificate"]
    assert certificate["ratio"] == pytest.approx(certificate["value"] / certificate["bound"])
    assert set(certificate) == {
        "objective", "value", "bound", "ratio", "ostcost_new", "ostcost_total", "oss_imbalance",
        "predicted_s",
    }  # fmt: skip


def test_each_file_goes_to_the_file_system_that_it_lies_on(home: Path) -> None:
    machine = LustreMachine(home)
    machine.mount(
        "m@tcp:/work /l/work lustre rw 0 0",
        "m@tcp:/home /l/home lustre rw 0 0",
        "m@tcp:/work /again lustre rw 0 0",
    )
    machine.add(*(FakeOst(index) for index in (1, 3)))
    machine.add(FakeOst(20), fs_name="home")
    on_machine = runner([sys.executable, str(DRIVER), str(home)], home)
    files(home, "/l/work/a,1G,,1", "/l/home/b,1G,,1", "/again/c,1G,,1", "/tmp/d,1G,,1")
    done = on_machine("allocate", "--from", "files.csv", "--json")
    assert done.returncode == 0
    note = "1 file lies on no known file system, such as /tmp/d (files.csv, line 5): left out"
    assert done.stderr == f"iez: note: {note}\n"
    values = json.loads(done.stdout)
    assert values["outside"] == ["/tmp/d"]
    work, other = values["file_systems"]
    assert (work["name"], other["name"]) == ("work", "home")
    # Two mounts of one file system are one: their files do not land on the same OST.
    placed = {file["path"]: file["layout"]["osts"] for file in work["files"]}
    assert sorted(placed) == ["/again/c", "/l/work/a"]
    assert sorted(ost for osts in placed.values() for ost in osts) == [1, 3]
    assert [file["layout"]["osts"] for file in other["files"]] == [[20]]
    done = on_machine("allocate", "--from", "files.csv")
    assert "/l/work (lustre)" in done.stdout
    assert "\n\n/l/home (lustre)\n" in done.stdout
    files(home, "/l/**,1G,,")
    done = on_machine("allocate", "--from", "files.csv")
    assert done.returncode == 65
    assert "line 2: /l/** may lie on several file systems: home, work" in done.stderr


def test_without_lustre_there_is_one_line_and_a_hint(home: Path) -> None:
    LustreMachine(home).mount()
    files(home, "/l/work/a,1G,,1")
    done = runner([sys.executable, str(DRIVER), str(home)], home)("allocate", "--from", "files.csv")
    assert (done.returncode, done.stdout) == (65, "")
    first, hint = done.stderr.splitlines()
    assert first == (
        "iez: files.csv: no Lustre file system is mounted here, so nothing can be placed"
    )
    assert hint == "  try: --mock DIR to try it without Lustre"


def test_a_path_by_the_mocks_real_name_is_on_it(iez: Run, home: Path) -> None:
    (home / "link").symlink_to("mock")
    files(home, f"{home}/mock/a,1G,,", f"{home}/link/b,1G,,")
    done = iez("allocate", "--from", "files.csv", "--mock", "link", "-o", "l.json")
    assert (done.returncode, done.stderr) == (0, "")
    done = iez("plan", "build", "--from", "l.json", "--mock", "link", "-o", "p")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("row", "words", "code", "message"),
    [
        ("a,1G,,", ["--from", "none.csv"], 66, "none.csv: no such file"),
        ("a,1G,,", ["--from", "."], 66, ".: is a directory"),
        ("a,1G", FROM, 65, "files.csv, line 2: 2 cells under 4 columns"),
        ("a,nan,,", FROM, 65, "files.csv, line 2: write_bytes: 'nan' is not a size"),
        ("a,-4G,,", FROM, 65, "files.csv, line 2: write_bytes: '-4G' is not a size"),
        ("a,1G,-1,", FROM, 65, "files.csv, line 2: writers: '-1' is not a whole number"),
        ("a,1G,,16", FROM, 65, "files.csv, line 2: stripe_count: 16 is more than the 15 OSTs"),
        ("a,1P,,", FROM, 65, "do not fit into"),
        ("/elsewhere/a,1G,,", FROM, 65, "files.csv: none of its files lies below"),
        ("a,1G,,", [*FROM, "--policy", "none.toml"], 66, "none.toml: no such file"),
        ("a,1G,,", [*FROM, "--policy", "bad.toml"], 78, "bad.toml, line 2: drift: 7 is not"),
        ("a,1G,,", [*FROM, "--policy", "torn.toml"], 78, "torn.toml"),
        ("a,1G,,", [*FROM, "--policy", "all.toml"], 65, "no OST can be used"),
        ("a,1G,,", [*FROM, "--strategy", "best"], 2, "--strategy: there is no 'best'"),
        ("a,1G,,", [*FROM, "--objective", "best"], 2, "--objective: there is no 'best'"),
        ("a,1G,,", [*FROM, "--bogus"], 2, "unrecognized arguments: --bogus"),
        ("a,1G,,", ["--mock", "mock"], 2, "the following arguments are required: --from"),
        ("a,1G,,", [*FROM[:3], "none"], 66, "none does not exist"),
        ("a,1G,,", [*FROM, "--mock-state", "torn.toml"], 78, "torn.toml"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_one_line_and_a_hint(
    iez: Run, home: Path, row: str, words: list[str], code: int, message: str
) -> None:
    (home / "bad.toml").write_text("# weights\ndrift = 7")
    (home / "torn.toml").write_text("drift = ")
    (home / "all.toml").write_text('exclude_osts = "0-14"')
    files(home, row if row.startswith("/") else f"mock/{row}")
    done = iez("allocate", *words)
    assert done.returncode == code
    assert_one_line(done, message)


@pytest.mark.parametrize("command", ["allocate", "explain"])
@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("pools_allowed = []", "the pool 'flash' is not allowed here"),
        ('exclude_osts = "0-3"\n[pools]\nflash = "0-3"', "no OST of the pool 'flash' can be used"),
    ],
)
def test_a_pool_that_cannot_be_used_is_one_line_and_a_hint(
    iez: Run, home: Path, command: str, policy: str, message: str
) -> None:
    (home / "p.toml").write_text(policy)
    files(home, "mock/a,2G,flash", header="path,write_bytes,pool")
    done = iez(command, *FROM, "--policy", "p.toml")
    assert done.returncode == 65
    assert_one_line(done, message)


@pytest.mark.parametrize(
    ("output", "code", "message"),
    [
        ("/proc/none.json", 73, "/proc/none.json cannot be written"),
        ("folder.json", 73, "folder.json is not a regular file"),
        ("l.csv", 2, "a CSV file cannot say overstriping without a list of OSTs"),
    ],
)
def test_a_file_of_layouts_that_cannot_be_written(
    iez: Run, home: Path, output: str, code: int, message: str
) -> None:
    (home / "folder.json").mkdir()
    (home / "p.toml").write_text('ladder = "count"')
    files(home, "mock/a,2G,40,true", header="path,write_bytes,stripe_count,overstripe")
    done = iez("allocate", *FROM, "--policy", "p.toml", "-o", output)
    assert done.returncode == code
    assert message in done.stderr.splitlines()[0]
    assert not (home / "l.csv").exists()
    assert iez("allocate", *FROM, "--policy", "p.toml", "-o", "l.json").returncode == 0
    assert json.loads((home / "l.json").read_text())["files"] == [
        {"path": f"{home}/mock/a", "stripe_size": 4 << 20, "stripe_count": 40, "overstripe": True}
    ]
