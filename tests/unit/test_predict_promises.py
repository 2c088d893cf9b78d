"""Forecasts keep their promises, whatever the series."""

import doctest
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iez_client.predict import (
    METHODS,
    accuracy,
    forecast,
    forecast_many,
    held_out_accuracy,
)
from iez_common.errors import ForecastError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "predict.md"
VALUES = st.one_of(st.integers(0, 5), st.integers(0, 10**18), st.floats(0, 1e18)).map(float)
SERIES = st.lists(VALUES, min_size=1, max_size=30)
QUICK = sorted(set(METHODS) - {"auto", "paper", "arima"})


@settings(deadline=None, max_examples=60)
@given(SERIES, st.integers(1, 12))
def test_a_forecast_has_its_length_and_lies_within_its_interval(series, horizon):
    made = forecast(series, horizon)
    assert len(made.values) == len(made.low) == len(made.high) == horizon
    for low, value, high in zip(made.low, made.values, made.high, strict=True):
        assert 0 <= low <= value <= high < np.inf
    assert 0 <= made.error <= 1
    assert made.why
    assert made.method in {score.method for score in made.scores}


@settings(deadline=None, max_examples=30)
@given(st.lists(SERIES, max_size=6), st.integers(1, 6))
def test_many_are_forecast_as_one_by_one(many, horizon):
    assert forecast_many(many, horizon) == [forecast(series, horizon) for series in many]


@settings(deadline=None, max_examples=30)
@given(SERIES, st.sampled_from(QUICK))
def test_every_method_can_be_asked_for_any_series(series, method):
    made = forecast(series, 4, method)
    assert all(0 <= value < np.inf for value in made.values)
    assert made == forecast(series, 4, method)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 10**6).map(float), min_size=3, max_size=30), st.integers(1, 40))
def test_other_units_give_the_same_forecast(series, power):
    small = forecast(series, 5)
    large = forecast([value * 2.0**power for value in series], 5)
    assert large.method == small.method
    assert large.values == pytest.approx([value * 2.0**power for value in small.values], rel=1e-6)


def test_processes_that_share_the_work_change_nothing():
    draw = np.random.default_rng(5)
    many = [draw.uniform(1e6, 2e6, 12).tolist() for _ in range(40)]
    told = []
    made = forecast_many(many, 3, progress=lambda done, of: told.append((done, of)))
    assert made == [forecast(series, 3) for series in many]
    assert told == [(done, 40) for done in range(1, 41)]


def test_regular_series_need_no_slow_work():
    told = []
    made = forecast_many([[5.0] * 9, [1.0, 2.0, 3.0]], 2, progress=lambda *step: told.append(step))
    assert [each.values for each in made] == [(5.0, 5.0), (4.0, 5.0)]
    assert told == []


@pytest.mark.parametrize(
    ("series", "horizon", "method", "words"),
    [
        ([], 1, "auto", "no values"),
        ([1.0, float("nan")], 1, "auto", "nan"),
        ([1.0, float("inf")], 1, "auto", "inf"),
        ([1.0, -2.0], 1, "auto", "-2"),
        ([1.0], 0, "auto", "0 values"),
        ([1.0], 1, "guess", "guess"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(series, horizon, method, words):
    with pytest.raises(ForecastError) as caught:
        forecast(series, horizon, method)
    assert words in caught.value.message
    assert "\n" not in caught.value.message


def test_one_and_two_values_stay():
    assert forecast([7.0], 3).values == (7.0, 7.0, 7.0)
    two = forecast([7.0, 9.0], 2)
    assert (two.method, two.values) == ("last", (9.0, 9.0))
    assert two.low[0] <= 7.0


def test_nothing_is_expected_after_nothing():
    assert forecast([0.0] * 12, 3).values == (0.0, 0.0, 0.0)


def test_the_scores_tell_all_that_was_compared():
    draw = np.random.default_rng(4)
    made = forecast((1e8 * np.exp(0.2 * draw.standard_normal(40))).tolist(), 10)
    names = [score.method for score in made.scores]
    assert {"last", "level", "line", "damped", "arima"} <= set(names)
    assert len(names) == len(set(names))
    assert names[0] == made.method == "level"
    assert json.dumps([[score.error, score.reason] for score in made.scores])


def test_errors_count_from_the_truth_and_at_most_once():
    assert accuracy([100.0, 200.0], [90.0, 200.0]) == pytest.approx(0.95)
    assert accuracy([100.0], [1e9]) == 0.0
    assert accuracy([0.0, 0.0], [0.0, 5.0]) == 0.5


def test_the_last_quarter_is_held_out():
    asked = []

    def predict(known, horizon):
        asked.append((len(known), horizon))
        return [known[-1]] * horizon

    assert held_out_accuracy([1.0] * 6 + [2.0, 1.0], predict) == 0.75
    assert asked == [(6, 2)]


def test_statsmodels_is_loaded_for_arima_only():
    program = (
        "import sys; from iez_client.predict import forecast\n"
        "forecast([1.0, 5.0, 2.0, 8.0, 3.0, 1.5, 7.0, 2.2], 3)\n"
        "print('statsmodels' in sys.modules, 'scipy' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (ran.stdout.split(), ran.stderr) == (["False", "False"], "")


def test_the_page_shows_what_really_comes():
    text = PAGE.read_text(encoding="utf-8").replace("```", "")
    shown = doctest.DocTestParser().get_doctest(text, {}, "predict.md", str(PAGE), 0)
    assert len(shown.examples) >= 5
    assert doctest.DocTestRunner().run(shown).failed == 0


def test_the_page_names_every_method():
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in METHODS if name != "auto" and f"`{name}`" not in text] == []
