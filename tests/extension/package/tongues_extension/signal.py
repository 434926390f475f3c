"""A signal with a threshold, and one by which copies are found."""

from typing import Literal

import numpy as np

from tongues.text.signals import Batch, Rule, Signal


def _capitals(batch: Batch) -> list[float]:
    return [sum(map(str.isupper, text)) / max(len(text), 1) for text in batch.texts]


def _titles(batch: Batch) -> np.ndarray:
    """A number for the first line; other lines do not matter."""
    lines = [text.partition("\n")[0].encode() for text in batch.texts]
    return np.array([int.from_bytes(line[-8:], "little") for line in lines], np.uint64)


CAPITALS = Signal(
    "capitals",
    "share of capital letters",
    _capitals,
    rule=Rule("shouting", "more than {} of it is capital letters", default=0.3),
)
TITLE = Signal(
    "title",
    "a hash of the first line",
    _titles,
    "uint64",
    Rule("same title", "begins like another", "one of each", "on", Literal["on"]),
)
