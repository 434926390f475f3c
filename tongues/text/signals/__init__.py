"""What is measured of every document before anything is decided."""

from tongues.text.signals.benchmarks import Benchmarks, load_benchmarks
from tongues.text.signals.builtin import NEAR, garbled
from tongues.text.signals.close import counts_as, large_others, own_label, same_language
from tongues.text.signals.language import Identifier, load_identifier
from tongues.text.signals.near import BANDS, SIGNATURE
from tongues.text.signals.signal import (
    KEPT,
    LIMIT,
    SIGNALS,
    Batch,
    Rule,
    Signal,
    in_order,
    reasons,
    signals_in,
)

__all__ = ["BANDS", "KEPT", "LIMIT", "NEAR", "SIGNALS", "SIGNATURE", "Batch", "Benchmarks"]
__all__ += ["Identifier", "Rule", "Signal", "garbled", "in_order", "load_benchmarks"]
__all__ += ["load_identifier", "reasons", "same_language", "signals_in"]
__all__ += ["counts_as", "large_others", "own_label"]
