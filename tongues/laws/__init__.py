"""Scaling laws: fit them to runs, know how sure they are, and spend compute by them."""

from tongues.laws.allocation import Allocation, allocate
from tongues.laws.cautions import Caution
from tongues.laws.envelope import (
    Power,
    envelope,
    fit_power,
    implied_saving,
    implied_saving_interval,
)
from tongues.laws.fit import fit_cpt, fit_scratch
from tongues.laws.law import Law
from tongues.laws.transfer import Curve, Saving, Savings, saved_at_end, savings

__all__ = [
    "Allocation",
    "Caution",
    "Curve",
    "Law",
    "Power",
    "Saving",
    "Savings",
    "allocate",
    "envelope",
    "fit_cpt",
    "fit_power",
    "fit_scratch",
    "implied_saving",
    "implied_saving_interval",
    "saved_at_end",
    "savings",
]
