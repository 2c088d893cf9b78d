"""Templates of a run: what names of well-known programs become, and that each file is found."""

import random
import string
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iez_client.filesystems import from_list
from iez_client.names import (
    Coming,
    Learned,
    RunFacts,
    Seen,
    expand,
    field_values,
    learn_names,
    roots_of,
    rule_text,
    show,
)
from iez_client.plan.bind import bind
from iez_client.plan.compile import compile_draft
from iez_client.plan.draft import Draft
from iez_client.plan.read import Plan
from iez_client.plan.template import encode, parse
from iez_common.knowledge import FORESEEN, Field, Template
from iez_common.layout import plain

COMMAND = ("app", "--out", "/l/o")
ROOTS = roots_of(COMMAND, "/home/u")
STARTED_S = 1_795_011_300.0  # 2026-11-18 14:15
LUSTRE = from_list(Path("/l"), range(4))


def learn(
    paths: Sequence[str],
    ranks: Sequence[int] = (),
    known: Sequence[Template] = (),
    *,
    rank_count: int = 0,
    pids: Sequence[int] = (),
    job_ids: Sequence[int] = (),
    command: Sequence[str] = COMMAND,
) -> Learned:
    """Files are written one after the other."""
    files = [
        Seen(
            path,
            ranks[n] if ranks else -1,
            pids[n] if pids else 0,
            STARTED_S + n,
        )
        for n, path in enumerate(paths)
    ]
    facts = RunFacts(
        roots_of(command, "/home/u"),
        rank_count or (max(ranks) + 1 if ranks else 0),
        STARTED_S,
        frozenset(job_ids),
    )
    return learn_names(files, facts, known)


def saved(learned: Learned) -> list[Template]:
    return [replace(template, id=n) for n, template in enumerate(learned.templates, 1)]


def kinds(template: Template) -> list[str]:
    return [field.kind for field in template.fields]


def texts(learned: Learned) -> list[str]:
    return [template.text for template in learned.templates]


def planned(rules: Sequence[str]) -> Plan:
    draft = Draft(file_systems=(LUSTRE,))
    for line, rule in enumerate(rules, 1):
        draft.add_name(parse(rule), draft.add_layout(plain(1, 1 << 20, (1,))), line)
    return Plan(bind(compile_draft(draft), (LUSTRE,), 1000), "test")


EIGHT = range(8)
GOLDEN: list[tuple[list[str], Sequence[int], str, list[Field]]] = [
    (
        [f"/l/o/restart-Part{rank:08d}-of-00000008.data" for rank in EIGHT],
        EIGHT,
        "{--out}/restart-Part#-of-#.data",
        [Field("rank", 8), Field("parts", 8, 8)],
    ),
    (
        [f"/l/o/testFile.{rank:08d}" for rank in EIGHT],
        EIGHT,
        "{--out}/testFile.#",
        [Field("rank", 8)],
    ),
    (
        [f"/l/o/ckpt_{step:04d}.h5" for step in range(1, 6)],
        [0] * 5,
        "{--out}/ckpt_#.h5",
        [Field("step", 4, 1)],
    ),
    (
        [
            f"/l/o/plt{step:05d}/Level_{level}/Cell_D_{rank:05d}"
            for step in (0, 10, 20)
            for level in (0, 1)
            for rank in EIGHT
        ],
        [*EIGHT] * 6,
        "{--out}/plt#/Level_#/Cell_D_#",
        [Field("step", 5, 0, 10), Field("step"), Field("rank", 5)],
    ),
    (
        [f"/l/o/out.rank.{rank}.step.{step}" for step in (100, 200) for rank in range(18)],
        [*range(18)] * 2,
        "{--out}/out.rank.#.step.#",
        [Field("rank"), Field("step", 0, 100, 100)],
    ),
    (
        [f"/l/o/processor{rank}/{time}/U" for time in ("0.005", "0.01", "0.1") for rank in EIGHT],
        [*EIGHT] * 3,
        "{--out}/processor#/#.#/U",
        [Field("rank"), Field("constant"), Field("step", 0, 1, 0)],
    ),
    (
        [f"/l/o/out.bp/data.{rank // 4}" for rank in (0, 4)],
        [0, 4],
        "{--out}/out.bp/data.#",
        [Field("step")],
    ),
    (
        [f"/l/o/out.bp4/data.{3 + 2 * rank}" for rank in EIGHT],
        EIGHT,
        "{--out}/out.bp4/data.#",
        [Field("rank", 0, 3, 2)],
    ),
    (
        ["/l/o/dump.20261118_1415.nc"],
        [0],
        "{--out}/dump.#_#.nc",
        [Field("timestamp"), Field("timestamp")],
    ),
    (
        ["/l/o/wrfout_d01_2026-11-18_14:00:00"],
        [0],
        "{--out}/wrfout_d#_#-#-#_#:#:#",
        [Field("constant", 2, 1), *[Field("timestamp")] * 4, *[Field("timestamp", 2)] * 2],
    ),
    (
        [f"/l/o/wrfout_d01_2005-08-{day}_00:00:00" for day in (28, 29, 30)],
        [0] * 3,
        "{--out}/wrfout_d#_#-#-#_#:#:#",
        [
            Field("constant", 2, 1),
            Field("constant", 0, 2005),
            Field("constant", 2, 8),
            Field("step", 0, 28),
            *[Field("constant", 2)] * 3,
        ],
    ),
    (["/l/o/log.1795011305"], [0], "{--out}/log.#", [Field("timestamp")]),
    (["/l/o/log.1795011305123"], [0], "{--out}/log.#", [Field("timestamp")]),
    (
        ["/l/o/20261118T141523/x"],
        [0],
        "{--out}/#T#/x",
        [Field("timestamp"), Field("timestamp")],
    ),
    (
        ["/l/o/3f2a1b4c-12ab-4c3d-8e9f-0123456789ab.dat"],
        [0],
        "{--out}/*-*-*-*-*.dat",
        [Field("random")] * 5,
    ),
    (["/l/o/tmp.aB3xY9"], [0], "{--out}/tmp.*", [Field("random")]),
    (["/l/o/tmpk3f9a2bx"], [0], "{--out}/tmp*", [Field("random")]),
    (
        ["/l/o/d41d8cd98f00b204e9800998ecf8427e/x"],
        [0],
        "{--out}/*/x",
        [Field("random")],
    ),
    (["/l/o/job.12345/x"], [0], "{--out}/job.#/x", [Field("random", 0, 12345)]),
    (["/l/o/" + "9" * 30], [0], "{--out}/#", [Field("random")]),
    (["/elsewhere/x#1*\\"], [0], r"/elsewhere/x\##\*\\", [Field("constant", 0, 1)]),
    (["/l/o"], [0], "{--out}", []),
]


@pytest.mark.parametrize(("paths", "ranks", "text", "fields"), GOLDEN)
def test_names_of_known_programs_become_one_template(
    paths: list[str], ranks: Sequence[int], text: str, fields: list[Field]
) -> None:
    learned = learn(paths, ranks)
    (template,) = learned.templates
    assert (template.text, list(template.fields)) == (text, fields)
    assert (template.example, template.file_count, template.run_count) == (paths[0], len(paths), 1)
    again = learn(paths, ranks, saved(learned))
    assert texts(again) == [text]
    assert (again.templates[0].fields, again.unknown) == (template.fields, [])


def test_name_that_is_given_as_root_takes_what_follows_it() -> None:
    paths = [f"/l/testFile.{rank:08d}" for rank in EIGHT]
    learned = learn(paths, EIGHT, command=("ior", "-o", "/l/testFile"))
    assert texts(learned) == ["{-o}.#"]
    assert learned.matches[3].values == ("00000003",)
    other = [f"/l/other.{rank:08d}" for rank in EIGHT]
    again = learn(other, EIGHT, learned.templates, command=("ior", "-o", "/l/other"))
    assert again.unknown == []


def test_pid_is_told_by_its_creator() -> None:
    learned = learn([f"/l/o/log.{pid}" for pid in (4711, 4800)], [0, 1], pids=[4711, 4800])
    assert kinds(learned.templates[0]) == ["pid"]


def test_job_id_is_told_by_its_number() -> None:
    learned = learn(["/l/o/r4711/x"], [0], job_ids=[4711])
    assert kinds(learned.templates[0]) == ["random"]


def test_words_that_differ_are_different_templates() -> None:
    names = ("density", "energy", "momentX", "vortex")
    learned = learn([f"/l/o/{name}_{n}.h5" for name in names for n in range(3)])
    assert texts(learned) == [f"{{--out}}/{name}_#.h5" for name in names]


def test_words_that_differ_in_one_letter_are_words() -> None:
    names = ("velX", "velY", "velZ", "magX")
    assert len(learn([f"/l/o/{name}.dat" for name in names]).templates) == 4
    names = ("rhoA1", "rhoB1", "rhoC1", "rhoD1")
    assert len(learn([f"/l/o/{name}_{n}" for name in names for n in range(3)]).templates) == 4


def test_counters_with_letters_are_not_random() -> None:
    learned = learn(
        [f"/l/o/r{a:02d}c{b:02d}d{c:02d}" for a in (1, 2) for b in (3, 4) for c in (5, 6)]
    )
    assert texts(learned) == ["{--out}/r#c#d#"]


def test_random_names_are_one_template_whatever_each_looks_like() -> None:
    names = ["aB3xY9", "qwerty", "Qw7bZp", "123456", "ZZtopp", "x9Yz1Q"]
    learned = learn([f"/l/o/ckpt.{name}" for name in names])
    assert texts(learned) == ["{--out}/ckpt.*"]
    assert [match.values[0] for match in learned.matches] == names


def test_names_of_mixed_marks_and_one_length_are_random_together() -> None:
    names = ["x3fq", "9k2m", "ab7c", "q1w2"]
    assert texts(learn([f"/l/o/part-{name}.dat" for name in names])) == ["{--out}/part-*.dat"]
    assert len(learn([f"/l/o/part-{name}.dat" for name in names[:2]]).templates) == 2


def test_digits_of_formats_are_no_fields() -> None:
    paths = [f"/l/o/x.{end}" for end in ("h5", "h6", "mp4", "bz2", "h5.tmp", "r5")]
    assert texts(learn(paths)) == [
        "{--out}/x.h5",
        "{--out}/x.h#",
        "{--out}/x.mp4",
        "{--out}/x.bz2",
        "{--out}/x.h5.tmp",
        "{--out}/x.r#",
    ]


def test_more_fields_than_a_plan_takes_leave_constants_as_they_are() -> None:
    paths = ["/l/o/" + "_".join(map(str, [n, *range(18)])) for n in range(3)]
    learned = learn(paths)
    assert texts(learned) == ["{--out}/#_0_1_2" + "_#" * 15]
    assert learn(paths, known=saved(learned)).unknown == []


def test_directory_of_each_job_becomes_a_field() -> None:
    first = learn([f"/scratch/r4x9q/out.{rank}" for rank in EIGHT], EIGHT)
    second = learn([f"/scratch/z9y7p/out.{rank}" for rank in EIGHT], EIGHT, saved(first))
    assert texts(second) == ["/scratch/*/out.#"]
    assert (second.replaces, second.unknown) == (((1,),), [])
    assert kinds(second.templates[0]) == ["random", "rank"]
    third = learn(["/scratch/anything/out.3"], [3], saved(second))
    assert (texts(third), third.unknown) == (["/scratch/*/out.#"], [])
    assert third.matches[0].values == ("anything", "3")
    assert kinds(third.templates[0]) == ["random", "rank"]
    old = field_values(second.templates[0], ROOTS, "/scratch/r4x9q/out.5")
    assert old == ("r4x9q", "5")


def test_word_that_is_another_in_every_run_becomes_a_field() -> None:
    known: list[Template] = []
    for word in ("alpha", "beta"):
        learned = learn([f"/l/o/{word}/out.0"], known=known)
        assert len(learned.unknown) == 1
        known = saved(learned)
    learned = learn(["/l/o/gamma/out.0"], known=known)
    assert (texts(learned), learned.replaces) == (["{--out}/*/out.#"], ((1, 2),))


def test_word_that_comes_again_stays() -> None:
    known = saved(learn(["/l/o/density.0", "/l/o/energy.0"]))
    learned = learn(["/l/o/density.0", "/l/o/pressure.0"], known=known)
    assert texts(learned) == ["{--out}/density.#", "{--out}/energy.#", "{--out}/pressure.#"]
    assert learned.unknown == [1]
    assert [template.file_count for template in learned.templates] == [1, 0, 1]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((7, 7), Field("constant", 0, 7)),
        ((7, 8), Field("step", 0, 8, 1)),
        ((7, 8, 9), Field("step", 0, 9, 1)),
        ((10, 20, 25), Field("random")),
        ((8, 7), Field("random")),
        ((7, 99_999), Field("random")),
    ],
)
def test_constant_that_changes_from_run_to_run_is_none(
    values: tuple[int, ...], expected: Field
) -> None:
    known: list[Template] = []
    for value in values:
        known = saved(learn([f"/l/o/run_{value}/x"], known=known))
    assert known[0].fields == (expected,)


def test_rank_stays_rank_in_a_run_of_one_rank() -> None:
    known = saved(learn([f"/l/o/x.{rank}" for rank in EIGHT], EIGHT))
    known = saved(learn(["/l/o/x.0"], [0], known))
    assert known[0].fields == (Field("rank"),)
    known = saved(learn([f"/l/o/x.{rank * rank}" for rank in EIGHT], EIGHT, known))
    assert kinds(known[0]) == ["step"]


def test_number_that_is_the_rank_count_by_chance_is_a_constant_later() -> None:
    known = saved(learn([f"/l/o/v8/x.{rank}" for rank in EIGHT], EIGHT))
    assert kinds(known[0]) == ["parts", "rank"]
    known = saved(learn([f"/l/o/v8/x.{rank}" for rank in range(4)], range(4), known))
    assert kinds(known[0]) == ["constant", "rank"]
    known = saved(learn([f"/l/o/v8/x.{rank}" for rank in EIGHT], EIGHT, known))
    assert kinds(known[0]) == ["constant", "rank"]


def test_irregular_large_numbers_are_random_unless_they_rise() -> None:
    assert kinds(learn([f"/l/o/{n}" for n in (834957, 123873, 998123)]).templates[0]) == ["random"]
    assert kinds(learn([f"/l/o/{n}" for n in (100000, 250000, 330000)]).templates[0]) == ["step"]


def test_people_see_constants_written_out() -> None:
    learned = learn([f"/l/o/run_007/x#{step}.h5" for step in range(3)])
    assert show(learned.templates[0]) == "{--out}/run_007/x##.h5"


WORDS = ("r4x9q", "z9y7p", "alpha", "beta", "gamma", "run_1", "a.aB3xY9", "a.Qw7bZp", "12-b", "7")
NAMES = st.one_of(st.text("aB1290_.#*\\-é\udcff", min_size=1, max_size=9), st.sampled_from(WORDS))
PATHS = st.lists(
    st.lists(NAMES.filter(lambda name: name not in (".", "..")), min_size=1, max_size=3),
    min_size=1,
    max_size=12,
).map(lambda names: sorted({"/l/" + "/".join(name) for name in names}))
SEVERAL_ROOTS = roots_of(("app", "--out", "/l/a", "-x", "/l/B"), "/l")


def check_library_finds_the_same(paths: Sequence[str], learned: Learned) -> None:
    rules = [rule_text(template, SEVERAL_ROOTS) or "" for template in learned.templates]
    plan = planned(rules)
    for path, match in zip(paths, learned.matches, strict=True):
        template = learned.templates[match.template]
        own = parse(rules[match.template])
        found = plan.find(encode(path))
        assert found.layout is not None
        assert found.template == ("" if own.path is not None else own.text)
        assert field_values(template, SEVERAL_ROOTS, path) == match.values
        assert len(template.fields) == len(match.values) == len(own.fields)


@settings(deadline=None)
@given(PATHS)
def test_library_finds_the_template_of_every_file(paths: list[str]) -> None:
    facts = RunFacts(SEVERAL_ROOTS, 0, STARTED_S)
    seen = [Seen(path) for path in paths]
    learned = learn_names(seen, facts)
    check_library_finds_the_same(paths, learned)
    again = learn_names(seen, facts, saved(learned))
    assert (again.matches, again.unknown) == (learned.matches, [])


@settings(deadline=None)
@given(st.lists(PATHS, min_size=3, max_size=3))
def test_library_finds_every_file_of_later_runs(runs: list[list[str]]) -> None:
    known: list[Template] = []
    for paths in runs:
        facts = RunFacts(SEVERAL_ROOTS, 0, STARTED_S)
        learned = learn_names([Seen(path) for path in paths], facts, known)
        check_library_finds_the_same(paths, learned)
        known = saved(learned)


@given(PATHS)
def test_same_facts_give_the_same_names(paths: list[str]) -> None:
    learned = learn_names([Seen(path) for path in paths], RunFacts(SEVERAL_ROOTS, 0, STARTED_S))
    for number, template in enumerate(learned.templates):
        own = [place for place, match in enumerate(learned.matches) if match.template == number]
        files = [(learned.matches[place].values, -1) for place in own]
        expected = expand(template, files, 0, Coming(SEVERAL_ROOTS, 0))
        assert [each.source_index for each in expected] == list(range(len(own)))
        if all(field.kind in FORESEEN for field in template.fields):
            assert [each.path for each in expected] == [paths[place] for place in own]
        else:
            assert {each.path for each in expected} == {None}


def test_large_run_with_random_names_is_learned_as_a_small_one() -> None:
    made_up = random.Random(5)
    marks = string.ascii_letters + string.digits
    random_names = ["".join(made_up.choices(marks, k=6)) for _ in range(30_000)]
    paths = [f"/l/o/tmp.{name}" for name in random_names]
    paths += [f"/l/o/ckpt_{n:05d}.h5" for n in range(1000)]
    learned = learn(paths)
    assert sorted(texts(learned)) == ["{--out}/ckpt_#.h5", "{--out}/tmp.*"]
    assert [match.values[0] for match in learned.matches[:30_000]] == random_names
    again = learn(paths, known=saved(learned))
    assert (again.matches, again.unknown) == (learned.matches, [])
