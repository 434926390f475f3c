"""Grammar: the syntax features of lang2vec, known or predicted, where it is installed.

lang2vec's data is under CC BY-SA 4.0 and is not part of this package; only its arrays are read.
"""

from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

from tongues.languages.catalogue import languages
from tongues.languages.language import Language

SYNTAX = "S_"  # begins the names of the features that the published clusters of X-ELM come from


@dataclass(frozen=True, slots=True)
class SyntaxTable:
    """lang2vec's syntax features: rows by ISO code; values 0 to 1, NaN in `known` where unknown."""

    names: tuple[str, ...]
    rows: dict[str, int]
    known: np.ndarray
    predicted: np.ndarray


@dataclass(frozen=True, slots=True)
class Grammar:
    """The syntax features of a language.

    What is not known is predicted by lang2vec from family, place and other features; for a language
    that it does not have, all are the mean of the nearest relatives it has.
    """

    values: np.ndarray
    known: np.ndarray

    def distance(self, other: "Grammar") -> float:
        """Mean difference of the features, 0 to 1."""
        return float(np.abs(self.values - other.values).mean())


@cache
def lang2vec_folder() -> Path | None:
    """The folder of lang2vec's data; the package cannot be imported with a new setuptools."""
    try:
        folder = Path(str(distribution("lang2vec").locate_file("lang2vec/data")))
    except PackageNotFoundError:
        return None
    return folder if folder.is_dir() else None


@cache
def syntax_table(folder: Path) -> SyntaxTable:
    """The features in a folder of lang2vec's data."""
    with np.load(folder / "feature_averages.npz") as data:
        chosen = np.char.startswith(data["feats"], SYNTAX)
        names = tuple(name.removeprefix(SYNTAX) for name in data["feats"][chosen].tolist())
        known = data["data"][:, chosen, 0]
        rows = {code: row for row, code in enumerate(data["langs"].tolist())}
    with np.load(folder / "feature_predictions.npz") as data:
        places = {code: row for row, code in enumerate(data["langs"].tolist())}
        predicted = data["data"][[places[code] for code in rows]][:, chosen, 0]
    return SyntaxTable(names, rows, np.where(known < 0, np.nan, known), predicted)


@cache
def grammar_of(language: Language) -> Grammar | None:
    """What lang2vec has of a language under any of its codes; None where it is not installed."""
    folder = lang2vec_folder()
    if folder is None:
        return None
    table = syntax_table(folder)
    rows = [table.rows[c] for c in (language.code, *language.other_codes) if c in table.rows]
    if not rows:
        return _of_family(language, table)
    row = max(rows, key=lambda row: np.isfinite(table.known[row]).sum())
    known = np.isfinite(table.known[row])
    values = np.where(known, table.known[row], table.predicted[row])
    return Grammar(values, known)


def _of_family(language: Language, table: SyntaxTable) -> Grammar | None:
    for depth in range(len(language.family), 0, -1):
        codes = {other.code for other in languages(family=language.family[:depth])}
        if rows := [table.rows[code] for code in codes if code in table.rows]:
            values = table.predicted[rows].mean(axis=0)
            return Grammar(values, np.zeros(len(values), bool))
    return None
