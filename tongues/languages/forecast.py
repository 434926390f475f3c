"""What a model of a language will reach, before any is trained: by the prior for losses.

Whatever else is known, n-grams of a sample of text or the losses of own runs, conditions it: all is
normal in log bits per byte, so that one linear solve does. Between and beyond the sizes of the
published runs a published law of size and data leads, with a deviation that grows with the
distance.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from tongues.errors import Caution, UserError
from tongues.estimate import Estimate
from tongues.languages.catalogue import find_language
from tongues.languages.fertility import byte_premium
from tongues.languages.language import Language
from tongues.languages.ngrams import NGrams, measure_ngrams
from tongues.languages.prior import LARGEST, LossPrior, read_prior
from tongues.magnitudes import show_bytes

Array = np.ndarray
# Content bytes and parameters of the published models (Goldfish, arXiv 2408.10441), ten epochs.
_NODES = ((5e6, 39e6), (1e7, 39e6), (1e8, 125e6), (1e9, 125e6))
EPOCHS = 10.0
MOST_BYTES, MOST_PARAMETERS = _NODES[-1]
_SIZE_LAW = "muennighoff2023"  # of parameters, tokens and unique tokens
BYTES_PER_TOKEN = 4.7  # of content, by Goldfish's own vocabularies
# By benchmarks/forecast.py. A text of one's own, next to the clean sentences of the table: held-out
# text of the same sources is easier, by how much differs. Log loss and its deviation.
_TEXT = (-0.4, 0.25)
# A sample counts for a run on the bytes counted: its log loss next to the trigrams' log bits, and
# the deviation, which grows with each decade of text from there.
_TRIGRAMS, _GROWTH = (-0.2, 0.1), 0.06
_SEED = 0.003  # of one run
_BETWEEN = 0.01  # halfway between two sizes of the table
_BEYOND = 0.03  # with each decade of text beyond the table
# Of what the published law says another size or number of epochs changes; and how many decades of
# parameters or of text apart runs stray alike in that.
_OF_SIZE, _ALIKE = 0.3, 1.0
_PREMIUM = 0.4  # of the log byte premium, where no language of its script was measured
UNLIKELY = 2.326  # deviations: what the prior gives one chance in a hundred
_LAW_AT = np.linspace(3.0, 15.0, 601)  # log10 of content bytes, at which a prior keeps that law


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
    prior: LossPrior | None = None,
) -> LossForecast:
    """The held-out bits per byte of a model trained from scratch on that much text of a language.

    language: of the catalogue, or any tag. text_bytes: of unique text, UTF-8. parameters:
    39M to 10 MB and 125M from 100 MB on by default, as the published models. sample: text of one's
    own, or its n-grams. runs: of one's own, all on one text. prior: other than the package's.
    """
    one = known_language(language) if isinstance(language, str) else language
    prior = read_prior() if prior is None else prior
    entropies = measure_ngrams(sample) if isinstance(sample, str) else sample
    premium, _ = _premium(one)
    target = OwnRun(text_bytes, math.nan, parameters, epochs)
    measured = [math.log(run.loss) for run in runs]
    places = [_place(run, premium, prior.law) for run in (*runs, target)]
    sizes = [math.log10(run.text_bytes / premium) for run in (*runs, target)]
    if entropies and entropies.reference:
        places = [*(_Place(row) for row in np.eye(6)[:2]), *places]
        measured = [math.log(entropies.unigram), math.log(entropies.bigram), *measured]
    elif entropies:
        as_run, (above, off) = OwnRun(entropies.train_bytes, math.nan), _TRIGRAMS
        place = _place(as_run, premium, prior.law)
        grown = _GROWTH * math.log10(text_bytes / entropies.train_bytes)
        variance = place.variance + off**2 + grown**2
        places.insert(0, replace(place, shift=place.shift - above, variance=variance))
        measured.insert(0, math.log(entropies.trigram))
    own = bool(runs) or bool(entropies and not entropies.reference)
    middle, spread = _joint(one, prior, places, sizes, own=own)
    value, variance, surprise = _condition(middle, spread, np.array(measured))
    family, level = _family(one), prior.levels.get(f"{one.code}_{one.script}")
    rests_on = [_basis(prior, one, family, level)]
    if entropies:
        grams = "unigrams and bigrams" if entropies.reference else "trigrams"
        rests_on.append(f"{grams} of a sample of the text")
    if runs:
        rests_on.append(f"{len(runs)} run{'s' if len(runs) > 1 else ''} on the same text")
    cautions = []
    if surprise > UNLIKELY:
        what = "what was measured is not what is known of this language: is it the right one, are "
        what += "losses in bits per byte, and sizes in bytes of unique text?"
        cautions.append(Caution("unlike_prior", what))
    if max(sizes) > LARGEST:
        what = f"no published run here has read more than 1 GB; {show_bytes(text_bytes)} is beyond"
        cautions.append(Caution("beyond_prior", what))
    known = {"sample": entropies is not None, "runs": bool(runs)}
    counted = bool(entropies and not entropies.reference)  # what no factor was fitted to
    factor = 1.0 if level or counted else prior.factor(family, sizes[-1], **known)
    deviation = factor * math.sqrt(variance)
    half = 1.96 * deviation
    loss = Estimate(
        math.exp(value),
        math.exp(value - half),
        math.exp(value + half),
        unit="bits/byte",
        n=len(prior.levels),
        method="mixed model, predictive",
    )
    text = "own" if own else "flores"
    return LossForecast(loss, deviation, text, tuple(rests_on), tuple(cautions))


def surprise_of(mean: Array, covariance: Array, measured: Array) -> float:
    """How unlikely measured log losses are, as a standard normal deviate.

    Of the squared distance, by Wilson and Hilferty's cube root.
    """
    n, off = len(measured), measured - mean
    distance, third = float(off @ np.linalg.solve(covariance, off)), 2.0 / (9.0 * n)
    return ((distance / n) ** (1 / 3) - (1.0 - third)) / math.sqrt(third)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A run among the six numbers of a language, in log bits per byte of content.

    weights: of these. shift: what the published law adds. resized: the deviation of that, and at:
    log10 of parameters and text, by which runs stray alike in it. outside: deviations below and
    beyond the table's text, one error each for all runs. variance: of its own.
    """

    weights: Array
    shift: float = 0.0
    resized: float = 0.0
    at: tuple[float, float] = (0.0, 0.0)
    outside: tuple[float, float] = (0.0, 0.0)
    variance: float = 0.0


def _joint(
    one: Language,
    prior: LossPrior,
    places: Sequence[_Place],
    sizes: Sequence[float],
    *,
    own: bool,
) -> tuple[Array, Array]:
    """Mean and covariance of log bits per byte; sizes: of the runs, log10 of content bytes."""
    premium, unsure = _premium(one)
    amount = math.log10(max(one.text_bytes / premium, 10.0 ** max(sizes)))
    level = prior.levels.get(f"{one.code}_{one.script}")
    reach = prior.reach_of(amount, *sizes)
    mean, covariance = prior.normal(_family(one), one.script, amount, reach, level)
    weights, outside = np.array([p.weights for p in places]), np.array([p.outside for p in places])
    resized, at = np.array([p.resized for p in places]), np.array([p.at for p in places])
    apart = ((at[:, None] - at[None]) ** 2).sum(-1) / _ALIKE**2
    middle = weights @ mean + np.array([p.shift for p in places]) - math.log(premium)
    spread = weights @ covariance @ weights.T + outside @ outside.T + unsure**2
    spread += np.outer(resized, resized) * np.exp(-0.5 * apart)
    spread += np.diag([place.variance for place in places])
    return (middle + _TEXT[0], spread + _TEXT[1] ** 2) if own else (middle, spread)


def _family(one: Language) -> str:
    return one.family[0] if one.family else one.name


def _premium(one: Language) -> tuple[float, float]:
    """Bytes for the content of one byte of English, and the deviation of its logarithm."""
    known = byte_premium(one)
    if math.isnan(known.value):
        return 1.0, _PREMIUM
    unsure = math.log(known.high / known.low) / 3.92 if known.low and known.high else 0.0
    return known.value, unsure


def _basis(prior: LossPrior, one: Language, family: str, level: tuple[float, int] | None) -> str:
    if level:
        return f"{level[1]} published runs in {one.name}"
    known = [f"the family {family}" * (family in prior.families)]
    known += [f"the script {one.script}" * (one.script in prior.scripts)]
    known += ["the text there is" * bool(one.text_bytes)]
    named = ", ".join(filter(None, known)) or "nothing of it"
    return f"published runs in {len(prior.levels)} other languages; {named}"


def _condition(mean: Array, covariance: Array, measured: Array) -> tuple[float, float, float]:
    """Mean and variance of the last number given the first ones, and how unlikely these were."""
    n = len(measured)
    if n == 0:
        return float(mean[-1]), float(covariance[-1, -1]), 0.0
    off, gain = measured - mean[:n], np.linalg.solve(covariance[:n, :n], covariance[:n, -1])
    variance = covariance[-1, -1] - gain @ covariance[:n, -1]
    surprise = surprise_of(mean[:n], covariance[:n, :n], measured)
    return float(mean[-1] + gain @ off), float(variance), surprise


def _place(run: OwnRun, premium: float, law: Array) -> _Place:
    data = math.log10(run.text_bytes / premium)
    weights, usual, apart = _between(data)
    nodes = np.log10(_NODES)[:, 0]
    shift = float(np.interp(data, _LAW_AT, law) - weights[2:] @ np.interp(nodes, _LAW_AT, law))
    size, other = run.parameters or usual, 0.0
    if (size, run.epochs) != (usual, EPOCHS):
        other = _log_law(size, data, run.epochs) - _log_law(usual, data, EPOCHS)
    below, beyond = max(nodes[0] - data, 0.0), max(data - nodes[-1], 0.0)
    return _Place(
        weights,
        shift + other,
        resized=other * _OF_SIZE,
        at=(math.log10(size), data),
        outside=(below * _BEYOND, beyond * _BEYOND),
        variance=_SEED**2 + (apart * _BETWEEN) ** 2,
    )


def _between(data: float) -> tuple[Array, float, float]:
    """Weights of the six numbers at log10 content bytes, the usual size, and how far from a node.

    The last is decades between the nodes, halfway, and 0 at each.
    """
    nodes, weights = np.log10(_NODES), np.zeros(6)
    inside = float(np.clip(data, nodes[0, 0], nodes[-1, 0]))
    i = min(int(np.searchsorted(nodes[:, 0], inside, side="right")) - 1, len(nodes) - 2)
    apart = nodes[i + 1, 0] - nodes[i, 0]
    t = (inside - nodes[i, 0]) / apart
    weights[2 + i], weights[3 + i] = 1.0 - t, t
    return weights, float(10 ** (weights[2:] @ nodes[:, 1])), 4.0 * t * (1.0 - t) * apart


def usual_law() -> Array:
    """What `LossPrior` keeps as its law."""
    return np.array([_log_law(_between(data)[1], data, EPOCHS) for data in _LAW_AT.tolist()])


@cache
def _log_law(parameters: float, data: float, epochs: float) -> float:
    from tongues.laws import preset  # half of the time that `tongues languages` would take

    U = 10**data / BYTES_PER_TOKEN
    return float(np.log(preset(_SIZE_LAW).loss(parameters, U * epochs, U=U)))
