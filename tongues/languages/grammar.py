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

__all__ = [
    "SYNTAX",
    "Grammar",
    "SyntaxTable",
    "Trait",
    "grammar_of",
    "lang2vec_folder",
    "syntax_table",
]
__all__ += ["traits"]

SYNTAX = "S_"  # begins the names of the features that the published clusters of X-ELM come from
# What people ask about a grammar: the name, and the words for features of which the highest holds.
_TRAITS = (
    (
        "order of words",
        {
            "SVO": "subject verb object",
            "SOV": "subject object verb",
            "VSO": "verb subject object",
            "VOS": "verb object subject",
            "OVS": "object verb subject",
            "OSV": "object subject verb",
        },
    ),
    (
        "adpositions",
        {"ADPOSITION_BEFORE_NOUN": "before the noun", "ADPOSITION_AFTER_NOUN": "after the noun"},
    ),
    (
        "adjectives",
        {"ADJECTIVE_BEFORE_NOUN": "before the noun", "ADJECTIVE_AFTER_NOUN": "after the noun"},
    ),
    ("case", {"CASE_SUFFIX": "suffixes", "CASE_PREFIX": "prefixes"}),
    ("tense and aspect", {"TAM_SUFFIX": "suffixes", "TAM_PREFIX": "prefixes"}),
    ("plural", {"PLURAL_SUFFIX": "suffixes", "PLURAL_PREFIX": "prefixes", "PLURAL_WORD": "a word"}),
    ("gender", {"GENDER_MARK": "marked"}),
    ("definiteness", {"DEFINITE_WORD": "a word", "DEFINITE_AFFIX": "an affix"}),
)


@dataclass(frozen=True, slots=True)
class SyntaxTable:
    """lang2vec's syntax features: rows by ISO code; values 0 to 1, NaN in `known` where unknown."""

    names: tuple[str, ...]
    rows: dict[str, int]
    known: np.ndarray
    predicted: np.ndarray


@dataclass(frozen=True, slots=True)
class Grammar:
    """The syntax features of a language, each filled where it is not known.

    filled: `predicted` by lang2vec from family, place and other features, or `family`, the mean of
    the nearest relatives it has, for a language that it does not have.
    """

    names: tuple[str, ...]
    values: np.ndarray
    known: np.ndarray
    filled: str

    def distance(self, other: "Grammar") -> float:
        """Mean difference of the features, 0 to 1."""
        return float(np.abs(self.values - other.values).mean())


@dataclass(frozen=True, slots=True)
class Trait:
    """What a grammar does: `case`, `suffixes`; source: `known`, `predicted` or `family`."""

    name: str
    value: str
    source: str


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
    return Grammar(table.names, values, known, "predicted")


def traits(grammar: Grammar) -> tuple[Trait, ...]:
    """What people ask about a grammar first."""
    found = []
    for name, words in _TRAITS:
        places = [grammar.names.index(feature) for feature in words]
        best = max(places, key=lambda place: (grammar.values[place], grammar.known[place]))
        value = list(words.values())[places.index(best)] if grammar.values[best] >= 0.5 else "none"
        known = all(grammar.known[place] for place in ([best] if value != "none" else places))
        found.append(Trait(name, value, "known" if known else grammar.filled))
    return tuple(found)


def _of_family(language: Language, table: SyntaxTable) -> Grammar | None:
    for depth in range(len(language.family), 0, -1):
        codes = {other.code for other in languages(family=language.family[:depth])}
        if rows := [table.rows[code] for code in codes if code in table.rows]:
            values = table.predicted[rows].mean(axis=0)
            return Grammar(table.names, values, np.zeros(len(values), bool), "family")
    return None
