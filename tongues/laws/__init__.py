"""Scaling laws: fit them to runs, know how sure they are, and spend compute by them."""

from tongues.laws.compare import LawComparison, compare
from tongues.laws.fit import fit
from tongues.laws.forms import FORMS
from tongues.laws.law import Allocation, Law, allocate
from tongues.laws.predict import Prediction, Predictor
from tongues.laws.presets import PRESETS, preset, read_laws_file
from tongues.laws.rows import HoldOut
from tongues.laws.transfer import Curve, Saving, savings

__all__ = [
    "FORMS",
    "PRESETS",
    "Allocation",
    "Curve",
    "HoldOut",
    "Law",
    "LawComparison",
    "Prediction",
    "Predictor",
    "Saving",
    "allocate",
    "compare",
    "fit",
    "preset",
    "read_laws_file",
    "savings",
]
