"""What a model of a language will reach, before any is trained: one regression.

Published models of 121 languages (Goldfish, arXiv 2408.10441) give log bits per byte of content at
four sizes of text. `forecast.csv`, fitted by benchmarks/forecast.py, holds straight lines through
them: `catalogue` in the amount of text that a language has, `n-grams` in that and the entropies of
a sample, and `step`, from one size to the next. The steps make a curve. Own runs are regressed on
that curve by ridge: its level, its slope and the effect of model size are drawn towards what the
lines and a published law say, as far as few runs leave them open.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from tongues.errors import Caution, UserError
from tongues.estimate import Estimate
from tongues.languages.catalogue import find_language
from tongues.languages.fertility import byte_premium
from tongues.languages.language import Language
from tongues.languages.ngrams import NGrams, measure_ngrams
from tongues.magnitudes import show_bytes

Array = np.ndarray
Lines = Mapping[str, Array]  # by kind, a row for each size of text: `_COLUMNS`
# Content bytes and parameters of the published models, trained ten epochs.
_SIZES = np.log10([[5e6, 39e6], [1e7, 39e6], [1e8, 125e6], [1e9, 125e6]])
EPOCHS = 10.0
MOST_BYTES, MOST_PARAMETERS = 1e9, 125e6
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
        return {
            "loss": self.loss.to_json(),
            "deviation": self.deviation,
            "text": self.text,
            "rests_on": list(self.rests_on),
            "cautions": [caution.sentence for caution in self.cautions],
        }


def known_language(text: str) -> Language:
    """The language of a tag with what is known of it: perhaps its script alone, or nothing."""
    try:
        return find_language(text)
    except UserError as error:
        if error.code:  # it may be several
            raise
        code, _, script = text.strip().replace("-", "_").partition("_")
        return Language(text, code, script.title(), name=text)


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

    language: of the catalogue, or any tag. text_bytes: of unique text, UTF-8. parameters:
    39M to 10 MB and 125M from 100 MB on by default, as the published models. sample: text of one's
    own, or its n-grams. runs: of one's own, all on one text. lines: other than the package's.
    """
    one = known_language(language) if isinstance(language, str) else language
    grams = measure_ngrams(sample) if isinstance(sample, str) else sample
    reference, counted = (grams, None) if grams and grams.reference else (None, grams)
    known, noise = list(runs), [_SEED] * (len(runs) + 1)
    if counted:  # as a rough run, with the loss that its trigrams go with
        above, off = _TRIGRAMS
        known.insert(0, OwnRun(counted.train_bytes, counted.trigram * math.exp(-above)))
        noise.insert(0, math.hypot(off, _GROWTH * math.log10(text_bytes / counted.train_bytes)))
    own = bool(known)
    premium, unsure = _premium(one)
    if reference:  # in bits per byte too: their coefficients add up to three quarters
        unsure *= 0.25
    points = [*known, OwnRun(text_bytes, math.nan, parameters, epochs)]
    sizes = np.log10([point.text_bytes / premium for point in points])
    amount = math.log10(max(one.text_bytes / premium, 10 ** sizes.max()))
    middle, spread = _joint(
        sizes,
        np.array([_of_size(point, x) for point, x in zip(points, sizes.tolist(), strict=True)]),
        float(np.clip(amount, *_AMOUNTS)) - 10.0,
        [math.log(x * premium) for x in (reference.unigram, reference.bigram)] if reference else [],
        _read_lines() if lines is None else lines,
    )
    middle += (_TEXT[0] if own else 0.0) - math.log(premium)
    spread += unsure**2 + own * _TEXT[1] ** 2 + np.diag(np.square(noise))
    measured = np.log([run.loss for run in known])
    value, deviation, furthest = _condition(middle, spread, measured)
    loss = Estimate(
        math.exp(value),
        math.exp(value - 1.96 * deviation),
        math.exp(value + 1.96 * deviation),
        unit="bits/byte",
        n=LANGUAGES,
        method="regression, predictive",
    )
    cautions = _cautions(furthest, float(sizes.max()), text_bytes)
    rests_on = _basis(one, reference, counted, len(runs))
    return LossForecast(loss, deviation, "own" if own else "flores", rests_on, cautions)


def _joint(
    sizes: Array, of_size: Array, amount: float, entropies: Sequence[float], lines: Lines
) -> tuple[Array, Array]:
    """Mean and covariance of log bits per byte of content of runs and target, the last.

    sizes: log10 of content bytes. of_size: what other parameters and epochs change, in log loss.
    amount: log10 of the content bytes that the language has, less 10.
    """
    nodes = _SIZES[:, 0]
    within, anchor = np.clip(sizes, nodes[0], nodes[-1]), np.clip(sizes[-1], nodes[0], nodes[-1])
    kind = lines["n-grams" if entropies else "catalogue"]
    terms = np.array([1.0, amount, *(entropies or (0.0, 0.0))])
    level = np.interp(anchor, nodes, kind[:, :-1] @ terms)
    deviation = np.interp(anchor, nodes, kind[:, -1])
    steps = np.concatenate([[0.0], np.cumsum(lines["step"][:, :2] @ terms[:2])])
    curve = np.interp(within, nodes, steps) - np.interp(anchor, nodes, steps)
    curve += [_beyond(*ends) for ends in zip(sizes.tolist(), within.tolist(), strict=True)]
    away = within - anchor + _BEYOND * (sizes - within)
    far = np.abs(away)
    spread = deviation**2 + _SLOPE**2 * np.outer(curve, curve)
    spread += _WANDER**2 / 2 * (far[:, None] + far - np.abs(away[:, None] - away))
    spread += _OF_SIZE**2 * np.outer(of_size, of_size)
    return level + curve + of_size, spread


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


def _cautions(furthest: float, size: float, text_bytes: float) -> tuple[Caution, ...]:
    """What the forecast cannot know; size: log10 of content bytes, the largest."""
    cautions = []
    if furthest > _UNLIKELY:
        what = "what was measured is not what is known of this language: is it the right one, are "
        what += "losses in bits per byte, and sizes in bytes of unique text?"
        cautions.append(Caution("unlike_prior", what))
    if size > math.log10(MOST_BYTES):
        what = f"no published run here has read more than 1 GB; {show_bytes(text_bytes)} is beyond"
        cautions.append(Caution("beyond_prior", what))
    return tuple(cautions)


def _basis(
    one: Language, reference: NGrams | None, counted: NGrams | None, runs: int
) -> tuple[str, ...]:
    amount = f"the text there is in {one.name}" if one.text_bytes else "nothing of this language"
    known = [f"published runs in {LANGUAGES} languages, and {amount}"]
    if reference or counted:
        grams = "unigrams and bigrams" if reference else "trigrams"
        known.append(f"{grams} of a sample of the text")
    if runs:
        known.append(f"{runs} run{'s' if runs > 1 else ''} on the same text")
    return tuple(known)


def _of_size(run: OwnRun, data: float) -> float:
    """What the published law says of other parameters and epochs than usual, in log loss."""
    size = run.parameters or _usual_size(data)
    if (size, run.epochs) == (_usual_size(data), EPOCHS):
        return 0.0
    return _log_law(size, data, run.epochs) - _log_law(_usual_size(data), data, EPOCHS)


def _beyond(data: float, within: float) -> float:
    """What the published law says of the way from the nearest end of the table, in log loss."""
    if data == within:
        return 0.0
    size = _usual_size(data)
    return _log_law(size, data, EPOCHS) - _log_law(size, within, EPOCHS)


def _usual_size(data: float) -> float:
    """Parameters of the published models at log10 content bytes."""
    return float(10 ** np.interp(data, _SIZES[:, 0], _SIZES[:, 1]))


@cache
def _log_law(parameters: float, data: float, epochs: float) -> float:
    from tongues.laws import preset  # half of the time that `tongues languages` would take

    U = 10**data / BYTES_PER_TOKEN
    return float(np.log(preset(_SIZE_LAW).loss(parameters, U * epochs, U=U)))


@cache
def _read_lines() -> Lines:
    with (files("tongues.languages") / "forecast.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    kinds = dict.fromkeys(row["known"] for row in rows)
    return {
        kind: np.array([[float(r[c] or 0) for c in _COLUMNS] for r in rows if r["known"] == kind])
        for kind in kinds
    }
