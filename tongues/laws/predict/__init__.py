"""The predictive distribution of a law: what one more run would end at, and how sure that is."""

from tongues.laws.predict.belief import Belief, Block, Places, learn
from tongues.laws.predict.drift import DriftWalks
from tongues.laws.predict.prediction import Prediction, Predictor, predictor_of, spent
from tongues.laws.predict.prior import Chart, Scale
from tongues.laws.predict.stack import hold_out_compute, leading, weigh_forms

__all__ = [
    "Belief",
    "Block",
    "Chart",
    "DriftWalks",
    "Places",
    "Prediction",
    "Predictor",
    "Scale",
    "hold_out_compute",
    "leading",
    "learn",
    "predictor_of",
    "spent",
    "weigh_forms",
]
