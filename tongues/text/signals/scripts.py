"""The script and the kind of every character, as tables to look code points up in.

`scripts.csv` holds them as ranges of code points, made from Scripts.txt and the general categories
of the Unicode Character Database 18.0.0 (© Unicode, Inc., https://www.unicode.org/license.txt):
they do not depend on the Unicode version that comes with Python. Scripts are ISO 15924 codes.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

__all__ = ["CODE_POINTS", "KINDS", "NO_SCRIPT", "Characters", "characters", "code_points"]

CODE_POINTS = 0x110000
KINDS = ("letter", "mark", "digit", "symbol", "space")
NO_SCRIPT = frozenset({"Zyyy", "Zinh"})  # used by many scripts, or inherited from what is before


@dataclass(frozen=True, slots=True)
class Characters:
    """Classes of characters: each has a script and a kind; `classes` gives each code point's.

    Class 0, of no kind, is for controls, private use and what is not assigned.
    """

    classes: np.ndarray  # uint16, one for each code point
    scripts: np.ndarray  # str, one for each class
    kinds: np.ndarray  # str, one for each class


@cache
def characters() -> Characters:
    """The table of the package."""
    classes = np.zeros(CODE_POINTS, dtype=np.uint16)
    numbers = {("Zyyy", ""): 0}
    with files("tongues.text.signals").joinpath("scripts.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            number = numbers.setdefault((row["script"], row["kind"]), len(numbers))
            classes[int(row["start"], 16) : int(row["end"], 16) + 1] = number
    scripts, kinds = zip(*numbers, strict=True)
    return Characters(classes, np.array(scripts), np.array(kinds))


def code_points(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """All texts as one uint32 array, and where each of them begins in it and the last one ends."""
    joined = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    begins = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=begins[1:])
    return joined, begins
