"""Donors: the languages whose model, expert or text helps most to learn another.

Transfer scores of ATLAS (arXiv 2510.22037) are the measure: what half of a text in the donor is
worth to a model of the target. 1: as much as text of the target; 0: only what it dilutes; below:
it interferes. 290 pairs are read off its figure; a ridge of kinship, shared n-grams of bytes,
grammar and an effect of each measured donor forecasts the others (benchmarks/donors.py).
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from tongues.errors import UserError
from tongues.estimate import Estimate
from tongues.languages.catalogue import find_language, languages, unpack
from tongues.languages.grammar import grammar_of
from tongues.languages.language import Language

# Penalties of a weight and of a donor's effect, in rows: from 1 to 10 the ranking is as good.
_WEIGHT, _EFFECT = 3.0, 3.0
# Standard deviations of a forecast for targets left out, of donors measured on other targets and of
# donors left out too: benchmarks/donors.txt.
SPREAD = {True: 0.110, False: 0.128}
_ROUNDING = 0.05  # of a score that was read off a figure
_PLENTY = 1e8  # bytes of text from which a language is offered as a donor
_ALIKE = 0.85  # n-grams shared: Danish and Norwegian 0.88, Czech and Slovak 0.80
_Z = 2.26  # of Student's t: ten targets

Scores = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Donor:
    """A language to start from, and the evidence.

    score: the transfer score; measured: by ATLAS, else a forecast. kinship: of the families, 0 to
    1. overlap: of the n-grams of bytes that py3langid knows, 0 to 1. grammar: mean difference of
    lang2vec's syntax features, 0 to 1. None where the languages are not in the data.
    """

    language: Language
    score: Estimate
    measured: bool
    same_script: bool
    kinship: float
    overlap: float | None
    grammar: float | None


@dataclass(frozen=True, slots=True)
class TransferModel:
    """A ridge of transfer scores: level + weights · (features - centre) / scale + donor's effect.

    fill: coefficients by which a missing overlap and a missing grammar are filled.
    """

    level: float
    centre: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    effects: Mapping[str, float]
    fill: tuple[np.ndarray, np.ndarray]

    def forecast(self, target: Language, donors: Sequence[Language]) -> np.ndarray:
        """A score of each donor for the target."""
        features = (_features([(target, donor) for donor in donors], self.fill) - self.centre) / (
            self.scale
        )
        effects = np.array([self.effects.get(donor.tag, 0.0) for donor in donors])
        return self.level + features @ self.weights + effects


def rank_donors(
    target: Language, candidates: Sequence[Language] | None = None, count: int | None = None
) -> tuple[Donor, ...]:
    """Donors for a target, the best first; without candidates among all with 100 MB of text."""
    if candidates is None:
        candidates = languages(min_text=_PLENTY)
    candidates = [of for of in candidates if of.tag != target.tag]
    if not candidates:
        return ()
    scores, model = measured_transfer(), _model()
    donors = []
    for donor, forecast in zip(candidates, model.forecast(target, candidates), strict=True):
        measured = scores.get((target.tag, donor.tag))
        known = donor.tag in model.effects
        value, half = float(forecast), _Z * SPREAD[known]
        how = f"ridge on {len(scores)} pairs of ATLAS; spread of targets left out"
        if measured is not None:
            value, half, how = measured, _ROUNDING, "ATLAS, read off a figure at one decimal"
        score = Estimate(value, value - half, value + half, "transfer score", method=how)
        shared = (target.script == donor.script, target.kinship(donor))
        pair = (_overlap(target, donor), _grammar(target, donor))
        donors.append(Donor(donor, score, measured is not None, *shared, *pair))
    donors.sort(key=lambda donor: (-donor.score.value, -(donor.overlap or 0.0), donor.language.tag))
    return tuple(donors[:count])


def best_donor(target: str, candidates: Sequence[str], where: str = "") -> str:
    """The candidate with the highest transfer score; tags or names, as `find_language` has them.

    A UserError about `where` for a language that the catalogue does not have, or no candidate.
    """
    by_tag = {find_language(name, where).tag: name for name in candidates}
    ranked = rank_donors(find_language(target, where), [find_language(tag) for tag in by_tag])
    if not ranked:
        what = f"there is no other language that could be a donor of `{target}`"
        raise UserError(what, where=where, hint="name its donor, or choose by `loss`")
    return by_tag[ranked[0].language.tag]


def confusable_languages(language: Language) -> tuple[Language, ...]:
    """Relatives that share at least 85 % of the n-grams of bytes: identification may mix them up.

    Only of languages that py3langid knows, the most alike first.
    """
    pairs = [(_overlap(language, find_language(tag)) or 0.0, tag) for tag in _overlaps()[0]]
    near = [find_language(tag) for share, tag in sorted(pairs, reverse=True) if share >= _ALIKE]
    return tuple(other for other in near if language.kinship(other) > 0)


@cache
def measured_transfer() -> Scores:
    """ATLAS's scores by the tags of target and donor."""
    with (files("tongues.languages") / "transfer.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    tags = {name: find_language(name).tag for name in rows[0] if name != "target"}
    tags |= {row["target"]: find_language(row["target"]).tag for row in rows}
    return {
        (tags[row["target"]], tags[donor]): float(value)
        for row in rows
        for donor, value in row.items()
        if donor != "target" and value
    }


def fit_transfer(scores: Scores) -> TransferModel:
    """The ridge on scores by the tags of target and donor.

    Scores and features are taken from their means of a target, so that the weights are those of
    differences between donors.
    """
    keys = list(scores)
    pairs = [(find_language(target), find_language(donor)) for target, donor in keys]
    raw = pair_features(pairs)
    fill = _fit_fill(pairs, raw)
    features, values = _features(pairs, fill), np.array([scores[key] for key in keys])
    scale = np.where((spread := features.std(axis=0)) > 0, spread, 1.0)
    centre, level = features.mean(axis=0), float(values.mean())
    inside, rest = (features - centre) / scale, values.copy()
    for target in dict.fromkeys(target for target, _ in keys):
        of = [target == key[0] for key in keys]
        inside[of] -= inside[of].mean(axis=0)
        rest[of] -= rest[of].mean()
    donors = list(dict.fromkeys(donor for _, donor in keys))
    dummies = np.array([[donor == key[1] for donor in donors] for key in keys], float)
    design = np.hstack([inside, dummies])
    penalty = np.diag([_WEIGHT] * inside.shape[1] + [_EFFECT] * len(donors))
    solved = np.linalg.solve(design.T @ design + penalty, design.T @ rest)
    weights, effects = np.split(solved, [inside.shape[1]])
    by_donor = dict(zip(donors, effects.tolist(), strict=True))
    return TransferModel(level, centre, scale, weights, by_donor, fill)


@cache
def _model() -> TransferModel:
    return fit_transfer(measured_transfer())


def pair_features(pairs: Sequence[tuple[Language, Language]]) -> np.ndarray:
    """Kinship, overlap and grammar of each pair, NaN where one is not known."""
    rows = [(a.kinship(b), _overlap(a, b), _grammar(a, b)) for a, b in pairs]
    return np.array(rows, float)  # None is NaN


def _features(
    pairs: Sequence[tuple[Language, Language]], fill: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    raw, known = pair_features(pairs), _fill_features(pairs)
    for column, coefficients in zip((1, 2), fill, strict=True):
        raw[:, column] = np.where(np.isnan(raw[:, column]), known @ coefficients, raw[:, column])
    return raw


def _fill_features(pairs: Sequence[tuple[Language, Language]]) -> np.ndarray:
    """What overlap and grammar are filled from: a constant, the script, and kinship."""
    rows = [(1.0, float(a.script == b.script), a.kinship(b)) for a, b in pairs]
    same = np.array(rows)
    return np.hstack([same, same[:, 1:2] * same[:, 2:]])


def _fit_fill(
    pairs: Sequence[tuple[Language, Language]], raw: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    known = _fill_features(pairs)

    def fitted(values: np.ndarray) -> np.ndarray:
        there = ~np.isnan(values)
        if not there.any():  # without lang2vec: nothing differs
            return np.zeros(known.shape[1])
        return np.linalg.lstsq(known[there], values[there], rcond=None)[0]

    return fitted(raw[:, 1]), fitted(raw[:, 2])


@cache
def _overlaps() -> tuple[dict[str, int], list[list[str]]]:
    head, *triangle = unpack("overlap.tsv.gz")
    return {tag: place for place, tag in enumerate(head)}, triangle


def _overlap(a: Language, b: Language) -> float | None:
    places, triangle = _overlaps()
    low, high = sorted((places.get(a.tag, -1), places.get(b.tag, -1)))
    return None if low < 0 or low == high else int(triangle[high][low]) / 1000


def _grammar(a: Language, b: Language) -> float | None:
    one, other = grammar_of(a), grammar_of(b)
    return one.distance(other) if one and other else None
