"""What earlier runs wrote becomes what the next one will write."""

from collections.abc import Sequence

from iez_client.learn.foresee import foresee
from iez_client.learn.phases import phases
from iez_client.names import Coming, Roots
from iez_common.database.records import HistoryRow
from iez_common.knowledge import Field, Run, Template

ROOTS = Roots([("{--out}", "/l/next")])
RANK = Field("rank", 4, 0, 1)
STEP = Field("step", 0, 0, 1)
BY_RANK = Template("{--out}/part.#", (RANK,), "/l/old/part.0000", id=1)
BY_RANK_AND_STEP = Template("{--out}/s#.r#", (STEP, RANK), "/l/old/s0.r0000", id=2)
SHARED = Template("{--out}/whole", (), "/l/old/whole", id=3)
RANDOM = Template("{--out}/tmp.*", (Field("random"),), "/l/old/tmp.aB3xY9", id=4)


def run(ranks: int, run_id: int = 1) -> Run:
    return Run(run_id, 0.0, 1.0, ("app",), "/", ranks, 1, 0, "/t", file_count=1, id=run_id)


def row(
    template: Template,
    values: Sequence[str],
    write_bytes: int,
    rank: int = 0,
    ordinal: int = 0,
    at_s: float = 1.0,
    writers: int = 1,
    stripe_count: int = 0,
    outcome: str = "",
) -> HistoryRow:
    return HistoryRow(
        template.id, ordinal, ordinal + 1, tuple(values), rank, write_bytes, at_s, writers, 4096,
        stripe_count, outcome,
    )  # fmt: skip


def sizes(found: Sequence) -> dict[str, int]:
    return {each.prediction.path: each.prediction.write_bytes for each in found}


def test_each_file_of_the_last_run_comes_again_in_the_next_directory() -> None:
    rows = [row(BY_RANK, [f"{rank:04d}"], 100 + rank, rank) for rank in range(3)]
    found = foresee([BY_RANK], [run(3)], rows, Coming(ROOTS, 3))
    assert sizes(found) == {
        "/l/next/part.0000": 100,
        "/l/next/part.0001": 101,
        "/l/next/part.0002": 102,
    }


def test_a_command_without_that_directory_is_not_foreseen() -> None:
    rows = [row(BY_RANK, ["0000"], 100)]
    assert foresee([BY_RANK], [run(1)], rows, Coming(Roots([("{cwd}", "/h")]), 1)) == []


def test_series_go_over_runs_and_steps_of_one_rank() -> None:
    rows = [
        row(BY_RANK_AND_STEP, [str(step), f"{rank:04d}"], 1000 * (4 * ordinal + step) + rank, rank,
            ordinal, 10 * ordinal + step)
        for ordinal in range(2) for rank in range(2) for step in range(4)
    ]  # fmt: skip
    found = foresee([BY_RANK_AND_STEP], [run(2, 1), run(2, 2)], rows, Coming(ROOTS, 2))
    assert sizes(found) == {
        f"/l/next/s{step}.r{rank:04d}": 1000 * (8 + step) + rank
        for step in range(4)
        for rank in range(2)
    }
    assert {each.forecast.method for each in found} == {"affine"}
    assert found[0].series == tuple(1000 * n for n in range(8))


def test_rows_may_come_in_any_order_within_a_run() -> None:
    rows = [row(BY_RANK_AND_STEP, [str(s), "0000"], 100 * s, at_s=9.0 - s) for s in (2, 0, 1, 3)]
    found = foresee([BY_RANK_AND_STEP], [run(1)], rows, Coming(ROOTS, 1))
    assert sizes(found)["/l/next/s0.r0000"] == 400


def test_other_rank_counts_take_the_sizes_of_ranks_like_them() -> None:
    rows = [row(BY_RANK, [f"{rank:04d}"], 100 if rank < 2 else 200, rank) for rank in range(4)]
    found = foresee([BY_RANK], [run(4)], rows, Coming(ROOTS, 8))
    assert len(found) == 8
    assert set(sizes(found).values()) == {100, 200}


def test_work_that_all_ranks_share_is_known_from_two_rank_counts() -> None:
    rows = [row(BY_RANK, [f"{rank:04d}"], 800, rank, 0) for rank in range(2)]
    rows += [row(BY_RANK, [f"{rank:04d}"], 400, rank, 1) for rank in range(4)]
    found = foresee([BY_RANK], [run(2, 1), run(4, 2)], rows, Coming(ROOTS, 16))
    assert set(sizes(found).values()) == {100}
    weak = [row(BY_RANK, [f"{r:04d}"], 800, r, n) for n, k in ((0, 2), (1, 4)) for r in range(k)]
    found = foresee([BY_RANK], [run(2, 1), run(4, 2)], weak, Coming(ROOTS, 16))
    assert set(sizes(found).values()) == {800}


def test_runs_of_the_same_rank_count_are_preferred() -> None:
    rows = [row(SHARED, [], 800, ordinal=0), row(SHARED, [], 100, ordinal=1)]
    found = foresee([SHARED], [run(2, 1), run(4, 2)], rows, Coming(ROOTS, 2))
    assert sizes(found) == {"/l/next/whole": 800}


def test_shared_file_has_as_many_writers_as_the_next_run_has_ranks() -> None:
    rows = [row(SHARED, [], 800, writers=4)]
    (found,) = foresee([SHARED], [run(4)], rows, Coming(ROOTS, 16))
    assert found.prediction.writers == 16
    (found,) = foresee([SHARED], [run(4)], [row(SHARED, [], 8, writers=2)], Coming(ROOTS, 16))
    assert found.prediction.writers == 2


def test_random_names_have_only_a_template() -> None:
    rows = [row(RANDOM, [name], 50, rank, at_s=rank) for rank, name in enumerate(("a1", "b2"))]
    found = foresee([RANDOM], [run(2)], rows, Coming(ROOTS, 2))
    assert {each.expected.path for each in found} == {None}
    assert {each.prediction.path for each in found} == {"/l/next/tmp.*"}
    assert [each.prediction.mpi_rank for each in found] == [0, 1]


def test_stripe_count_is_kept_where_the_user_chose_it_and_free_where_iez_did() -> None:
    chosen = row(SHARED, [], 800, stripe_count=8)
    placed = row(SHARED, [], 800, ordinal=1, stripe_count=4, outcome="placed")
    default = row(SHARED, [], 800, stripe_count=1)
    for rows, count in (([chosen], 8), ([chosen, placed], 8), ([placed], 0), ([default], 0)):
        runs = [run(1, 1), run(1, 2)]
        (found,) = foresee([SHARED], runs, rows, Coming(ROOTS, 1))
        assert found.prediction.stripe_count == count


def test_what_was_not_seen_for_long_is_not_expected() -> None:
    rows = [row(BY_RANK, ["0000"], 100)]
    rows += [row(SHARED, [], 800, ordinal=n) for n in range(7)]
    found = foresee([BY_RANK, SHARED], [run(1, n) for n in range(7)], rows, Coming(ROOTS, 1))
    assert set(sizes(found)) == {"/l/next/whole"}


def test_nothing_is_foreseen_of_nothing() -> None:
    assert foresee([], [], [], Coming(ROOTS, 1)) == []
    assert foresee([SHARED], [run(1)], [], Coming(ROOTS, 1)) == []


def test_files_of_all_ranks_at_one_time_are_a_phase() -> None:
    rows = [
        row(BY_RANK_AND_STEP, [str(s), f"{r:04d}"], 100, r, at_s=10 * s + r / 10)
        for r in range(3)
        for s in range(4)
    ]
    found = phases(foresee([BY_RANK_AND_STEP], [run(3)], rows, Coming(ROOTS, 3)))
    assert len(found) == 4
    for step, phase in enumerate(found):
        names = {f"/l/next/s{step}.r{rank:04d}" for rank in range(3)}
        assert {each.prediction.path for each in phase} == names


def test_very_many_files_of_one_rank_share_phases() -> None:
    template = Template("{--out}/f#", (STEP,), "/l/old/f0", id=5)
    rows = [row(template, [str(n)], 100, at_s=n) for n in range(1000)]
    found = phases(foresee([template], [run(1)], rows, Coming(ROOTS, 1)))
    assert len(found) == 200
    assert {len(phase) for phase in found} == {5}
