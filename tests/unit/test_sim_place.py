"""The study of placements: its set-ups, its results, and what it says about them."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from iez_common.allocate import allocate
from iez_common.allocate.policy import OBJECTIVES, Objective
from iez_sim.place.figures import FIGURES, utilisation_percent
from iez_sim.place.mixed_setups import Draws, mixed_setups
from iez_sim.place.plots import draw_all
from iez_sim.place.setups import all_setups
from iez_sim.place.study import Result, Study, run_study, variants
from iez_sim.place.verdict import verdict

GIB = 1 << 30
SETUPS = all_setups()
VARIANTS = variants()


def made_up(setup: str, strategy: str, **values: object) -> Result:
    """A result that is perfect but for what is said."""
    best = Result(
        setup=setup,
        strategy=strategy,
        objective="blend",
        paper=False,
        optimum=0.0,
        seeds=1,
        ostcost_new=1.0,
        ostcost_new_max=1.0,
        ostcost_total=1.0,
        oss_imbalance=1.0,
        predicted_s=10.0,
        value=1.0,
        bound=1.0,
        certificate=1.0,
        files_split=0,
        load_bytes=(1, 1),
    )
    return dataclasses.replace(best, **values)  # type: ignore[arg-type]


def told(*results: Result, counts: tuple[int, ...] = ()) -> list[str]:
    """The sentences; those that do not hold begin with a minus."""
    study = Study(results, (), counts)
    return [("" if each.holds else "- ") + each.text for each in verdict(study)]


@pytest.mark.parametrize(
    ("name", "files", "total_gib", "stripe_count", "optimum"),
    [
        ("ior-8p-sc8", 8, 16, 8, 1.172),
        ("ior-8p-sc4", 8, 16, 4, 1.406),
        ("ior-16p-sc8", 16, 32, 8, 1.055),
        ("ior-16p-sc4", 16, 32, 4, 1.172),
        ("ior-64p-sc8", 64, 64, 8, 1.025),
        ("ior-64p-sc4", 64, 64, 4, 1.055),
        ("hacc-8p", 8, 4, 8, 1.172),
        ("hacc-16p", 16, 7.7, 8, 1.055),
        ("hacc-32p", 32, 13.5, 8, 1.055),
        ("ior-ssf", 1, 32, 8, 1.875),
    ],
)
def test_a_set_up_of_the_paper_has_its_bytes_and_counts(
    name: str, files: int, total_gib: float, stripe_count: int, optimum: float
) -> None:
    setup = SETUPS[name]
    assert len(setup.requests) == files
    assert int(setup.requests.write_bytes.sum()) == pytest.approx(total_gib * GIB, abs=files)
    assert set(setup.requests.stripe_count.tolist()) == {stripe_count}
    assert (setup.paper, setup.optimum, setup.racing) == (True, optimum, files)


def test_there_are_eleven_on_the_machine_of_the_paper() -> None:
    eleven = [setup for setup in SETUPS.values() if setup.paper]
    assert len(eleven) == 11
    for setup in eleven:
        assert setup.osts.size_bytes.tolist() == 15 * [10 * GIB]
        assert setup.osts.oss.tolist() == 5 * [0] + 5 * [1] + 5 * [2]
        assert not setup.osts.used_bytes.any()


def test_concurrent_jobs_create_in_turn() -> None:
    setup = SETUPS["ior-hacc"]
    assert setup.job_names == ("IOR", "HACC-I/O")
    assert setup.jobs == 16 * ("IOR", "HACC-I/O")
    assert setup.requests.stripe_count.tolist() == 16 * [4, 8]
    assert int(setup.requests.write_bytes.sum()) == pytest.approx(39.7 * GIB, abs=32)
    assert len(SETUPS["two-jobs"].job_names) == 2
    assert len(SETUPS["eight-jobs"].job_names) == 8


def test_uneven_set_ups_are_what_they_say() -> None:
    filled = SETUPS["prefilled"].osts.used_bytes / SETUPS["prefilled"].osts.size_bytes
    assert filled.min() < 0.05
    assert 0.75 < filled.max() <= 0.8
    sizes = SETUPS["sizes"].requests.write_bytes
    assert sizes.max() / sizes.min() > 9000
    assert len(set(SETUPS["capacities"].osts.size_bytes.tolist())) == 3
    assert set(SETUPS["counts"].requests.stripe_count.tolist()) == {1, 2, 4, 8, 16, 32, 64}
    states = frozenset().union(*SETUPS["sick-ost"].osts.states)
    assert states == {"degraded", "read-only"}
    rates = SETUPS["slow-oss"].osts.bandwidth_bytes_per_s
    slow = SETUPS["slow-oss"].osts.oss[rates < rates.max()]
    assert len(set(slow.tolist())) == 1
    for setup in mixed_setups():
        assert len(setup.osts) >= 100
        room = int(setup.osts.available_bytes.sum())
        assert int(setup.requests.write_bytes.sum()) < room


def test_the_seed_decides_a_set_up() -> None:
    first, again, other = mixed_setups(1), mixed_setups(1), mixed_setups(2)
    for one, same in zip(first, again, strict=True):
        assert np.array_equal(one.requests.write_bytes, same.requests.write_bytes)
        assert np.array_equal(one.osts.available_bytes, same.osts.available_bytes)
    sizes = [each[1].requests.write_bytes.tolist() for each in (first, other)]
    assert sizes[0] != sizes[1]


def test_draws_are_those_of_splitmix64() -> None:
    draws = Draws(1234567)
    assert [draws.whole() for _ in range(2)] == [6457827717110365317, 3203168211198807973]


def test_the_study_is_the_same_each_time_and_leaves_no_field_empty() -> None:
    setups = [SETUPS["ior-8p-sc8"], SETUPS["ior-hacc"]]
    first = run_study(setups, list(VARIANTS.values()), "blend", seeds=3)
    assert first == run_study(setups, list(VARIANTS.values()), "blend", seeds=3)
    assert not first.left_out
    assert len(first.results) == len(setups) * len(VARIANTS)
    for result in first.results:
        chance = result.strategy in ("lustre-rr", "lustre-rr-1", "lustre-qos", "random")
        assert result.seeds == (3 if chance else 1)
        assert 1 <= result.ostcost_new <= result.ostcost_new_max
        assert min(result.ostcost_total, result.oss_imbalance) >= 1 - 1e-9
        assert min(result.predicted_s, result.bound, result.value, result.certificate) > 0
        size = int(SETUPS[result.setup].requests.write_bytes.sum())
        assert sum(result.load_bytes) == pytest.approx(size, rel=0.001)


def test_progress_hears_of_every_run() -> None:
    heard: list[tuple[str, str]] = []
    chosen = [VARIANTS["iez"], VARIANTS["greedy"]]
    run_study([SETUPS["hacc-8p"]], chosen, "blend", 1, lambda *what: heard.append(what))
    assert heard == [("hacc-8p", "iez"), ("hacc-8p", "greedy")]


def test_what_does_not_fit_is_left_out_with_the_reason() -> None:
    setup = SETUPS["ior-8p-sc8"]
    small = dataclasses.replace(
        setup, osts=dataclasses.replace(setup.osts, available_bytes=setup.osts.size_bytes // 100)
    )
    study = run_study([small], [VARIANTS["iez"]], "blend", 1)
    assert not study.results
    assert study.left_out[0].setup == "ior-8p-sc8"
    assert study.left_out[0].reason


def test_the_paper_s_set_ups_end_as_they_must() -> None:
    setups = [setup for setup in SETUPS.values() if setup.paper or setup.name == "table-ii"]
    chosen = [VARIANTS[name] for name in ("iez", "iez-pfl", "paper-rising")]
    study = run_study(setups, chosen, "blend")
    said = verdict(study)
    assert [each.text for each in said if not each.holds] == []
    assert "11 of 11" in said[0].text
    assert "11 of 11" in said[1].text
    assert "Table II" in said[2].text
    for result in study.results:
        if result.strategy == "iez" and result.optimum:
            assert result.ostcost_new == pytest.approx(result.optimum, abs=5e-4)


def test_a_set_up_counts_as_proved_by_its_bound_or_by_the_known_optimum() -> None:
    by_bound = made_up("a", "iez", paper=True)
    known = made_up("b", "iez", paper=True, certificate=1.1, ostcost_new=1.1724, optimum=1.172)
    above = made_up("c", "iez", paper=True, certificate=1.1, ostcost_new=1.18, optimum=1.172)
    assert told(by_bound, known) == [
        "iez reaches the proved optimum on 2 of 2 of the paper's set-ups."
    ]
    assert told(by_bound, above) == [
        "- iez reaches the proved optimum on 1 of 2 of the paper's set-ups, not on c."
    ]


def test_composite_layouts_are_judged_by_cost_and_by_files_split() -> None:
    good = made_up("a", "iez-pfl", paper=True, ostcost_new=1.005, files_split=2)
    assert told(good)[0].startswith("With composite layouts its OSTCost is at most 1.005 on 1 of 1")
    assert told(good)[0].endswith("the worst is 1.0050, and at most 2 files are split.")
    costly = made_up("b", "iez-pfl", paper=True, ostcost_new=1.0051)
    torn = made_up("c", "iez-pfl", paper=True, files_split=3)
    assert told(good, costly, torn)[0].startswith("- ")
    assert "1 of 3 of them, not on b, c;" in told(good, costly, torn)[0]


def test_the_histogram_of_table_ii_is_compared() -> None:
    right = told(counts=(1, *7 * (4,), *7 * (5,)))
    assert right == [
        "paper-rising gives the histogram of Table II: "
        "5 stripes on 7, 4 stripes on 7, 1 stripes on 1 OSTs."
    ]
    assert told(counts=(0, *6 * (4,), *8 * (5,)))[0].startswith("- paper-rising gives ")


def test_where_iez_wins_nothing_it_is_said() -> None:
    even = [made_up("even", name) for name in ("iez", "lustre-rr", "lustre-rr-1")]
    said = told(*even)
    assert "gains something on 0 of 1 set-ups" in said[0]
    assert said[1] == "iez wins nothing over it on: even."
    assert said[2].endswith("as good as iez on 1 of 1 set-ups: even.")
    uneven = [made_up("uneven", "iez"), made_up("uneven", "lustre-rr", predicted_s=12.0)]
    both = told(*even, *uneven)
    assert "gains something on 1 of 2 set-ups" in both[0]
    assert "1.20 times at most" in both[0]
    assert both[1] == "iez wins nothing over it on: even."


def test_what_iez_pays_is_said_too() -> None:
    ours = made_up("slow", "iez", ostcost_new=1.2)
    theirs = made_up("slow", "lustre-rr", predicted_s=40.0)
    assert told(ours, theirs)[-1] == (
        "On slow iez is worse than lustre-rr in OSTCost of new bytes (1.2 against 1); "
        "for that predicted time (10 against 40)."
    )
    assert told(ours, made_up("slow", "lustre-rr"))[-1].endswith("and gains nothing for it.")
    whole = made_up("full", "iez")
    split = made_up("full", "iez-pfl", ostcost_total=1.8, predicted_s=9.0)
    assert told(whole, split)[-1] == (
        "On full iez-pfl is worse than iez in OSTCost of all bytes (1.8 against 1); "
        "for that predicted time (9 against 10)."
    )


def test_a_figure_of_servers_adds_their_osts_up() -> None:
    figure = next(each for each in FIGURES if each.by_oss)
    name, strategy = figure.series[0].setup, figure.series[0].strategy
    loads = 5 * (GIB,) + 5 * (2 * GIB,) + 5 * (3 * GIB,)
    study = Study((made_up(name, strategy, load_bytes=loads),), (), ())
    shown = utilisation_percent(figure, figure.series[0], study, SETUPS)
    assert shown == pytest.approx([10, 20, 30])


def test_figures_are_drawn_alike_each_time_and_the_rest_is_named(tmp_path: Path) -> None:
    chosen = [VARIANTS["lustre-rr"], VARIANTS["iez"]]
    study = run_study([SETUPS["ior-hacc"]], chosen, "blend", 1)
    written, lacking = draw_all(study, SETUPS, tmp_path / "a")
    again, _ = draw_all(study, SETUPS, tmp_path / "b")
    names = ["fig14.svg", "fig14.png", "overview.svg", "overview.png"]
    assert [path.name for path in written] == names
    for one, same in zip(written, again, strict=True):
        assert one.read_bytes() == same.read_bytes()
    assert set(lacking) == {each.name for each in FIGURES} - {"fig14"}
    assert "ior-ssf under iez-pfl" in lacking["fig12"]


def test_every_figure_names_set_ups_and_strategies_that_exist() -> None:
    assert [each.name for each in FIGURES] == [
        f"fig{number:02}" for number in (2, 3, 7, 8, 9, 11, 12, 13, 14)
    ]
    for series in (series for figure in FIGURES for series in figure.series):
        assert series.setup in SETUPS
        assert series.strategy in VARIANTS


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_strategy_of_comparison_is_better_in_the_objective_on_any_set_up(
    objective: Objective,
) -> None:
    for setup in SETUPS.values():
        ours = allocate(setup.requests, setup.osts, VARIANTS["iez"].policy(setup, objective, 0))
        for name in ("greedy", "lustre-rr", "lustre-rr-1", "lustre-qos"):
            for seed in range(5 if VARIANTS[name].chance else 1):
                policy = VARIANTS[name].policy(setup, objective, seed)
                theirs = allocate(setup.requests, setup.osts, policy)
                least = theirs.certificate.value * (1 + 1e-9)
                assert ours.certificate.value <= least, (setup.name, name, seed)
