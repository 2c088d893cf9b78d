"""The experiments with real I/O: what they compute, say and draw, and one small case from end to
end."""

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "scripts" / "experiments"))

import report
from cases import BANDWIDTH, CASES, OST_COUNT, Case, ior
from figures import draw_all
from measure import Result, by_server, cost_of, run_case
from stage import Sample

MIB = 1 << 20
EQUAL = (16 * MIB,) * OST_COUNT
FILES = ((16 * MIB, 1),) * OST_COUNT


def case(**more: object) -> Case:
    return Case("it", "It", (ior(2, "1M"),), **more)  # type: ignore[arg-type]


def samples(write: float, read: float, loads: tuple[int, ...] = EQUAL) -> tuple[Sample, ...]:
    return tuple(Sample(write * n, read * n, loads, FILES) for n in (0.99, 1.0, 1.01))


def verdict(result: Result) -> tuple[bool, str]:
    return report.sentences([result])[0]


def test_cost_is_the_last_osts_time_over_the_mean() -> None:
    assert cost_of(EQUAL, [BANDWIDTH] * OST_COUNT) == pytest.approx(1)
    one = (OST_COUNT * 16 * MIB, *[0] * (OST_COUNT - 1))
    assert cost_of(one, [BANDWIDTH] * OST_COUNT) == pytest.approx(OST_COUNT)
    # Half the bytes on an OST of half the speed is even.
    slow = case(slow_osts={0: BANDWIDTH // 2}).speeds
    assert cost_of((8 * MIB, *EQUAL[1:]), slow) == pytest.approx(1)


def test_osts_of_a_slow_server_share_its_speed() -> None:
    speeds = case(slow_osss={1: BANDWIDTH}).speeds
    assert speeds == [BANDWIDTH] * 5 + [BANDWIDTH / 5] * 5 + [BANDWIDTH] * 5
    assert by_server(EQUAL) == [80 * MIB] * 3


def test_bound_is_reached_by_one_file_on_each_ost_and_by_no_fewer() -> None:
    assert Result(case(), samples(1, 1), samples(1, 1)).bound == pytest.approx(1)
    two = tuple(Sample(1, 1, EQUAL, ((MIB, 1),) * (OST_COUNT + 1)) for _ in range(3))
    assert Result(case(), two, two).bound == pytest.approx(2 * OST_COUNT / (OST_COUNT + 1))


@pytest.mark.parametrize(
    ("write", "read", "should_gain", "holds", "says"),
    [
        (1.02, 0.99, False, True, "no gain"),
        (0.8, 1.0, False, False, "slower than with Lustre's own placement"),
        (1.5, 1.6, False, True, "writes 1.50 and reads 1.60 times as fast"),
        (1.5, 1.6, True, True, "writes 1.50 and reads 1.60 times as fast"),
        (1.5, 1.2, True, False, "reads 1.20 times as fast"),
    ],
)
def test_report_says_what_is_not_shown(
    write: float, read: float, should_gain: bool, holds: bool, says: str
) -> None:
    result = Result(case(should_gain=should_gain), samples(50, 50), samples(50 * write, 50 * read))
    assert verdict(result)[0] is holds
    assert says in verdict(result)[1]


def test_noise_is_not_taken_for_a_loss() -> None:
    noisy = tuple(Sample(50 * n, 50, EQUAL, FILES) for n in (0.8, 1.0, 1.2))
    assert verdict(Result(case(), noisy, samples(42, 50)))[0]
    assert not verdict(Result(case(), samples(50, 50), samples(42, 50)))[0]


def test_limit_is_that_of_the_best_placed_run() -> None:
    limit = OST_COUNT * BANDWIDTH
    for share, holds in ((0.95, True), (0.85, False)):
        result = Result(case(), samples(1, 1), samples(share * limit, 1))
        assert report.sentences([result])[-1] == (
            holds,
            f"A placed run (it) writes at {share:.1%} of what its OSTs can take together.",
        )


def test_cases_have_names_of_their_own_and_figures_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len({each.name for each in CASES}) == len(CASES)
    result = Result(case(slow_osts={2: MIB}), samples(50, 50), samples(60, 60))
    written = draw_all([result], tmp_path)
    assert {path.name for path in written} == {"rates.svg", "rates.png", "it.svg", "it.png"}
    assert all(path.stat().st_size > 1000 for path in written)
    report.print_json([result])
    assert json.loads(capsys.readouterr().out)["results"][0]["write_ratio"] == pytest.approx(1.2)
    report.print_table([result])
    assert capsys.readouterr().out.splitlines()[1].startswith("it    7.53 → 7.53 (≥ 1.88)")


@pytest.mark.fuse
@pytest.mark.mpi
def test_a_small_case_from_end_to_end() -> None:
    """The stage itself fails where a run was not placed as it should be."""
    tiny = Case("tiny", "Tiny", (ior(3, "3M"), ior(2, "2M")), slow_osts={1: BANDWIDTH // 2})
    done = run_case(tiny, 1, lambda text: None)
    written = (3 * 3 + 2 * 2) * MIB
    for sample in (*done.lustre, *done.iez):
        assert sum(sample.load_bytes) == written
        assert len(sample.files) == 5
        assert sample.write_bytes_per_s <= 1.01 * sum(tiny.speeds)
    assert done.bound <= done.cost(done.iez) * 1.001
