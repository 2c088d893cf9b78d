"""Names that Python's tempfile makes: all have templates that keep `tmp`, from the first run on."""

import random
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from iez_client.names import Learned, RunFacts, Seen, learn_names, roots_of
from iez_common.knowledge import Template

ROOTS = roots_of(("app", "/l/o"), "/home/u")
MARKS = "abcdefghijklmnopqrstuvwxyz0123456789_"
FORM = re.compile(r"\{1\}/tmp[*_]+(\.dat|/x\.#)?")


def learn(names: Sequence[str], known: Sequence[Template] = ()) -> Learned:
    return learn_names([Seen(f"/l/o/{name}") for name in names], RunFacts(ROOTS), known)


def saved(learned: Learned) -> list[Template]:
    return [replace(template, id=n) for n, template in enumerate(learned.templates, 1)]


def texts(learned: Learned) -> list[str]:
    return [template.text.removeprefix("{1}/") for template in learned.templates]


def made(chance: random.Random, count: int) -> list[str]:
    return ["tmp" + "".join(chance.choices(MARKS, k=8)) for _ in range(count)]


@pytest.mark.parametrize("end", ["", ".dat", "/x.0"])
@pytest.mark.parametrize("seed", range(30))
def test_later_runs_have_nothing_new(seed: int, end: str) -> None:
    chance = random.Random(seed)
    known: list[Template] = []
    for run in range(3):
        learned = learn([name + end for name in made(chance, 30)], known)
        assert all(FORM.fullmatch(template.text) for template in learned.templates)
        assert all(not replaced for replaced in learned.replaces)
        assert not run or learned.unknown == []
        known = saved(learned)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tmpk3f9a2bx", "tmp*"),
        ("tmpk3_9a2bx", "tmp*_*"),
        ("tmp_3f9a2bx", "tmp_*"),
        ("tmpk3f9a2b_", "tmp*_"),
        ("tmp_3f_a2b_", "tmp_*_*_"),
        ("tmp_density", "tmp_density"),
        ("tmpfile0001", "tmpfile#"),
    ],
)
def test_one_name_is_told_by_a_number_inside_it(name: str, text: str) -> None:
    assert texts(learn([name])) == [text]


def test_name_without_a_number_is_told_by_one_beside_it() -> None:
    assert texts(learn(["tmpabcdefgh", "tmpabc_efgh", "tmpk3f9a2bx"])) == ["tmp*", "tmp*_*"]
    assert texts(learn(["tmpabcdefgh", "other/tmpk3f9a2bx"])) == ["tmpabcdefgh", "other/tmp*"]


def test_other_words_do_not_take_tmp_away() -> None:
    known: list[Template] = []
    for names in (
        ["tmpk3_9a2bx", "tmp_3f9a2bx"],
        ["foo_k3f9a2bx", "tmpabcdefgh"],
        ["foo_q7w8e9rx", "a1b2c3d4"],
        ["foo_z3f9a2bx", "bar_x1y2z3w4", "tmpq_3f9a2b"],
    ):
        known = saved(learn(names, known))
    stars = {template.text.removeprefix("{1}/") for template in known if "*" in template.text}
    assert {"tmp*_*", "tmp_*"} <= stars
    assert "*_*" not in stars


def test_directory_of_tempfile_keeps_tmp_from_run_to_run() -> None:
    known = saved(learn(["tmpabcdefgh/x"]))
    assert [template.text for template in known] == ["{1}/tmpabcdefgh/x"]
    learned = learn(["tmpk3f9a2bx/x"], known)
    assert (texts(learned), learned.replaces) == (["tmp*/x"], ((1,),))
    learned = learn(["tmpk3_9a_bx/x"], saved(learned))
    assert (texts(learned), learned.unknown) == (["tmp*/x", "tmp*_*_*/x"], [])
