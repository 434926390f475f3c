"""What is measured of every document before anything is decided."""

from tongues.text.signals.benchmarks import Benchmarks, load_benchmarks
from tongues.text.signals.characters import character_signals
from tongues.text.signals.language import Identifier, load_identifier, same_language
from tongues.text.signals.near import BANDS, SIGNATURE, near_signals
from tongues.text.signals.units import units

__all__ = [
    "BANDS",
    "SIGNATURE",
    "Benchmarks",
    "Identifier",
    "character_signals",
    "load_benchmarks",
    "load_identifier",
    "near_signals",
    "same_language",
    "units",
]
