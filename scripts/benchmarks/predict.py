"""Predict: how near forecasts come on families of series, and how long they take beside the grid of
statsmodels fits, the paper's method, on the same series."""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from bench import note, report
from workers import pin

from iez_client.predict import accuracy, forecast, forecast_many
from iez_client.predict.arima import load

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))

from forecast_families import MIB, TUNING, VALIDATION, Family, autoregressive, series_of

SERIES = 40  # of each family
MANY = 100_000
VALUES, HORIZON = 36, 12  # of the many
CORRELATED = 3  # series for which the grid is timed, and of regular ones as many


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def regular_series(count: int) -> list[list[float]]:
    """Constant, growing by equal steps, or with a period of 4, in equal parts."""
    draw = np.random.default_rng(1)
    first = MIB * draw.integers(1, 4096, (count, 1)).astype(float)
    steps = np.select(
        [np.arange(count)[:, None] % 3 == kind for kind in range(3)],
        [np.zeros(VALUES), np.arange(VALUES), np.arange(VALUES) % 4],
    )
    return (first * (1 + steps / 8)).tolist()


def correlated_series() -> list[list[float]]:
    """For which `auto` takes ARIMA: cycles of no whole length with shocks."""
    draw = np.random.default_rng(2)
    found: list[list[float]] = []
    while len(found) < CORRELATED:
        angle = 2 * np.pi / draw.uniform(5, 9)
        shape = autoregressive(draw, 72, [1.9 * np.cos(angle), -0.9025])
        values = np.rint(64 * MIB * (1 + 0.1 * shape)).tolist()
        if forecast(values, 24).method == "arima":
            found.append(values)
    return found


def speed() -> None:
    """Both on one core, so that the number of cores says nothing; statsmodels is loaded already."""
    pin()
    load()
    many = regular_series(MANY)
    forecast_many(many[:100], HORIZON)
    each_s = statistics.median(timed(lambda: forecast_many(many, HORIZON)) for _ in range(5)) / MANY
    report("predict.regular_1e5_s", each_s * MANY, "s")
    note("the grid on regular series")
    grid_s = [timed(lambda: forecast(values, HORIZON, "paper")) for values in many[:CORRELATED]]  # noqa: B023
    report("predict.grid_regular_s", statistics.median(grid_s), "s")
    report("predict.speedup_regular", statistics.median(grid_s) / each_s, "times")
    one_s = statistics.median(timed(lambda: forecast(many[1], HORIZON)) for _ in range(99))
    report("predict.speedup_regular_single", statistics.median(grid_s) / one_s, "times")
    note("the grid on series that need ARIMA")
    ratios, ours, grid = [], [], []
    for values in correlated_series():
        ours.append(statistics.median(timed(lambda: forecast(values, 24)) for _ in range(9)))  # noqa: B023
        grid.append(timed(lambda: forecast(values, 24, "paper")))  # noqa: B023
        ratios.append(grid[-1] / ours[-1])
    report("predict.arima_s", statistics.median(ours), "s")
    report("predict.grid_arima_s", statistics.median(grid), "s")
    report("predict.speedup_arima", statistics.median(ratios), "times")


def family_accuracy(name: str, make: Family) -> tuple[float, float, float]:
    """Of the default, of the last value; and what part of the truth its interval holds."""
    ours, stay, inside = [], [], []
    for values in series_of(name, make, SERIES):
        known = len(values) * 3 // 4
        actual = values[known:]
        made = forecast(values[:known], len(actual))
        ours.append(accuracy(actual, made.values))
        stay.append(accuracy(actual, [values[known - 1]] * len(actual)))
        within = zip(made.low, actual, made.high, strict=True)
        inside.append(statistics.fmean(low - 1 <= value <= high + 1 for low, value, high in within))
    return statistics.fmean(ours), statistics.fmean(stay), statistics.fmean(inside)


def nearness() -> None:
    means, gains, inside = [], [], []
    for half, families in (("tuning", TUNING), ("validation", VALIDATION)):
        note(f"{len(families)} families, {half}")
        own = [family_accuracy(name, make) for name, make in families.items()]
        for name, (ours, stay, _) in zip(families, own, strict=True):
            report(f"predict.accuracy.{name}", ours, "ratio")
            report(f"predict.last_value.{name}", stay, "ratio")
        report(f"predict.mean_accuracy_{half}", statistics.fmean(each[0] for each in own), "ratio")
        means += [each[0] for each in own]
        gains += [each[0] - each[1] for each in own]
        inside += [each[2] for each in own]
    report("predict.coverage", statistics.fmean(inside), "ratio")
    report("predict.mean_accuracy", statistics.fmean(means), "ratio")
    report("predict.worst_vs_last", min(gains), "difference")


def main() -> None:
    nearness()
    speed()


if __name__ == "__main__":
    main()
