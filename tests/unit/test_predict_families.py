"""On families of series that look like jobs the default comes near, and nowhere loses to the last
value."""

import statistics

import pytest
from forecast_families import TUNING, VALIDATION, series_of

from iez_client.predict import forecast, held_out_accuracy

SERIES = 10
FAMILIES = TUNING | VALIDATION


@pytest.fixture(scope="module")
def accuracies():
    """Of the default and of the last value, for each family."""

    def mean(of, predict):
        return statistics.fmean(held_out_accuracy(values, predict) for values in of)

    found = {}
    for name, make in FAMILIES.items():
        drawn = series_of(name, make, SERIES)
        found[name] = (
            mean(drawn, lambda known, horizon: forecast(known, horizon).values),
            mean(drawn, lambda known, horizon: [known[-1]] * horizon),
        )
    return found


def test_there_are_families_enough():
    assert len(TUNING) >= 20 and len(VALIDATION) >= 20
    assert not set(TUNING) & set(VALIDATION)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_default_is_nowhere_much_worse_than_the_last_value(accuracies, name):
    ours, last = accuracies[name]
    assert ours >= last - 0.01


@pytest.mark.parametrize("half", [TUNING, VALIDATION], ids=["tuning", "validation"])
def test_the_default_comes_near_on_the_whole(accuracies, half):
    assert statistics.fmean(accuracies[name][0] for name in half) >= 0.95
