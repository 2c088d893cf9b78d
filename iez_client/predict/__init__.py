"""Predict (AIPA): the write bytes of earlier files in, those of the next ones out.

    forecast(values, horizon) -> Forecast
    forecast_many(series, horizon) -> list[Forecast]

It is pure: no file, socket, clock or random number. docs/predict.md says how it works.
"""

from iez_client.predict.batch import METHODS, forecast, forecast_many
from iez_client.predict.measure import accuracy, held_out_accuracy
from iez_client.predict.record import Forecast, Method, Score

__all__ = [
    "METHODS", "Forecast", "Method", "Score", "accuracy", "forecast",
    "forecast_many", "held_out_accuracy",
]  # fmt: skip
