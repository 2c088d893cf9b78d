"""`iez sim place` as a user types it: tables, JSON, figures, wrong names."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import IEZ, ROOT, Run, runner

from iez_sim.place.figures import FIGURES
from iez_sim.place.setups import all_setups
from iez_sim.place.study import variants

KEYS = {
    *("setup", "strategy", "ostcost_new", "ostcost_total", "oss_imbalance", "bound"),
    *("certificate", "objective", "predicted_s", "value", "seeds", "files_split", "paper"),
    *("ostcost_new_max", "optimum"),
}
FEW = ("--setup", "ior-8p-sc8", "ior-ssf", "--seeds", "3")


@pytest.fixture
def iez(tmp_path: Path) -> Run:
    return runner(IEZ, tmp_path)


def test_json_has_a_row_for_each_set_up_and_strategy(iez: Run) -> None:
    done = iez("sim", "place", *FEW, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    values = json.loads(done.stdout)
    assert values["schema"] == 1
    rows = values["results"]
    assert {(row["setup"], row["strategy"]) for row in rows} == {
        (setup, strategy) for setup in ("ior-8p-sc8", "ior-ssf") for strategy in variants()
    }
    for row in rows:
        assert set(row) == KEYS
        assert row["certificate"] > 0
        assert row["objective"] == "blend"
    assert all(sentence["holds"] for sentence in values["verdict"])
    assert iez("sim", "place", *FEW, "--json").stdout == done.stdout


def test_the_table_names_what_was_run_and_ends_with_what_it_shows(iez: Run) -> None:
    done = iez(
        "sim", "place", "--setup", "hacc-8p", "--setup", "table-ii",
        "--strategy", "paper-rising", "iez", "lustre-rr", "--objective", "bandwidth",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("OSTCost of new bytes")
    assert re.fullmatch(r"SET-UP +OPTIMUM +iez +paper-rising +lustre-rr", lines[2])
    assert re.fullmatch(r"hacc-8p +1\.172 +1\.172 +\d\.\d{3} +\d\.\d{3}", lines[3])
    assert "* iez reaches the proved optimum on 1 of 1 of the paper's set-ups." in lines
    assert "NOT SHOWN" not in done.stdout


def test_plots_are_svg_and_png(iez: Run, tmp_path: Path) -> None:
    done = iez("sim", "place", *FEW, "--json", "--plots", "figures/new")
    assert done.returncode == 0
    assert json.loads(done.stdout)["schema"] == 1
    assert done.stderr.startswith("iez: 4 files written to figures/new\n")
    assert "iez: fig02 is not drawn: it needs ior-16p-sc8 under lustre-rr" in done.stderr
    folder = tmp_path / "figures" / "new"
    assert sorted(path.stem for path in folder.glob("*.svg")) == ["fig12", "overview"]
    for path in folder.iterdir():
        if path.suffix == ".svg":
            root = ElementTree.parse(path).getroot()
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
        else:
            assert path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--setup", "ior-9p"), "there is no set-up 'ior-9p'"),
        (("--strategy", "iez", "best"), "there is no strategy 'best'"),
        (("--seeds", "0"), "--seeds: at least one is needed"),
    ],
)
def test_wrong_names_are_one_line_and_a_hint(
    iez: Run, words: tuple[str, ...], message: str
) -> None:
    done = iez("sim", "place", *words)
    assert (done.returncode, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert first == f"iez: {message}"
    assert second.startswith("  try: ")
    assert iez("sim", "place", "--objective", "speed").returncode == 2


def test_figures_that_cannot_be_written_are_one_line(iez: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = iez("sim", "place", *FEW, "--plots", "file")
    assert (done.returncode, done.stdout) == (73, "")
    assert len(done.stderr.splitlines()) == 1


def test_the_page_names_every_set_up_strategy_and_figure() -> None:
    page = (ROOT / "docs" / "study.md").read_text()
    for name in (*all_setups(), *variants(), *(figure.name for figure in FIGURES)):
        assert f"`{name}`" in page
    shown = page.partition("$ iez sim place\n")[2].partition("```")[0]
    rows = {line.split()[0] for line in shown.splitlines() if re.search(r" \d+\.\d{3}", line)}
    assert rows - {"*"} <= set(all_setups())


@pytest.mark.full
def test_the_whole_study_shows_what_it_must(iez: Run, tmp_path: Path) -> None:
    done = iez("sim", "place", "--json", "--plots", "all")
    values = json.loads(done.stdout)
    assert done.stderr == "iez: 20 files written to all\n"
    assert [each["text"] for each in values["verdict"] if not each["holds"]] == []
    assert len(list((tmp_path / "all").iterdir())) == 2 * (len(FIGURES) + 1)
