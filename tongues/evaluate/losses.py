"""What the losses of several models on texts come to, and which of them can be told apart."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tongues.evaluate.leaders import leaders
from tongues.evaluate.significance import (
    Difference,
    Measured,
    Signs,
    WinRate,
    holm,
    measured_loss,
    paired_loss,
    signs,
    win_rates,
)
from tongues.evaluate.texts import DocumentLosses, bits_per_segment, spelling_cautions

__all__ = ["Loss", "TextComparison", "TextScores", "text_scores"]

Losses = Mapping[str, Mapping[str, DocumentLosses]]  # by model and language


@dataclass(frozen=True, slots=True)
class Loss:
    """A model's loss on a text in a language: sums over documents over sums."""

    nats_per_token: float
    perplexity: float
    bits_per_byte: Measured
    documents: int
    tokens: int
    bytes: int


@dataclass(frozen=True, slots=True)
class TextComparison:
    """How much higher a model's loss is than another's, bits per byte, on the same documents.

    The p-values of the languages allow for how many there are.
    """

    model: str
    other: str
    languages: Mapping[str, Difference]
    mean: Difference  # over languages
    signs: Signs  # lower wins


@dataclass(frozen=True, slots=True)
class TextScores:
    """A text, as all models found it."""

    losses: Mapping[str, Mapping[str, Loss]]  # by model and language
    segments: int  # that all languages have, as translations of each other
    bits_per_segment: Mapping[str, Mapping[str, float]]  # by model and language
    best: Mapping[str, WinRate]  # in how many languages a model's loss is the lowest
    leaders: Mapping[str, Sequence[str]]  # by language: the best and what cannot be told from it
    compared: Sequence[TextComparison]
    forgotten: Sequence[TextComparison]  # with what each model began with
    cautions: Sequence[str]


def text_scores(
    losses: Losses, pairs: Sequence[tuple[str, str]], seeds: Mapping[str, str]
) -> TextScores:
    """Put the losses on one text together.

    pairs: which model is compared with which other. seeds: what models began with, of those that
    were evaluated too.
    """
    told = {
        model: {language: _loss(of) for language, of in by.items()} for model, by in losses.items()
    }
    measured = {model: [of.bits_per_byte.value for of in by.values()] for model, by in told.items()}
    aligned = {model: bits_per_segment(by) for model, by in losses.items()}
    cautions = {
        f"`{model}`, {caution.sentence}": None
        for model, by in losses.items()
        for language, of in by.items()
        for caution in spelling_cautions(language, of)
    }
    return TextScores(
        losses=told,
        segments=min((count for count, _ in aligned.values()), default=0),
        bits_per_segment={model: bits for model, (_, bits) in aligned.items() if bits},
        best=win_rates(measured, lower_wins=True) if len(measured) > 1 else {},
        leaders={language: _leaders(losses, language) for language in next(iter(losses.values()))},
        compared=[_compared(losses, model, other) for model, other in pairs],
        forgotten=[_compared(losses, model, seed) for model, seed in seeds.items()],
        cautions=list(cautions),
    )


def _loss(of: DocumentLosses) -> Loss:
    return Loss(
        nats_per_token=of.loss,
        perplexity=of.perplexity,
        bits_per_byte=measured_loss(_bits(of), of.bytes),
        documents=len(of.ids),
        tokens=int(of.tokens.sum()),
        bytes=int(of.bytes.sum()),
    )


def _leaders(losses: Losses, language: str) -> list[str]:
    of = {model: by[language] for model, by in losses.items()}
    return leaders(
        {model: one.bits_per_byte for model, one in of.items()},
        lambda own, other: paired_loss(_bits(of[own]), _bits(of[other]), of[own].bytes),
        lower_wins=True,
    )


def _compared(losses: Losses, model: str, other: str) -> TextComparison:
    own, others = losses[model], losses[other]
    units = {language: of.bytes for language, of in own.items()}
    mine = {language: _bits(of) for language, of in own.items()}
    theirs = {language: _bits(others[language]) for language in own}
    each = {
        language: paired_loss(mine[language], theirs[language], units[language]) for language in own
    }
    segments = np.concatenate([of.segments for of in own.values()])
    return TextComparison(
        model=model,
        other=other,
        languages=holm(each),
        mean=paired_loss(
            *(_by_segment(values, units, segments) for values in (mine, theirs, units))
        ),
        signs=signs(
            [float(mine[language].sum() / units[language].sum()) for language in own],
            [float(theirs[language].sum() / units[language].sum()) for language in own],
            lower_wins=True,
        ),
    )


def _by_segment(
    values: Mapping[str, np.ndarray], units: Mapping[str, np.ndarray], segments: np.ndarray
) -> np.ndarray:
    """Each language's values by its units, summed over documents that say the same.

    Translations are alike hard for a model: they are one observation, not several.
    """
    shares = np.concatenate([own / units[language].sum() for language, own in values.items()])
    _, place = np.unique(segments, return_inverse=True)
    return np.bincount(place, weights=shares)


def _bits(of: DocumentLosses) -> np.ndarray:
    return np.asarray(of.nats) / math.log(2)
