"""Record: a forecast, and what every method of making one has in common."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from iez_common.errors import IezError

Values = NDArray[np.float64]


class ForecastError(IezError):
    """A series or a method that makes no sense."""

    exit_code = 65


@dataclass(frozen=True, slots=True)
class Score:
    """How a method did on the series itself."""

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
    scores: tuple[Score, ...] = ()  # all methods that were compared, best first


class Method(Protocol):
    """A way to continue a series. It may be asked for any beginning of it."""

    name: str

    def __call__(self, values: Values, horizon: int) -> Values | None:
        """The next values; None: the series is too short or not of this kind."""
