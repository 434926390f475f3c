"""What a model of a language will reach, before any is trained: one regression.

Published models of 121 languages (Goldfish, arXiv 2408.10441) give log bits per byte of content at
four sizes of text. `forecast.csv`, fitted by benchmarks/forecast.py, holds straight lines through
them: `catalogue` in the amount of text that a language has, `n-grams` in that and the entropies of
a sample, and `step`, from one size to the next. The steps make a curve. Own runs are regressed on
that curve by ridge: its level, its slope and the effect of model size are drawn towards what the
lines and a published law say, as far as few runs leave them open.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import numpy as np

from tongues.core.errors import Caution
from tongues.core.estimate import Estimate
from tongues.core.magnitudes import show_bytes, show_count
from tongues.languages.catalogue import find_language, packaged_rows
from tongues.languages.fertility import byte_premium
from tongues.languages.language import Language
from tongues.languages.ngrams import NGrams, measure_ngrams

Array = np.ndarray
Lines = Mapping[str, Array]  # by kind, a row for each size of text: `_COLUMNS`
# Content bytes and parameters of the published models, trained ten epochs.
_SIZES = np.log10([[5e6, 39e6], [1e7, 39e6], [1e8, 125e6], [1e9, 125e6]])
EPOCHS = 10.0  # that they were trained
MOST_BYTES, MOST_PARAMETERS = 1e9, 125e6  # of the largest of them
BYTES_PER_TOKEN = 4.7  # of content, by Goldfish's own vocabularies
_COLUMNS = ("constant", "amount", "unigram", "bigram", "deviation")
_SIZE_LAW = "muennighoff2023"  # of parameters, tokens and unique tokens
LANGUAGES = 121  # in the table that the lines are fitted to
_AMOUNTS = (7.0, 12.0)  # log10 of bytes: the amounts of text in that table
# How runs of one language stray from the curve, by benchmarks/forecast.py: its slope (a standard
# deviation, of 1), a wander with each root of a decade of text, and a run's own noise.
_SLOPE, _WANDER, _SEED = 0.14, 0.014, 0.003
_BEYOND = 4.6  # a decade beyond the table counts for so many: 0.03 in log loss instead of 0.014
_OF_SIZE = 0.3  # standard deviation of what the published law says of another size or epochs, of 1
_PREMIUM = 0.4  # of the log byte premium, where no language of its script was measured
# By benchmarks/forecast.txt, three languages: own held-out text next to the clean sentences of the
# table is easier, by how much differs. Log loss and its standard deviation.
_TEXT = (-0.4, 0.25)
# A sample counts as a run on the bytes counted: its trigrams' log bits lie above the log loss by
# this, with a standard deviation that grows with each decade of text.
_TRIGRAMS, _GROWTH = (0.2, 0.1), 0.06
_UNLIKELY = 2.576  # standard deviations: one chance in a hundred
_UNLIKE = (
    "what was measured is not what is known of this language: is it the right one, are losses in "
    "bits per byte, and sizes in bytes of unique text?"
)


@dataclass(frozen=True, slots=True)
class OwnRun:
    """A run of one's own: bytes of unique text, held-out bits per byte, parameters, epochs."""

    text_bytes: float
    loss: float
    parameters: float | None = None
    epochs: float = EPOCHS


@dataclass(frozen=True, slots=True)
class LossForecast:
    """A forecast in bits per byte with its 95 % predictive interval, and what it rests on.

    deviation: of the log loss. text: `own` where a sample or runs of the text are given, else
    `flores`, clean sentences of news and encyclopaedias as those of the published losses.
    """

    loss: Estimate
    deviation: float
    text: str
    rests_on: tuple[str, ...]
    cautions: tuple[Caution, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        sentences = [caution.sentence for caution in self.cautions]
        return asdict(self) | {"loss": self.loss.to_json(), "cautions": sentences}


def forecast_language(
    language: Language | str,
    text_bytes: float,
    parameters: float | None = None,
    *,
    epochs: float = EPOCHS,
    sample: NGrams | str | None = None,
    runs: Sequence[OwnRun] = (),
    lines: Lines | None = None,
) -> LossForecast:
    """The held-out bits per byte of a model trained from scratch on that much text of a language.

    language: or its tag, code or name. text_bytes: of unique text, UTF-8. parameters:
    39M to 10 MB and 125M from 100 MB on by default, as the published models. sample: text of one's
    own, or its n-grams. runs: of one's own, all on one text. lines: other than the package's.
    """
    one = find_language(language) if isinstance(language, str) else language
    grams = measure_ngrams(sample) if isinstance(sample, str) else sample
    reference = grams if grams and grams.reference else None
    known, noise = list(runs), [_SEED] * (len(runs) + 1)
    if grams and not reference:  # as a rough run, with the loss that its trigrams go with
        above, off = _TRIGRAMS
        known.insert(0, OwnRun(grams.train_bytes, grams.trigram * math.exp(-above)))
        noise.insert(0, math.hypot(off, _GROWTH * math.log10(text_bytes / grams.train_bytes)))
    premium, unsure = _premium(one)
    points = [*known, OwnRun(text_bytes, math.nan, parameters, epochs)]
    sizes = np.log10([point.text_bytes / premium for point in points])
    amount = math.log10(max(one.text_bytes / premium, 10 ** sizes.max()))
    terms = [1.0, float(np.clip(amount, *_AMOUNTS)) - 10.0, 0.0, 0.0]
    if reference:  # their coefficients add up to three quarters, so that a premium matters less
        terms[2:] = math.log(reference.unigram * premium), math.log(reference.bigram * premium)
        unsure *= 0.25
    kind = "n-grams" if reference else "catalogue"
    lines = _read_lines() if lines is None else lines
    middle, spread = _joint(points, sizes, np.array(terms), lines[kind], lines["step"])
    middle -= math.log(premium)
    spread += unsure**2 + np.diag(np.square(noise))
    if known:
        middle, spread = middle + _TEXT[0], spread + _TEXT[1] ** 2
    value, deviation, furthest = _condition(middle, spread, np.log([run.loss for run in known]))
    low, high = math.exp(value - 1.96 * deviation), math.exp(value + 1.96 * deviation)
    how = "regression, predictive"
    loss = Estimate(math.exp(value), low, high, "bits/byte", LANGUAGES, how)
    about = f"the text there is in {one.name}" if one.text_bytes else "nothing of this language"
    rests_on = [f"published runs in {LANGUAGES} languages, and {about}"]
    if grams:
        what = "unigrams and bigrams" if reference else "trigrams"
        rests_on.append(f"{what} of a sample of the text")
    if runs:
        rests_on.append(f"{len(runs)} run{'s' if len(runs) > 1 else ''} on the same text")
    cautions = []
    if furthest > _UNLIKELY:
        cautions.append(Caution("unlike_prior", _UNLIKE))
    if sizes.max() > math.log10(MOST_BYTES) or (parameters or 0) > MOST_PARAMETERS:
        largest = (
            f"more than {show_bytes(MOST_BYTES)} or is larger than {show_count(MOST_PARAMETERS)}"
        )
        what = f"no published run here has read {largest}: beyond, a law fitted on English leads"
        cautions.append(Caution("beyond_prior", what))
    text = "own" if known else "flores"
    return LossForecast(loss, deviation, text, tuple(rests_on), tuple(cautions))


def _joint(
    points: Sequence[OwnRun], sizes: Array, terms: Array, levels: Array, steps: Array
) -> tuple[Array, Array]:
    """Mean and covariance of log bits per byte of content of runs and target, the last.

    sizes: log10 of content bytes. terms: of the lines, at each size of `levels` and `steps`.
    """
    nodes = _SIZES[:, 0]
    within = np.clip(sizes, nodes[0], nodes[-1])
    anchor = within[-1]  # where the lines give the level
    level = np.interp(anchor, nodes, levels[:, :-1] @ terms)
    deviation = np.interp(anchor, nodes, levels[:, -1])
    curve = np.concatenate([[0.0], np.cumsum(steps[:, :-1] @ terms)])
    curve = np.interp(within, nodes, curve) - np.interp(anchor, nodes, curve)
    of_size = np.zeros(len(points))
    for i, (run, size, inside) in enumerate(zip(points, sizes, within, strict=True)):
        usual = 10 ** np.interp(size, nodes, _SIZES[:, 1])
        parameters = run.parameters or usual
        if size != inside:
            curve[i] += _log_law(usual, size, EPOCHS) - _log_law(usual, inside, EPOCHS)
        if (parameters, run.epochs) != (usual, EPOCHS):
            of_size[i] = _log_law(parameters, size, run.epochs) - _log_law(usual, size, EPOCHS)
    away = within - anchor + _BEYOND * (sizes - within)
    wander = np.abs(away)[:, None] + np.abs(away) - np.abs(away[:, None] - away)
    spread = deviation**2 + _SLOPE**2 * np.outer(curve, curve) + _WANDER**2 / 2 * wander
    return level + curve + of_size, spread + _OF_SIZE**2 * np.outer(of_size, of_size)


def _condition(middle: Array, spread: Array, measured: Array) -> tuple[float, float, float]:
    """Mean and deviation of the last number given the first ones, and how far off the first are.

    That is of the one furthest off, in standard deviations.
    """
    n = len(measured)
    off, own = measured - middle[:n], spread[:n, :n]
    gain = np.linalg.solve(own, spread[:n, -1])
    variance = spread[-1, -1] - gain @ spread[:n, -1]
    furthest = np.max(np.abs(off) / np.sqrt(np.diag(own)), initial=0.0)
    return float(middle[-1] + gain @ off), math.sqrt(variance), float(furthest)


def _premium(one: Language) -> tuple[float, float]:
    """Bytes for the content of one byte of English, and the deviation of its logarithm."""
    known = byte_premium(one)
    if math.isnan(known.value):
        return 1.0, _PREMIUM
    unsure = math.log(known.high / known.low) / 3.92 if known.low and known.high else 0.0
    return known.value, unsure


@cache
def _log_law(parameters: float, data: float, epochs: float) -> float:
    from tongues.laws import preset  # half of the time that `tongues languages` would take

    U = 10**data / BYTES_PER_TOKEN
    return float(np.log(preset(_SIZE_LAW).loss(parameters, U * epochs, U=U)))


@cache
def _read_lines() -> Lines:
    rows = packaged_rows("forecast.csv")
    kinds = dict.fromkeys(row["known"] for row in rows)
    return {
        kind: np.array([[float(r[c]) for c in _COLUMNS] for r in rows if r["known"] == kind])
        for kind in kinds
    }
