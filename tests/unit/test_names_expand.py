"""Names of the next run: other ranks, other directories, next steps."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iez_client.names import (
    Chooser,
    Coming,
    Expected,
    RunFacts,
    Seen,
    chooser,
    expand,
    learn_names,
    roots_of,
    step_shifts,
)
from iez_common.knowledge import Field, Template

THEN = ("app", "--out", "/scratch/job.1/x")
NEXT = ("app", "--out", "/scratch/job.2/y")
ROOT = "/scratch/job.1/x"


def following(
    paths: Sequence[str],
    ranks: Sequence[int],
    then: int,
    coming: int,
    shifts: Sequence[int] = (),
    command: Sequence[str] = NEXT,
) -> list[Expected]:
    """What is expected after a run that wrote these files below its root."""
    files = [Seen(ROOT + path, rank) for path, rank in zip(paths, ranks, strict=True)]
    learned = learn_names(files, RunFacts(roots_of(THEN, "/"), then))
    (template,) = learned.templates
    made = [(match.values, file.rank) for match, file in zip(learned.matches, files, strict=True)]
    return expand(template, made, then, Coming(roots_of(command, "/"), coming), shifts)


def paths_of(expected: Sequence[Expected]) -> list[str | None]:
    return [each.path for each in expected]


def hacc(root: str, count: int) -> list[str]:
    return [f"{root}/restart-Part{rank:08d}-of-{count:08d}.data" for rank in range(count)]


@pytest.mark.parametrize("coming", [1, 3, 8, 16, 1000])
def test_file_per_rank_follows_the_rank_count(coming: int) -> None:
    found = following(hacc("", 8), range(8), 8, coming)
    assert paths_of(found) == hacc("/scratch/job.2/y", coming)
    assert [each.rank for each in found] == list(range(coming))
    assert {each.rule_text for each in found} == {"/scratch/job.2/y/restart-Part#-of-#.data"}
    assert {each.chooser for each in found} == {Chooser(0, 0, 1)}


def test_added_rank_resembles_one_at_its_place() -> None:
    found = following(hacc("", 8), range(8), 8, 16)
    assert [each.source_index for each in found] == [*range(8), 4, 4, 5, 5, 6, 6, 7, 7]


def test_every_fourth_rank_stays_every_fourth() -> None:
    def names(count: int) -> list[str]:
        return [f"/out.{rank}-of-{count // 4}" for rank in range(1, count, 4)]

    found = following(names(16), range(1, 16, 4), 16, 32)
    assert paths_of(found) == ["/scratch/job.2/y" + name for name in names(32)]


def test_ranks_without_a_rule_are_kept_within_range() -> None:
    ranks = (0, 1, 5)
    found = following([f"/out.{rank}" for rank in ranks], ranks, 8, 4)
    assert [each.rank for each in found] == [0, 1]


def test_every_step_of_an_added_rank_is_expected() -> None:
    paths = [f"/s{step:03d}/r{rank}" for step in (10, 20) for rank in range(2)]
    found = following(paths, [0, 1, 0, 1], 2, 3)
    assert sorted(str(each.path)[len("/scratch/job.2/y") :] for each in found) == sorted(
        [*paths, "/s010/r2", "/s020/r2"]
    )


def test_names_without_ranks_do_not_depend_on_their_number() -> None:
    found = following(["/a_1", "/a_2"], [0, 7], 8, 4)
    assert paths_of(found) == ["/scratch/job.2/y/a_1", "/scratch/job.2/y/a_2"]
    assert [each.rank for each in found] == [0, 3]


def test_random_names_leave_the_rule() -> None:
    found = following(["/tmp.aB3xY9", "/tmp.Qw7bZp"], [0, 1], 2, 4)
    assert paths_of(found) == [None] * 4
    assert [each.rank for each in found] == [0, 1, 2, 3]
    assert {each.rule_text for each in found} == {"/scratch/job.2/y/tmp.*"}
    assert found[0].chooser is None


@pytest.mark.parametrize(("then", "coming"), [(8, 16), (1, 16), (16, 1)])
def test_one_shared_file_stays_one(then: int, coming: int) -> None:
    name = "/restart-Part00000000-of-00000001.data"
    found = following([name], [0], then, coming)
    assert paths_of(found) == ["/scratch/job.2/y" + name]


def test_rank_that_is_known_of_earlier_runs_grows_from_one() -> None:
    template = Template("{--out}/x.#-of-#", (Field("rank"), Field("parts", 0, 1)), "")
    found = expand(template, [(("0", "1"), 0)], 1, Coming(roots_of(NEXT, "/"), 3))
    assert paths_of(found) == [f"/scratch/job.2/y/x.{rank}-of-3" for rank in range(3)]
    found = expand(template, [(("0", "8"), 0)], 8, Coming(roots_of(NEXT, "/"), 16))
    assert paths_of(found) == ["/scratch/job.2/y/x.0-of-16"]


def test_command_without_the_root_expects_nothing() -> None:
    assert following(["/a"], [0], 1, 1, command=("app",)) == []


def test_characters_of_templates_in_a_root_are_escaped() -> None:
    found = following(["/a_1"], [0], 1, 1, command=("app", "--out", "/l/x#*"))
    assert found[0].path == "/l/x#*/a_1"
    assert found[0].rule_text == r"/l/x\#\*/a_#"


def test_unknown_rank_count_means_the_same_names() -> None:
    assert paths_of(following(hacc("", 8), range(8), 8, 0)) == hacc("/scratch/job.2/y", 8)


def test_steps_go_on_where_each_run_did_so() -> None:
    def run(first: int) -> list[tuple[str, ...]]:
        return [(f"{step:04d}",) for step in range(first, first + 30, 10)]

    template = Template("{--out}/c_#.h5", (Field("step", 4, 60, 10),), "")
    shifts = step_shifts(template, [run(0), run(30), run(60)])
    assert shifts == (30,)
    made = [(values, 0) for values in run(60)]
    found = expand(template, made, 1, Coming(roots_of(NEXT, "/"), 1), shifts)
    assert [each.values for each in found] == run(90)
    assert found[0].path == "/scratch/job.2/y/c_0090.h5"
    assert step_shifts(template, [run(0), run(0)]) == (0,)
    assert step_shifts(template, [run(0), run(10)]) == (0,)
    assert step_shifts(template, [run(0), run(30), run(90)]) == (0,)
    assert step_shifts(template, [run(0)]) == (0,)


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("/a/#_#", [Field("rank", 0, 1, 2), Field("step")], Chooser(0, 1, 2)),
        ("/a/#_#", [Field("step", 0, 5, 5), Field("constant")], Chooser(0, 5, 5)),
        ("/a/*_#_#", [Field("random"), Field("pid"), Field("parts")], Chooser(1, 0, 1)),
        ("/a/*_#", [Field("random"), Field("constant", 0, 7)], None),
        ("/a/b", [], None),
    ],
)
def test_rank_chooses_before_step_before_other_numbers(
    text: str, fields: list[Field], expected: Chooser | None
) -> None:
    assert chooser(Template(text, tuple(fields), "")) == expected


NAMINGS: dict[str, Callable[[int, int, int], str]] = {
    "padded": lambda rank, step, count: f"/p{rank:05d}_{step:03d}",
    "plain": lambda rank, step, count: f"/p{rank}.{step}",
    "directories": lambda rank, step, count: f"/step_{step:04d}/of{count}/rank-{rank:02d}.h5",
    "offset": lambda rank, step, count: f"/{3 * rank + 7}-of-{count}/é\udcff\\{step}",
}


@pytest.mark.parametrize("naming", NAMINGS)
@given(
    then=st.integers(2, 12),
    coming=st.integers(2, 130),
    steps=st.integers(1, 4),
    stride=st.integers(1, 9),
)
def test_next_run_writes_what_was_expected(
    naming: str, then: int, coming: int, steps: int, stride: int
) -> None:
    def names(count: int) -> list[tuple[str, int]]:
        return [
            (NAMINGS[naming](rank, stride * step, count), rank)
            for step in range(steps)
            for rank in range(count)
        ]

    paths, ranks = zip(*names(then), strict=True)
    found = following(paths, ranks, then, coming)
    assert sorted((str(each.path), each.rank) for each in found) == sorted(
        ("/scratch/job.2/y" + path, rank) for path, rank in names(coming)
    )
    same = following(paths, ranks, then, then, command=THEN)
    assert paths_of(same) == [ROOT + path for path in paths]
