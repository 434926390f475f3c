"""The predictive distribution of a law: what one more run would end at, and how sure that is."""

from tongues.laws.predict.belief import Belief, Block, Foreknown, Places, learn
from tongues.laws.predict.drift import DriftWalks
from tongues.laws.predict.prediction import Prediction, Predictor, predictor_of, spent
from tongues.laws.predict.prior import Chart, Scale
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
    "Belief",
    "Block",
    "Chart",
    "DriftWalks",
    "Foreknown",
    "Known",
    "Places",
    "Prediction",
    "Predictor",
    "Scale",
    "hold_out_compute",
    "last_held_out",
    "leading",
    "learn",
    "predictor_of",
    "spent",
    "weigh_forms",
]
