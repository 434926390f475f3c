"""What the losses of several models on texts come to, and which of them can be told apart."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tongues.evaluate.comparing import corrected, translated
from tongues.evaluate.leaders import leaders
from tongues.evaluate.texts import DocumentLosses, bits_per_segment, spelling_cautions
from tongues.significance import (
    Difference,
    Measured,
    Signs,
    WinRate,
    holm,
    measured_loss,
    paired_loss,
    paired_mean,
    signs,
    win_rates,
)

__all__ = ["Loss", "TextComparison", "TextScores", "text_scores"]

ByLanguage = Mapping[str, DocumentLosses]
Losses = Mapping[str, ByLanguage]  # by model


@dataclass(frozen=True, slots=True)
class Loss:
    """A model's loss on a text in a language: sums over documents over sums."""

    nats_per_token: float
    perplexity: float | None  # None: over 1e299
    bits_per_byte: Measured
    documents: int
    tokens: int
    bytes: int


@dataclass(frozen=True, slots=True)
class TextComparison:
    """How much higher a model's loss is than another's, bits per byte, on the same documents.

    The p-values allow for how many there are of the kind on this text: of all languages and pairs
    of models, of the means of all pairs, of their counts.
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
    translated: bool  # whether most documents are of a group that stands in several languages
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
    measured = {model: [of.bits_per_byte for of in by.values()] for model, by in losses.items()}
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
        translated=_translated(next(iter(losses.values()))),
        compared=_compared(losses, pairs),
        forgotten=_compared(losses, list(seeds.items())),
        cautions=list(cautions),
    )


def _loss(of: DocumentLosses) -> Loss:
    return Loss(
        nats_per_token=of.loss,
        perplexity=of.perplexity if math.isfinite(of.perplexity) else None,
        bits_per_byte=measured_loss(_bits(of), of.bytes, of.segments),
        documents=len(of.ids),
        tokens=int(of.tokens.sum()),
        bytes=int(of.bytes.sum()),
    )


def _leaders(losses: Losses, language: str) -> list[str]:
    of = {model: by[language] for model, by in losses.items()}
    return leaders(
        {model: one.bits_per_byte for model, one in of.items()},
        lambda own, other: _difference(of[own], of[other]),
        languages=len(next(iter(losses.values()))),
        lower_wins=True,
    )


def _compared(losses: Losses, pairs: Sequence[tuple[str, str]]) -> list[TextComparison]:
    """The pairs of models, each allowing for the others."""
    each = {
        (model, other): {
            language: _difference(of, losses[other][language])
            for language, of in losses[model].items()
        }
        for model, other in pairs
    }
    languages = corrected(each)
    means = holm({pair: _mean(losses[pair[0]], losses[pair[1]]) for pair in each})
    return [
        TextComparison(
            model=model,
            other=other,
            languages=languages[model, other],
            mean=means[model, other],
            signs=replace(_signs(losses[model], losses[other]), among=len(each)),
        )
        for model, other in each
    ]


def _difference(own: DocumentLosses, other: DocumentLosses) -> Difference:
    return paired_loss(_bits(own), _bits(other), own.bytes, own.segments)


def _mean(own: ByLanguage, other: ByLanguage) -> Difference:
    """Over languages; documents that say the same are one observation, not several."""
    return paired_mean(
        [_bits(of) for of in own.values()],
        [_bits(other[language]) for language in own],
        [of.bytes for of in own.values()],
        [of.segments for of in own.values()],
    )


def _signs(own: ByLanguage, other: ByLanguage) -> Signs:
    counted = signs(
        [of.bits_per_byte for of in own.values()],
        [other[language].bits_per_byte for language in own],
        lower_wins=True,
    )
    return replace(counted, translated=_translated(own))


def _translated(by: ByLanguage) -> bool:
    return translated([of.segments for of in by.values()])


def _bits(of: DocumentLosses) -> np.ndarray:
    return np.asarray(of.nats) / math.log(2)
