"""The predictive distribution of a law: what one more run would end at, and how sure that is."""

from tongues.laws.predict.prediction import Prediction, Predictor, predictor_of, spent
from tongues.laws.predict.stack import (
    STACKED,
    Known,
    hold_out_compute,
    last_held_out,
    leading,
    weigh_forms,
)

__all__ = [
    "STACKED",
    "Known",
    "Prediction",
    "Predictor",
    "hold_out_compute",
    "last_held_out",
    "leading",
    "predictor_of",
    "spent",
    "weigh_forms",
]
