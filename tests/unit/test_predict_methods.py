"""Each method does what it is for."""

import numpy as np
import pytest
from forecast_families import autoregressive

from iez_client.predict import accuracy, forecast
from iez_client.predict.arima import fit
from iez_client.predict.arma import quick_fit
from iez_client.predict.grid import ORDERS, least_rmse, paper
from iez_client.predict.level import best_level, last_shift
from iez_client.predict.season import period_of


def noisy(shape, level=0.02, seed=0):
    draw = np.random.default_rng(seed)
    return np.asarray(shape) * (1 + level * draw.standard_normal(len(shape)))


def test_the_best_level_has_the_least_percentage_error():
    values = np.array([1.0, 1.0, 10.0, 10.0, 10.0])
    # 10 would be nine times too much, which counts as once: 2 of 5; 1 is nine tenths off 3 times.
    assert best_level(values) == 10.0
    assert best_level(np.array([2.0, 3.0, 3.0, 900.0])) == 3.0


def test_a_shift_of_the_level_is_found_and_a_spike_is_none():
    shifted = noisy([1e6] * 20 + [2e6] * 12)
    assert abs(last_shift(shifted) - 20) <= 1
    spiked = noisy([1e6] * 32)
    spiked[20] = 5e6
    assert last_shift(spiked) == 0


def test_the_new_level_is_expected_after_a_shift():
    series = noisy([1e6] * 20 + [2e6] * 16)
    made = forecast(series, 8, "shift")
    assert made.values == pytest.approx([2e6] * 8, rel=0.02)


@pytest.mark.parametrize("period", [2, 3, 5, 8, 12])
def test_a_period_is_found_in_noise_and_under_a_trend(period):
    season = np.resize(np.linspace(1, 2, period), 6 * period)
    assert period_of(noisy(season * 1e6)) == period
    assert period_of(noisy(1e6 * (season + np.arange(len(season)) / 20))) == period


def test_noise_has_no_period():
    found = [period_of(noisy([1e6] * 48, 0.1, seed)) for seed in range(40)]
    assert found.count(0) >= 34


@pytest.mark.parametrize(
    ("method", "shape"),
    [
        ("level", lambda at: 1e6 + 0 * at),
        ("line", lambda at: 1e6 * (1 + at / 20)),
        ("growth", lambda at: 1e6 * 1.03**at),
        ("curve", lambda at: 1e6 * (0.5 + np.exp(-at / 9))),
        ("damped", lambda at: 1e6 * (2 - 0.9**at)),
        ("seasonal-last", lambda at: 1e6 * (1 + at % 5)),
        ("seasonal-level", lambda at: 1e6 * (1 + at % 5)),
        ("seasonal-line", lambda at: 1e6 * (1 + at % 5 + at / 10)),
        ("seasonal-shift", lambda at: 1e6 * (1 + at % 5) * np.where(at < 20, 1, 2)),
        ("seasonal-trend", lambda at: 1e6 * (1 + at % 5) * (1 + at / 30)),
        ("seasonal-growth", lambda at: 1e6 * (1 + at % 5) * 1.03**at),
        ("two-seasons", lambda at: 1e6 * (1 + (at % 4 == 0) + 2 * (at % 9 == 1))),
        ("arima", lambda at: 1e6 * (2 + np.sin(at))),
    ],
)
def test_each_method_continues_what_it_is_for(method, shape):
    at = np.arange(60.0)
    made = forecast(noisy(shape(at[:48]), 0.004), 12, method)
    assert made.method == method
    assert accuracy(shape(at[48:]), made.values) > 0.97


def test_a_method_that_cannot_be_used_says_so():
    made = forecast([5.0, 1.0, 4.0], 2, "seasonal-last")
    assert (made.method, made.values) == ("last", (4.0, 4.0))
    assert "seasonal-last cannot be used" in made.why


def test_markov_follows_states_that_follow_each_other():
    series = [1.0, 2.0, 3.0] * 8
    assert forecast(series, 4, "markov").values == (1.0, 2.0, 3.0, 1.0)


def test_markov_stays_where_states_stay():
    assert forecast([1.0] * 9 + [5.0] * 9, 2, "markov").values == (5.0, 5.0)


def test_the_quick_fit_finds_the_weights_of_a_process():
    draw = np.random.default_rng(1)
    found = quick_fit(autoregressive(draw, 600, [1.2, -0.6]) + 50)
    assert found is not None and found.order[1] == 0
    assert found.of_values[:2] == pytest.approx([1.2, -0.6], abs=0.12)


@pytest.mark.parametrize("spread", [0.0, 1e-12, 1e-9, 1e-5])
def test_the_quick_fit_copes_with_values_that_hardly_differ(spread):
    draw = np.random.default_rng(8)
    series = 1e9 * (1 + spread * draw.standard_normal(40))
    series[-1] *= 1.001
    assert forecast(series, 3, "arima").values == pytest.approx([1e9] * 3, rel=1e-2)


def test_auto_takes_arima_where_values_are_correlated():
    draw = np.random.default_rng(4)
    taken = []
    for _ in range(6):
        shape = autoregressive(draw, 96, [1.9 * np.cos(0.9), -0.95])
        taken.append(forecast(1e8 * (1 + 0.1 * shape), 8).method)
    assert taken.count("arima") >= 4


def test_auto_keeps_to_the_last_value_on_random_walks():
    draw = np.random.default_rng(6)
    walks = np.exp(np.cumsum(0.02 * draw.standard_normal((20, 40)), axis=1)) * 1e8
    taken = [forecast(walk, 10).method for walk in walks]
    assert taken.count("last") >= 12


def test_a_fit_does_not_depend_on_the_unit():
    draw = np.random.default_rng(2)
    series = 3 + autoregressive(draw, 60, [0.7])
    small, large = fit(series, (1, 0, 1), 3), fit(series * 2.0**33, (1, 0, 1), 3)
    assert small is not None and large is not None
    assert large.values / 2.0**33 == pytest.approx(small.values)
    assert large.rmse == pytest.approx(small.rmse)


GRID = [(0, 0, 0), (1, 0, 0), (0, 1, 1), (2, 1, 0)]


def test_the_paper_takes_the_order_of_least_rmse():
    draw = np.random.default_rng(3)
    series = 1e8 * (1 + 0.1 * autoregressive(draw, 48, [0.8]))
    told = []
    made = paper(series, 4, GRID, lambda done, of: told.append((done, of)))
    fits = [fit(series, order, 4) for order in GRID]
    best = least_rmse(fits)
    assert best is not None and best.rmse == min(each.rmse for each in fits if each.converged)
    assert made.method == "paper"
    assert f"ARIMA{best.order}" in made.why
    assert made.values == pytest.approx(best.values)
    assert told == [(done, len(GRID)) for done in range(1, len(GRID) + 1)]


def test_the_paper_skips_fits_that_fail():
    series = np.array([5e6, 7e6, 6e6])
    assert fit(series, (5, 0, 5), 2) is None or not fit(series, (5, 0, 5), 2).converged
    made = paper(series, 2, [(5, 0, 5), (0, 0, 0)])
    assert "1 fits failed" in made.why
    assert made.values == pytest.approx([6e6, 6e6], rel=1e-3)


def test_the_paper_stays_at_the_last_value_where_no_fit_ends():
    made = paper(np.array([5e6, 7e6, 6e6]), 2, [(5, 0, 5)])
    assert (made.method, made.values) == ("last", (6e6, 6e6))


@pytest.mark.full
def test_the_whole_grid_has_216_orders():
    draw = np.random.default_rng(3)
    made = forecast(1e8 * (1 + 0.1 * autoregressive(draw, 30, [0.8])), 4, "paper")
    assert len(ORDERS) == 216
    assert "of 216 orders" in made.why
