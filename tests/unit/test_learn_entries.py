"""What was foreseen and allocated becomes entries of a plan that give each file its layout."""

from collections.abc import Sequence

from iez_client.filesystems import LUSTRE, FileSystem, Ost
from iez_client.learn.entries import draft_of
from iez_client.learn.foresee import Foreseen
from iez_client.names import Chooser, Expected
from iez_client.plan.bind import bind
from iez_client.plan.compile import compile_draft
from iez_client.plan.read import Plan
from iez_client.predict import forecast
from iez_common.allocate import Placement
from iez_common.knowledge import Prediction

FILE_SYSTEM = FileSystem(LUSTRE, "/l", tuple(Ost(index) for index in range(20)))
ONE = forecast([1], 1)


def foreseen(
    path: str | None,
    rule: str,
    values: Sequence[str],
    chooser: Chooser | None,
    rank: int = 0,
    is_only_one: bool = False,
) -> Foreseen:
    prediction = Prediction(path or rule, 1, rank, 0, 1, 1, 0, 1, 0, "constant", 0.0)
    expected = Expected(path, rule, tuple(values), rank, 0, chooser)
    return Foreseen(prediction, expected, ONE, (1,), 0.0, is_only_one)


def on(*osts: int) -> Placement:
    return Placement("list", len(osts), 1 << 20, osts)


def plan_of(pairs: Sequence[tuple[Foreseen, Placement]]) -> Plan:
    draft, entries = draft_of(pairs, [FILE_SYSTEM])
    assert [each.foreseen for each in entries] == [each for each, _ in pairs]
    return Plan(bind(compile_draft(draft), [FILE_SYSTEM], 0), "test")


def osts_of(plan: Plan, path: str) -> tuple[int, ...] | None:
    layout = plan.find(path.encode()).layout
    return None if layout is None else layout.osts


def test_ranks_choose_by_the_template_alone() -> None:
    by_rank = Chooser(0, 0, 1)
    plan = plan_of(
        [(foreseen(f"/l/p.{r}", "/l/p.#", [str(r)], by_rank, r), on(r + 3)) for r in range(4)]
    )
    assert list(plan.entries()) == []
    assert [osts_of(plan, f"/l/p.{r}") for r in range(4)] == [(3,), (4,), (5,), (6,)]
    # More ranks than before take turns.
    assert osts_of(plan, "/l/p.5") == (4,)


def test_files_that_the_template_would_put_elsewhere_have_entries_of_their_own() -> None:
    by_rank = Chooser(1, 0, 1)
    pairs = [
        (foreseen(f"/l/s{s}.r{r}", "/l/s#.r#", [str(s), str(r)], by_rank, r), on((s + r) % 5))
        for s in range(3)
        for r in range(2)
    ]
    plan = plan_of(pairs)
    for s in range(3):
        for r in range(2):
            assert osts_of(plan, f"/l/s{s}.r{r}") == ((s + r) % 5,)
    # A step to come: as the first one.
    assert osts_of(plan, "/l/s9.r1") == (1,)


def test_steps_by_tens_each_have_their_place() -> None:
    by_step = Chooser(0, 100, 10)
    steps = range(100, 200, 10)
    pairs = [
        (foreseen(f"/l/c{s}", "/l/c#", [str(s)], by_step), on(n % 7)) for n, s in enumerate(steps)
    ]
    plan = plan_of(pairs)
    assert list(plan.entries()) == []
    assert [osts_of(plan, f"/l/c{s}") for s in steps] == [(n % 7,) for n in range(10)]


def test_names_that_nothing_tells_apart_are_not_all_put_on_the_same_osts() -> None:
    pairs = [(foreseen(None, "/l/tmp.*", ["x"], None, r), on(r)) for r in range(3)]
    layout = plan_of(pairs).find(b"/l/tmp.Ab3dE9").layout
    assert layout is not None
    assert layout.osts == ()
    assert layout.components[0].stripe_count == 1


def test_one_such_name_alone_gets_its_osts_once_it_is_sure_that_there_is_but_one() -> None:
    for is_only_one, osts in ((False, ()), (True, (4, 5))):
        file = foreseen(None, "/l/tmp.*", ["x"], None, is_only_one=is_only_one)
        assert osts_of(plan_of([(file, on(4, 5))]), "/l/tmp.Ab3dE9") == osts


def test_further_files_of_a_template_with_one_file_are_not_put_on_its_osts() -> None:
    plan = plan_of([(foreseen("/l/step1", "/l/step#", ["1"], None), on(4))])
    assert osts_of(plan, "/l/step1") == (4,)
    assert osts_of(plan, "/l/step2") == ()


def test_number_that_is_the_same_for_all_does_not_put_them_on_one_ost() -> None:
    by_job = Chooser(0, 0, 1)
    pairs = [(foreseen(None, "/l/job.#/chunk.*", ["77", f"x{n}"], by_job), on(n)) for n in range(4)]
    plan = plan_of(pairs)
    assert osts_of(plan, "/l/job.78/chunk.aB3") == ()
    _, entries = draft_of(pairs, [FILE_SYSTEM])
    assert {each.placement.osts for each in entries} == {()}


def test_name_that_several_files_have_in_turn_is_not_put_on_the_osts_of_one() -> None:
    pairs = [(foreseen("/l/state.tmp", "/l/state.tmp", [], None), on(n)) for n in range(3)]
    assert osts_of(plan_of(pairs), "/l/state.tmp") == ()


def test_template_of_large_and_small_files_is_not_in_the_plan() -> None:
    small = Placement("nothing", 1, 1 << 20)
    by_rank = Chooser(0, 0, 1)
    pairs = [
        (foreseen(f"/l/o.{n}", "/l/o.#", [str(n)], by_rank, n), small if n else on(3))
        for n in range(4)
    ]
    plan = plan_of(pairs)
    assert osts_of(plan, "/l/o.0") == (3,)
    assert osts_of(plan, "/l/o.1") is None


def test_files_left_to_lustre_are_not_in_the_plan() -> None:
    plan = plan_of([(foreseen("/l/log", "/l/log", [], None), Placement("nothing", 1, 1 << 20))])
    assert not plan.has_entries


def test_name_without_fields_is_a_path() -> None:
    plan = plan_of([(foreseen("/l/whole.h5", "/l/whole.h5", [], None), on(1, 2))])
    assert osts_of(plan, "/l/whole.h5") == (1, 2)
    assert osts_of(plan, "/l/other.h5") is None


def test_two_templates_with_the_same_rule_do_not_collide() -> None:
    pairs = [
        (foreseen("/l/a1", "/l/a#", ["1"], None), on(1)),
        (foreseen("/l/a2", "/l/a#", ["2"], None), on(2)),
    ]
    plan = plan_of(pairs)
    assert osts_of(plan, "/l/a1") == (1,)
    assert osts_of(plan, "/l/a2") == (2,)


def test_values_too_large_to_count_do_not_stop_it() -> None:
    by_number = Chooser(0, 0, 1)
    huge = "9" * 40
    plan = plan_of([(foreseen(f"/l/n{huge}", "/l/n#", [huge], by_number), on(3))])
    assert osts_of(plan, f"/l/n{huge}") == (3,)
