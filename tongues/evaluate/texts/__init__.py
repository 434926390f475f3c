"""Losses on text: documents of every language, windows over them, and what they cost a model.

What brings torch is imported by name where it is needed: `scored`.
"""

from tongues.evaluate.texts.losses import (
    DocumentLosses,
    Reading,
    bits_per_segment,
    mean_losses,
    spelling_cautions,
)
from tongues.evaluate.texts.source import read_texts
from tongues.evaluate.texts.windows import Policy, Window, resolved, windows

__all__ = [
    "DocumentLosses",
    "Policy",
    "Reading",
    "Window",
    "bits_per_segment",
    "mean_losses",
    "read_texts",
    "resolved",
    "spelling_cautions",
    "windows",
]
