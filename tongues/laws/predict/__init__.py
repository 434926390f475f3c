"""The predictive distribution of a law: what one more run would end at, and how sure that is."""

from tongues.laws.predict.belief import Belief, Block, Places, learn
from tongues.laws.predict.drift import DriftWalks
from tongues.laws.predict.prediction import Prediction, Predictor, predictor_of
from tongues.laws.predict.prior import Chart, Scale

__all__ = [
    "Belief",
    "Block",
    "Chart",
    "DriftWalks",
    "Places",
    "Prediction",
    "Predictor",
    "Scale",
    "learn",
    "predictor_of",
]
