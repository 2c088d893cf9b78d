"""Series that follow a rule go on by it, exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iez_client.predict import forecast

SIZES = st.integers(0, 10**15).map(float)
HORIZONS = st.integers(1, 40)


@given(SIZES, st.integers(1, 60), HORIZONS)
def test_a_constant_stays(size, count, horizon):
    made = forecast([size] * count, horizon)
    assert made.values == made.low == made.high == (size,) * horizon
    assert (made.method, made.error) == ("constant", 0.0)


@given(st.integers(0, 10**12), st.integers(1, 10**9), st.integers(3, 60), HORIZONS)
def test_equal_steps_go_on(first, step, count, horizon):
    series = [float(first + step * at) for at in range(count + horizon)]
    assert forecast(series[:count], horizon).values == pytest.approx(series[count:], rel=1e-9)


def test_falling_steps_end_at_nothing():
    assert forecast([50.0, 40.0, 30.0, 20.0], 4).values == (10.0, 0.0, 0.0, 0.0)


PERIODS = st.lists(st.integers(1, 10**9), min_size=2, max_size=12, unique=True)


@given(PERIODS, st.integers(0, 40), HORIZONS)
def test_a_period_that_came_twice_comes_again_wherever_the_series_ends(season, extra, horizon):
    count = 2 * len(season) + extra
    series = np.resize(np.array(season, float), count + horizon)
    made = forecast(series[:count], horizon)
    assert made.values == pytest.approx(series[count:].tolist(), rel=1e-6)


@given(PERIODS, st.integers(10**3, 10**8), st.integers(1, 30), HORIZONS)
def test_a_period_may_drift(season, step, extra, horizon):
    count = 3 * len(season) + extra
    at = np.arange(count + horizon)
    series = np.resize(np.array(season, float), len(at)) + step * (at // len(season))
    made = forecast(series[:count], horizon)
    assert made.values == pytest.approx(series[count:].tolist(), rel=1e-5, abs=1e-5 * series.max())


def test_two_values_of_a_period_that_come_again_are_enough_if_no_two_are_alike():
    assert forecast([5.0, 7.0, 9.0, 5.0, 7.0], 2).values == (9.0, 5.0)


def test_one_value_that_comes_again_is_no_period():
    assert forecast([5.0, 7.0, 9.0, 5.0], 1).method != "periodic"


def test_growth_by_a_factor_goes_on_as_far_as_the_series_has_come():
    made = forecast([100.0, 200.0, 400.0, 800.0], 6)
    assert made.method == "geometric"
    assert made.values == pytest.approx([1600, 3200, 6400, 6400, 6400, 6400])


def test_steps_that_grow_by_the_same_amount_go_on():
    series = [float(1000 + 10 * at + 3 * at * at) for at in range(30)]
    made = forecast(series[:20], 10)
    assert (made.method, made.values) == ("quadratic", pytest.approx(series[20:]))


def test_a_season_may_grow_by_a_step_of_its_own_at_each_place():
    series = [(10 + at) * (4 if at % 5 == 2 else 1) * 1e6 for at in range(36)]
    made = forecast(series[:24], 12)
    assert (made.method, made.values) == ("periodic-slopes", pytest.approx(series[24:]))


def test_a_season_may_grow_by_a_factor():
    series = [1e6 * 1.1 ** (at // 3) * (1 + at % 3) for at in range(24)]
    made = forecast(series[:18], 6)
    assert (made.method, made.values) == ("periodic-growth", pytest.approx(series[18:]))


@given(st.sampled_from([(3, 7), (4, 9), (5, 6), (2, 11)]), st.integers(26, 40))
def test_two_periods_are_told_apart_before_both_have_come_round(periods, count):
    p, q = periods
    series = [1e6 * (1 + (at % p == 1) + 3 * (at % q == 2)) for at in range(count + 20)]
    assert forecast(series[:count], 20).values == pytest.approx(series[count:])


def test_a_rule_is_found_behind_what_was_before():
    before = [3e6, 9e6, 2e6, 7e6, 1e6, 8e6, 2.5e6, 6.1e6]
    after = [5e6 + 1e5 * at for at in range(30)]
    made = forecast(before + after[:20], 10)
    assert (made.method, made.values) == ("tail", pytest.approx(after[20:]))
    assert "18 times" in made.why


def test_spikes_and_missing_files_do_not_hide_a_season():
    series = np.resize([4e6, 6e6, 9e6, 5e6], 48)
    broken = series.copy()
    broken[[5, 17, 30]] = [4e7, 0.0, 1e6]
    made = forecast(broken[:36], 12)
    assert (made.method, made.values) == ("exceptions", pytest.approx(series[36:].tolist()))
    assert "3 exceptions of 36" in made.why


def test_a_spike_right_now_is_an_exception_where_others_have_passed():
    series = [1e6] * 10 + [9e6] + [1e6] * 10 + [9e6]
    assert forecast(series, 3).values == (1e6, 1e6, 1e6)


def test_the_first_value_of_another_size_may_be_a_new_level():
    assert forecast([1e6] * 20 + [2e6], 3).values == (2e6, 2e6, 2e6)
