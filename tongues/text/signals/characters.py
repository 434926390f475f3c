"""The script and kind of every character, and what the characters and lines of a document are like.

`scripts.csv` holds them as ranges of code points, made from Scripts.txt and the general categories
of the Unicode Character Database 18.0.0 (© Unicode, Inc., https://www.unicode.org/license.txt):
they do not depend on the Unicode version that comes with Python. Scripts are ISO 15924 codes.
Marks in place of spaces, such as Tibetan's between syllables, are spaces.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

CODE_POINTS = 0x110000  # of Unicode
SHARED_SCRIPTS = frozenset(
    {"Zyyy", "Zinh"}
)  # used by many scripts, or inherited from what is before
_JAPANESE = ("Hani", "Hira", "Kana")
_KANA = 0.1  # of its kana and Han together from which a document is Japanese


@dataclass(frozen=True, slots=True)
class Characters:
    """Classes of characters: each has a script and a kind; `classes` gives each code point's.

    Class 0, of no kind, is for controls, private use and what is not assigned.
    """

    classes: np.ndarray  # uint16, one for each code point
    scripts: np.ndarray  # str, one for each class
    kinds: np.ndarray  # letter, mark, digit, symbol or space, one for each class


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


@cache
def script_of(character: str) -> str | None:
    """ISO 15924 code of a letter's or mark's script; None of another character."""
    table, code = characters(), ord(character)
    of = table.classes[code] if code < CODE_POINTS else 0
    return str(table.scripts[of]) if table.kinds[of] in ("letter", "mark") else None


def code_points(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """All texts as one uint32 array, and where each of them begins in it and the last one ends."""
    joined = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4")
    begins = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=begins[1:])
    return joined, begins


def character_signals(texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Measure every text; an array for each signal.

    Returns
    -------
    characters: their number.
    repeated_lines: share of the characters of lines that repeat an earlier line.
    digits, symbols: shares of the characters other than spaces; punctuation is among the symbols.
    script: ISO 15924 code of most letters, `Jpan` for Han with kana, `Zyyy` without letters.
    script_share: its share of the letters that belong to a script.
    """
    table = characters()
    codes, begins = code_points(texts)
    counts, classes = _count(table.classes[codes], begins)
    kinds = table.kinds[classes]
    spoken = np.isin(kinds, ("letter", "mark"))
    written = counts[:, kinds != "space"].sum(axis=1)
    script, script_share = _scripts(counts[:, spoken], table.scripts[classes[spoken]])
    return {
        "characters": np.diff(begins).astype(np.uint32),
        "repeated_lines": _repeated_lines(texts),
        "digits": _share(counts[:, kinds == "digit"].sum(axis=1), written),
        "symbols": _share(counts[:, kinds == "symbol"].sum(axis=1), written),
        "script": script,
        "script_share": script_share,
    }


def _count(classes: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    present = np.flatnonzero(np.bincount(classes, minlength=1))
    place = np.zeros(present[-1] + 1 if len(present) else 1, dtype=np.int64)
    place[present] = np.arange(len(present))
    texts, width = len(begins) - 1, len(present)
    cells = place[classes] + np.repeat(np.arange(texts) * width, np.diff(begins))
    return np.bincount(cells, minlength=texts * width).reshape(texts, width), present


def _scripts(counts: np.ndarray, scripts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    names = sorted({*scripts, "Jpan"} - SHARED_SCRIPTS)
    letters = np.stack([counts[:, scripts == name].sum(axis=1) for name in names], axis=1)
    parts = [names.index(name) for name in _JAPANESE if name in names]
    kana = letters[:, [part for part in parts if names[part] != "Hani"]].sum(axis=1)
    both = letters[:, parts].sum(axis=1)
    japanese = (kana > 0) & (kana >= _KANA * both)
    letters[japanese, names.index("Jpan")] = both[japanese]
    letters[np.ix_(japanese, parts)] = 0
    most = letters.argmax(axis=1)
    total = letters.sum(axis=1)
    script = np.where(total > 0, np.array(names, dtype="<U4")[most], "Zyyy")
    return script, _share(letters[np.arange(len(most)), most], total)


def _repeated_lines(texts: Sequence[str]) -> np.ndarray:
    length = np.zeros(len(texts), dtype=np.int64)
    repeated = np.zeros(len(texts), dtype=np.int64)
    for i, text in enumerate(texts):
        lines = [line for line in text.split("\n") if line and not line.isspace()]
        length[i] = sum(map(len, lines))
        once = set(lines)
        if len(once) < len(lines):
            repeated[i] = length[i] - sum(map(len, once))
    return _share(repeated, length)


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return (part / np.maximum(whole, 1)).astype(np.float32)
