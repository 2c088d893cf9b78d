"""Record: a forecast, and what all methods of making one have in common."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Continue = Callable[[Values, int], Values | None]


@dataclass(frozen=True, slots=True)
class Score:
    """How a method would have done on the series itself."""

    method: str
    error: float  # mean absolute percentage error over rolling origins, each at most 1
    reason: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a series is expected to continue with."""

    values: tuple[float, ...]
    method: str
    low: tuple[float, ...]  # from low to high: where nine values of ten are expected
    high: tuple[float, ...]
    error: float  # rolling error of the method; 0: exact so far
    why: str
    scores: tuple[Score, ...] = ()  # of all methods that were compared, best first


class Method(Protocol):
    """A way to continue a series."""

    @property
    def name(self) -> str: ...

    @property
    def freedom(self) -> float:
        """How much it can bend to fit: the more, the clearer it must win."""

    def __call__(self, values: Values, horizon: int) -> Values | None:
        """The next values; None: the series is too short, or not of this kind."""


@dataclass(frozen=True, slots=True)
class Named:
    """A function as a Method."""

    name: str
    freedom: float
    go_on: Continue

    def __call__(self, values: Values, horizon: int) -> Values | None:
        return self.go_on(values, horizon)


def named(name: str, freedom: float) -> Callable[[Continue], Named]:
    return lambda go_on: Named(name, freedom, go_on)
