"""What a model of a language will reach, before any is trained: a prior for losses.

A mixed model of the published losses of many languages (`benchmarks/prior.py`): by how much
text a language has, its family and its script. Whatever else is known, n-grams of a sample of text
or the losses of own runs, conditions it: all is normal in log bits per byte, so that one linear
solve does. Between and beyond the sizes of the published runs a published law of size and data
leads, with a deviation that grows with the distance.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from tongues.errors import Caution, UserError
from tongues.estimate import Estimate
from tongues.languages.catalogue import find_language
from tongues.languages.fertility import byte_premium
from tongues.languages.language import Language
from tongues.languages.ngrams import NGrams, measure_ngrams
from tongues.magnitudes import show_bytes

__all__ = [
    "LossForecast",
    "LossPrior",
    "OwnRun",
    "forecast_language",
    "known_language",
    "read_prior",
]

Array = np.ndarray
# Content bytes and parameters of the published models (Goldfish, arXiv 2408.10441), ten epochs.
_NODES = ((5e6, 39e6), (1e7, 39e6), (1e8, 125e6), (1e9, 125e6))
EPOCHS = 10.0
MOST_BYTES, MOST_PARAMETERS = _NODES[-1]
_SIZE_LAW = "muennighoff2023"  # of parameters, tokens and different tokens
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
_OF_SIZE = 0.3  # of what the published law says another size changes
_PREMIUM = 0.4  # of the log byte premium, where no language of its script was measured
_UNLIKELY = 2.326  # deviations: what the prior gives one chance in a hundred
_LAW_AT = np.linspace(3.0, 15.0, 601)  # log10 of content bytes, at which a prior keeps that law
LARGEST = 9.0  # log10 of the most content bytes in the table


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


@dataclass(frozen=True, slots=True, eq=False)
class LossPrior:
    """Posterior of a mixed model of six log bits a language: two n-grams and four sizes of run.

    effects: (3 + families + scripts, 6), of `columns` and of each group, and their covariance over
    all entries. spread: (3, 6, 6), covariances among families, scripts and languages. fall: of the
    log deviation with each decade of text. reach: slope and level of the most text that models of
    a language were trained on, by the text there is (log10). levels: of each language in the table,
    how far its runs are from what the rest predicts, and how many they are. factors: (2, 4), on the
    deviation at a gigabyte, so that 95 % intervals held for languages left out: of known families
    and of new ones, by nothing else known, n-grams, runs, and both. law: log loss by the published
    law at the usual size for each amount of text, since to import the laws takes longest of all.
    """

    families: tuple[str, ...]
    scripts: tuple[str, ...]
    effects: Array
    covariance: Array
    spread: Array
    fall: float
    reach: tuple[float, float]
    levels: Mapping[str, tuple[float, int]]
    factors: Array
    law: Array

    def normal(
        self,
        family: str,
        script: str,
        amount: float,
        reach: float,
        level: tuple[float, int] | None = None,
    ) -> tuple[Array, Array]:
        """Mean and covariance of a language's six log bits per byte of content.

        amount, reach: log10 of the content bytes there are, and that models could be trained on.
        level: of a language in the table.
        """
        scale, count = width(amount, self.fall), self.effects.shape[1]
        row = np.concatenate([columns(amount, reach), np.zeros(len(self.families + self.scripts))])
        own = self.spread[2].copy()
        groups = (family, self.families, 3, 0), (script, self.scripts, 3 + len(self.families), 1)
        for name, names, start, which in groups:
            if name in names:
                row[start + names.index(name)] = scale
            else:
                own += self.spread[which]
        own *= scale**2
        covariance = self.covariance.reshape(len(row), count, len(row), count)
        mean, shared = row @ self.effects, np.einsum("i,iajb,j->ab", row, covariance, row)
        if level is None:
            return mean, shared + own
        off, runs = level  # of the mean over its runs, which the shared effects know already
        pick = np.zeros(count)
        pick[2 : 2 + runs] = 1.0 / runs
        pull = own @ pick / (pick @ own @ pick)
        return mean + pull * off, own - np.outer(pull, own @ pick)

    def reach_of(self, amount: float, *used: float) -> float:
        """Log10 of the content bytes that models can be trained on, at least those used."""
        slope, level = self.reach
        return min(LARGEST, max(slope * amount + level, *used))

    def factor(self, family: str, data: float, *, sample: bool, runs: bool) -> float:
        """On the deviation; data: log10 of content bytes. It is 1 up to 100 MB."""
        at_gigabyte = self.factors[int(family not in self.families), sample + 2 * runs]
        return float(at_gigabyte ** np.clip(data - 8.0, 0.0, 1.0))

    def save(self, path: Path) -> None:
        """Write it as one file, which `read_prior` reads."""
        tags = list(self.levels)
        np.savez_compressed(
            path,
            families=np.array(self.families),
            scripts=np.array(self.scripts),
            effects=self.effects.astype(np.float32),
            covariance=self.covariance[np.triu_indices(len(self.covariance))].astype(np.float32),
            spread=self.spread,
            line=np.array([self.fall, *self.reach]),
            tags=np.array(tags),
            factors=self.factors,
            law=self.law,
            levels=np.array([self.levels[tag] for tag in tags], dtype=np.float32),
        )


def columns(amount: float, reach: float) -> Array:
    """What the amount of text says of the mean: the covariates of the linear part."""
    return np.array([1.0, np.clip(amount, 7.0, 12.0) - 10.0, min(reach, LARGEST) - LARGEST])


def width(amount: float, fall: float) -> float:
    """The factor on all deviations of a language with that much text: little text varies more."""
    return float(np.exp(-fall * (np.clip(amount, 7.0, 12.0) - 10.0)))


@cache
def read_prior(path: Path | None = None) -> LossPrior:
    """The prior that comes with the package, or one that was saved."""
    place = files("tongues.languages") / "prior.npz" if path is None else path
    with place.open("rb") as file, np.load(file) as arrays:
        fall, *reach = arrays["line"].tolist()
        levels = {
            str(tag): (float(off), int(runs))
            for tag, (off, runs) in zip(arrays["tags"], arrays["levels"], strict=True)
        }
        families, scripts = (tuple(map(str, arrays[key])) for key in ("families", "scripts"))
        effects = arrays["effects"].astype(float)
        half = np.zeros((effects.size, effects.size))
        half[np.triu_indices(effects.size)] = arrays["covariance"]
        return LossPrior(
            families,
            scripts,
            effects,
            half + np.triu(half, 1).T,
            arrays["spread"],
            fall,
            (reach[0], reach[1]),
            levels,
            arrays["factors"],
            arrays["law"],
        )


def known_language(text: str) -> Language:
    """The language of a tag with what is known of it: perhaps its family alone, or its script."""
    try:
        return find_language(text)
    except UserError:
        code, _, script = text.strip().replace("-", "_").partition("_")
        try:
            known = find_language(code)
        except UserError:
            known = Language(text, code, script, name=text)
        return replace(known, tag=text, script=script.title(), byte_premium=None, texts=())


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
    premium, unsure = _premium(one)
    target = OwnRun(text_bytes, math.nan, parameters, epochs)
    own = bool(runs) or bool(entropies and not entropies.reference)
    measured = [math.log(run.loss) for run in runs]
    points = [_place(run, premium, prior.law) for run in (*runs, target)]
    sizes = [math.log10(run.text_bytes / premium) for run in (*runs, target)]
    if entropies and entropies.reference:
        points = [*((row, 0.0, 0.0) for row in np.eye(6)[:2]), *points]
        measured = [math.log(entropies.unigram), math.log(entropies.bigram), *measured]
    elif entropies:
        as_run, (above, off) = OwnRun(entropies.train_bytes, math.nan), _TRIGRAMS
        weights, law, variance = _place(as_run, premium, prior.law)
        grown = _GROWTH * math.log10(text_bytes / entropies.train_bytes)
        points.insert(0, (weights, law - above, variance + off**2 + grown**2))
        measured.insert(0, math.log(entropies.trigram))
    amount = math.log10(max(one.text_bytes / premium, 10.0 ** max(sizes)))
    family, key = one.family[0] if one.family else one.name, f"{one.code}_{one.script}"
    level = prior.levels.get(key)
    mean, covariance = prior.normal(
        family, one.script, amount, prior.reach_of(amount, *sizes), level
    )
    weights, shifts, variances = (np.array(of) for of in zip(*points, strict=True))
    middle = weights @ mean + shifts - math.log(premium)
    spread = weights @ covariance @ weights.T + np.diag(variances) + unsure**2
    if own:
        middle += _TEXT[0]
        spread += _TEXT[1] ** 2
    value, variance, surprise = _condition(middle, spread, np.array(measured))
    rests_on = [_basis(prior, one, family, level)]
    if entropies:
        grams = "unigrams and bigrams" if entropies.reference else "trigrams"
        rests_on.append(f"{grams} of a sample of the text")
    if runs:
        rests_on.append(f"{len(runs)} run{'s' if len(runs) > 1 else ''} on the same text")
    cautions = []
    if surprise > _UNLIKELY:
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
    """Mean and variance of the last number given the first ones, and how unlikely these were.

    The last as a standard normal deviate of the squared distance (Wilson and Hilferty).
    """
    n = len(measured)
    if n == 0:
        return float(mean[-1]), float(covariance[-1, -1]), 0.0
    off, gain = measured - mean[:n], np.linalg.solve(covariance[:n, :n], covariance[:n, -1])
    distance = float(off @ np.linalg.solve(covariance[:n, :n], off))
    third = 2.0 / (9.0 * n)
    surprise = ((distance / n) ** (1 / 3) - (1.0 - third)) / math.sqrt(third)
    variance = covariance[-1, -1] - gain @ covariance[:n, -1]
    return float(mean[-1] + gain @ off), float(variance), surprise


def _place(run: OwnRun, premium: float, law: Array) -> tuple[Array, float, float]:
    """A run among the six numbers: weights of these, what the published law adds, a variance."""
    data = math.log10(run.text_bytes / premium)
    weights, usual, apart = _between(data)
    nodes = np.log10(_NODES)[:, 0]
    shift = float(np.interp(data, _LAW_AT, law) - weights[2:] @ np.interp(nodes, _LAW_AT, law))
    size, other = run.parameters or usual, 0.0
    if (size, run.epochs) != (usual, EPOCHS):
        other = _log_law(size, data, run.epochs) - _log_law(usual, data, EPOCHS)
    beyond = data - float(np.clip(data, nodes[0], nodes[-1]))
    parts = (_SEED, apart * _BETWEEN, beyond * _BEYOND, other * _OF_SIZE)
    return weights, shift + other, float(sum(part**2 for part in parts))


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
