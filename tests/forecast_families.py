"""Families of series that look like what HPC jobs write, each drawn from a seed.

Half of them, TUNING, served to choose between methods and their constants; VALIDATION only to
check the choice.
"""

import zlib
from collections.abc import Callable

import numpy as np

MIB = 1 << 20

Draw = np.random.Generator
Series = np.ndarray
Family = Callable[[Draw], Series]

TUNING: dict[str, Family] = {}
VALIDATION: dict[str, Family] = {}


def family(half: dict[str, Family]) -> Callable[[Family], Family]:
    def keep(make: Family) -> Family:
        half[make.__name__] = make
        return make

    return keep


def series_of(name: str, make: Family, count: int) -> list[list[float]]:
    """The first `count` series of a family, in whole bytes."""
    draw = np.random.default_rng(zlib.crc32(name.encode()))
    return [np.maximum(np.rint(make(draw)), 0).tolist() for _ in range(count)]


def base(draw: Draw) -> float:
    """Of 1 MiB to 4 GiB."""
    return float(MIB * 2 ** draw.uniform(0, 12))


def length(draw: Draw, low: int = 24, high: int = 97) -> int:
    return int(draw.integers(low, high))


def times(count: int) -> Series:
    return np.arange(float(count))


def noise(draw: Draw, count: int, level: float) -> Series:
    """Factors about 1."""
    return np.exp(level * draw.standard_normal(count))


def every(count: int, period: int, phase: int = 0) -> Series:
    return (np.arange(count) % period == phase).astype(float)


def autoregressive(draw: Draw, count: int, weights: list[float], moving: float = 0.0) -> Series:
    """An ARMA process of standard deviation 1."""
    shocks = draw.standard_normal(count + 100)
    values = np.zeros(count + 100)
    for at in range(len(weights), count + 100):
        past = values[at - len(weights) : at][::-1]
        values[at] = past @ np.array(weights) + shocks[at] + moving * shocks[at - 1]
    return values[100:] / values.std()


def jumps(draw: Draw, count: int, mean_stay: float, low: float, high: float) -> Series:
    """Levels that last a while, each a multiple of the one before."""
    steps = np.where(draw.random(count) < 1 / mean_stay, draw.uniform(low, high, count), 1.0)
    return np.cumprod(steps)


# --- regular


@family(TUNING)
def constant(draw: Draw) -> Series:
    return np.full(length(draw, 4), base(draw))


@family(VALIDATION)
def growing_checkpoint(draw: Draw) -> Series:
    return base(draw) * (1 + draw.uniform(0.005, 0.2) * times(length(draw, 8)))


@family(TUNING)
def shrinking_checkpoint(draw: Draw) -> Series:
    count = length(draw, 8)
    return base(draw) * (1 - draw.uniform(0.3, 0.8) * times(count) / count)


@family(VALIDATION)
def rank_imbalance(draw: Draw) -> Series:
    ranks = int(draw.choice([3, 4, 6, 8, 12, 16]))
    return np.tile(base(draw) * draw.uniform(0.5, 2, ranks), int(draw.integers(4, 9)))


@family(TUNING)
def larger_every_nth(draw: Draw) -> Series:
    count, period = length(draw), int(draw.integers(3, 9))
    return base(draw) * (1 + draw.uniform(1, 6) * every(count, period, int(draw.integers(period))))


@family(VALIDATION)
def two_periods(draw: Draw) -> Series:
    count, short = length(draw, 40), int(draw.integers(2, 5))
    pulses = every(count, short) * draw.uniform(0.5, 2)
    return base(draw) * (1 + pulses + every(count, short + int(draw.integers(1, 5)), 1))


@family(TUNING)
def geometric_growth(draw: Draw) -> Series:
    return base(draw) * (1 + draw.uniform(0.01, 0.06)) ** times(length(draw, 12, 65))


@family(VALIDATION)
def decay_to_floor(draw: Draw) -> Series:
    count = length(draw)
    return base(draw) * (draw.uniform(0.3, 1) + np.exp(-times(count) / draw.uniform(4, count / 3)))


@family(TUNING)
def stairs(draw: Draw) -> Series:
    return base(draw) * (1 + draw.uniform(0.1, 0.6) * (times(length(draw)) // draw.integers(3, 8)))


@family(VALIDATION)
def rotating_log(draw: Draw) -> Series:
    count, period = length(draw), int(draw.integers(4, 12))
    return base(draw) * (1 + draw.uniform(0.1, 0.5) * (times(count) % period))


@family(TUNING)
def first_file_larger(draw: Draw) -> Series:
    values = np.full(length(draw, 8), base(draw))
    values[0] *= draw.uniform(1.5, 5)
    return values


@family(VALIDATION)
def quadratic_growth(draw: Draw) -> Series:
    count = length(draw, 12, 65)
    return base(draw) * (1 + draw.uniform(0.5, 5) * (times(count) / count) ** 2)


@family(TUNING)
def bursts_between_nothing(draw: Draw) -> Series:
    count, period = length(draw), int(draw.integers(2, 7))
    return base(draw) * every(count, period, int(draw.integers(period)))


# --- regular but for noise


@family(TUNING)
def noise_one_percent(draw: Draw) -> Series:
    count = length(draw, 12)
    return base(draw) * noise(draw, count, 0.01)


@family(VALIDATION)
def noise_three_percent(draw: Draw) -> Series:
    count = length(draw, 12)
    return base(draw) * noise(draw, count, 0.03)


@family(TUNING)
def noise_ten_percent(draw: Draw) -> Series:
    count = length(draw, 12)
    return base(draw) * noise(draw, count, 0.1)


@family(VALIDATION)
def noisy_imbalance(draw: Draw) -> Series:
    ranks = int(draw.choice([4, 6, 8]))
    values = np.tile(draw.uniform(0.5, 2, ranks), int(draw.integers(5, 10)))
    return base(draw) * values * noise(draw, len(values), 0.03)


@family(TUNING)
def noisy_every_nth(draw: Draw) -> Series:
    count, period = length(draw), int(draw.integers(3, 9))
    return base(draw) * (1 + draw.uniform(1, 4) * every(count, period)) * noise(draw, count, 0.04)


@family(VALIDATION)
def noisy_two_periods(draw: Draw) -> Series:
    count = length(draw, 48)
    pulses = 1 + 0.8 * every(count, 3, 1) + draw.uniform(0.5, 1.5) * every(count, 7, 2)
    return base(draw) * pulses * noise(draw, count, 0.02)


@family(TUNING)
def noisy_trend(draw: Draw) -> Series:
    count = length(draw, 16)
    return (
        base(draw)
        * (1 + draw.uniform(-0.6, 2) * times(count) / count)
        * noise(draw, count, draw.uniform(0.01, 0.06))
    )


@family(VALIDATION)
def noisy_growth(draw: Draw) -> Series:
    count = length(draw, 16)
    return base(draw) * np.exp(draw.uniform(0, 2) * times(count) / count) * noise(draw, count, 0.03)


@family(TUNING)
def noisy_decay(draw: Draw) -> Series:
    count = length(draw)
    return (
        base(draw)
        * (0.5 + np.exp(-times(count) / draw.uniform(4, count / 2)))
        * noise(draw, count, 0.03)
    )


@family(VALIDATION)
def saturating_growth(draw: Draw) -> Series:
    count = length(draw)
    return (
        base(draw)
        * (1.2 - np.exp(-times(count) / draw.uniform(4, count / 2)))
        * noise(draw, count, 0.02)
    )


@family(TUNING)
def season_and_trend(draw: Draw) -> Series:
    count, period = length(draw, 32), int(draw.integers(3, 9))
    season = np.resize(draw.uniform(0, 0.8, period), count)
    trend = 1 + draw.uniform(0, 1.5) * times(count) / count
    return base(draw) * (trend + season) * noise(draw, count, 0.02)


@family(VALIDATION)
def growing_season(draw: Draw) -> Series:
    count, period = length(draw, 32), int(draw.integers(3, 9))
    season = np.resize(draw.uniform(0.5, 2, period), count)
    return (
        base(draw)
        * season
        * np.exp(draw.uniform(0, 1.2) * times(count) / count)
        * noise(draw, count, 0.02)
    )


@family(TUNING)
def wave(draw: Draw) -> Series:
    count = length(draw, 40)
    angle = 2 * np.pi * (times(count) / draw.uniform(5, 14) + draw.random())
    return base(draw) * (1 + draw.uniform(0.1, 0.4) * np.sin(angle)) * noise(draw, count, 0.02)


@family(VALIDATION)
def noisy_stairs(draw: Draw) -> Series:
    count = length(draw)
    steps = times(count) // draw.integers(4, 9)
    return base(draw) * (1 + draw.uniform(0.1, 0.4) * steps) * noise(draw, count, 0.01)


@family(TUNING)
def alternating_sizes(draw: Draw) -> Series:
    count = length(draw, 12)
    return base(draw) * np.resize([1, draw.uniform(1.5, 4)], count) * noise(draw, count, 0.05)


@family(VALIDATION)
def power_growth(draw: Draw) -> Series:
    count = length(draw)
    return (
        base(draw) * (1 + times(count)) ** draw.choice([0.3, 0.5, 1.5]) * noise(draw, count, 0.01)
    )


@family(TUNING)
def particle_counts(draw: Draw) -> Series:
    return 96 * draw.poisson(draw.uniform(200, 5000), length(draw, 12)).astype(float)


# --- changes


@family(TUNING)
def mesh_jumps(draw: Draw) -> Series:
    count = length(draw)
    return base(draw) * jumps(draw, count, 12, 1.1, 1.6)


@family(VALIDATION)
def noisy_mesh_jumps(draw: Draw) -> Series:
    count = length(draw)
    return base(draw) * jumps(draw, count, 15, 0.7, 1.5) * noise(draw, count, 0.01)


@family(TUNING)
def regime_switch(draw: Draw) -> Series:
    count = length(draw, 12)
    level = np.where(times(count) < count * draw.uniform(0.2, 0.7), 1.0, draw.uniform(0.3, 3))
    return base(draw) * level * noise(draw, count, draw.choice([0, 0.02]))


@family(VALIDATION)
def restart_with_other_rule(draw: Draw) -> Series:
    count = length(draw)
    switch = int(count * draw.uniform(0.3, 0.55))
    before, after = draw.uniform(-0.01, 0.05, 2)
    late = draw.uniform(0.5, 2) * (1 + after * times(count - switch))
    return base(draw) * np.concatenate([1 + before * times(switch), late])


@family(TUNING)
def two_levels_at_random(draw: Draw) -> Series:
    count = length(draw)
    state = np.cumsum(draw.random(count) < 1 / draw.uniform(6, 15)) % 2
    return base(draw) * (1 + draw.uniform(0.2, 1.5) * state) * noise(draw, count, 0.005)


@family(VALIDATION)
def season_moves_up(draw: Draw) -> Series:
    count, period = length(draw, 40), int(draw.integers(3, 7))
    level = np.where(times(count) < count * draw.uniform(0.3, 0.6), 1.0, draw.uniform(0.5, 2.5))
    season = np.resize(draw.uniform(0.6, 1.6, period), count)
    return base(draw) * level * season * noise(draw, count, draw.choice([0, 0.02]))


@family(TUNING)
def warm_up(draw: Draw) -> Series:
    count = length(draw)
    ramp = np.minimum(1, (1 + times(count)) / draw.integers(3, 10))
    return base(draw) * ramp * noise(draw, count, 0.01)


@family(VALIDATION)
def slope_changes(draw: Draw) -> Series:
    count = length(draw, 32)
    slope = np.where(times(count) < count * draw.uniform(0.2, 0.6), *draw.uniform(-0.005, 0.03, 2))
    return base(draw) * (1 + np.cumsum(slope)) * noise(draw, count, 0.005)


# --- correlated


@family(TUNING)
def random_walk(draw: Draw) -> Series:
    count = length(draw)
    return base(draw) * np.exp(np.cumsum(0.015 * draw.standard_normal(count)))


@family(VALIDATION)
def walk_with_drift(draw: Draw) -> Series:
    count = length(draw)
    steps = draw.uniform(-0.01, 0.02) + 0.015 * draw.standard_normal(count)
    return base(draw) * np.exp(np.cumsum(steps))


@family(TUNING)
def slow_return(draw: Draw) -> Series:
    values = autoregressive(draw, length(draw, 48), [draw.uniform(0.6, 0.95)])
    return base(draw) * np.exp(0.08 * values)


@family(VALIDATION)
def pseudo_cycle(draw: Draw) -> Series:
    angle = 2 * np.pi / draw.uniform(5, 14)
    values = autoregressive(draw, length(draw, 48), [1.9 * np.cos(angle), -0.9025])
    return base(draw) * (1 + 0.12 * np.clip(values, -3, 3))


@family(TUNING)
def smoothed_shocks(draw: Draw) -> Series:
    values = autoregressive(draw, length(draw, 48), [-0.5], draw.uniform(0.4, 0.9))
    return base(draw) * np.exp(0.06 * values)


@family(VALIDATION)
def correlated_steps(draw: Draw) -> Series:
    values = np.cumsum(autoregressive(draw, length(draw, 48), [draw.uniform(0.3, 0.7)]))
    return base(draw) * np.exp(0.01 * values)


# --- disturbed


@family(TUNING)
def outliers(draw: Draw) -> Series:
    count = length(draw, 16)
    spikes = np.where(draw.random(count) < 0.07, draw.uniform(2, 8, count), 1.0)
    return base(draw) * spikes * noise(draw, count, draw.choice([0, 0.02]))


@family(VALIDATION)
def outliers_on_a_trend(draw: Draw) -> Series:
    count = length(draw)
    spikes = np.where(draw.random(count) < 0.05, draw.uniform(0.2, 4, count), 1.0)
    return base(draw) * (1 + draw.uniform(0, 0.03) * times(count)) * spikes


@family(TUNING)
def outliers_on_a_season(draw: Draw) -> Series:
    count, period = length(draw, 32), int(draw.integers(3, 8))
    spikes = np.where(draw.random(count) < 0.04, draw.uniform(0.2, 4, count), 1.0)
    return base(draw) * np.resize(draw.uniform(0.6, 2, period), count) * spikes


@family(VALIDATION)
def missing_ranks(draw: Draw) -> Series:
    count = length(draw)
    return base(draw) * (draw.random(count) > 0.05)


@family(TUNING)
def missing_in_a_season(draw: Draw) -> Series:
    count, period = length(draw, 32), int(draw.integers(3, 8))
    return base(draw) * np.resize(draw.uniform(0.6, 2, period), count) * (draw.random(count) > 0.03)


@family(VALIDATION)
def loose_period(draw: Draw) -> Series:
    values = np.ones(length(draw, 32))
    at = 0
    while at < len(values):
        values[at] = 2.0
        at += int(draw.choice([7, 8, 8, 8, 9]))
    return base(draw) * values * noise(draw, len(values), 0.01)


# --- short


@family(TUNING)
def short_noisy(draw: Draw) -> Series:
    count = length(draw, 3, 9)
    return base(draw) * noise(draw, count, 0.03)


@family(VALIDATION)
def short_growing(draw: Draw) -> Series:
    return base(draw) * (1 + draw.uniform(0.02, 0.3) * times(length(draw, 4, 9)))


@family(TUNING)
def short_noisy_growth(draw: Draw) -> Series:
    count = length(draw, 4, 9)
    return base(draw) * (1 + draw.uniform(0.02, 0.2) * times(count)) * noise(draw, count, 0.01)


@family(VALIDATION)
def short_season(draw: Draw) -> Series:
    return base(draw) * np.resize(
        draw.uniform(0.5, 2, int(draw.integers(2, 4))), length(draw, 6, 9)
    )


@family(TUNING)
def short_shift(draw: Draw) -> Series:
    count = length(draw, 4, 9)
    return base(draw) * np.where(times(count) < draw.integers(1, count // 2 + 1), 1.0, 1.7)


@family(VALIDATION)
def short_walk(draw: Draw) -> Series:
    return base(draw) * np.exp(np.cumsum(0.03 * draw.standard_normal(length(draw, 3, 9))))
