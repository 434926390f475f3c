"""What the losses of several models on texts come to, and which of them differ."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from tongues.estimate import Estimate
from tongues.evaluate.comparing import corrected, leaders, translated
from tongues.evaluate.evaluation import (
    BITS_PER_BYTE,
    NATS_PER_TOKEN,
    Comparison,
    Cost,
    Loss,
    TextScores,
)
from tongues.evaluate.texts import DocumentLosses, bits_per_segment, spelling_cautions
from tongues.significance import (
    Signs,
    holm,
    measured_loss,
    paired_loss,
    paired_mean,
    signs,
    win_rates,
)

__all__ = ["compared_losses", "text_scores"]

ByLanguage: TypeAlias = Mapping[str, DocumentLosses]
Losses: TypeAlias = Mapping[str, ByLanguage]  # by model


def text_scores(
    losses: Losses,
    pairs: Sequence[tuple[str, str]],
    bases: Mapping[str, str],
    *,
    unit: str = BITS_PER_BYTE,
    grown: Mapping[str, Mapping[str, str]] | None = None,
) -> TextScores:
    """Put the losses on one text together.

    losses: of every model those of all languages, or of those that it can score. pairs: which model
    is compared with which other. bases: of models, where the base was evaluated too. unit: of the
    comparisons. grown: of a model that grew, what was there before, by language.
    """
    everywhere = set.union(*(set(by) for by in losses.values()))
    whole = {model: by for model, by in losses.items() if len(by) == len(everywhere)}
    aligned = {model: bits_per_segment(by) for model, by in whole.items()}
    values = {model: [of.bits_per_byte for of in by.values()] for model, by in whole.items()}
    first = next(iter(whole.values()))
    cautions = {
        f"`{model}`, {caution.sentence}": None
        for model, by in losses.items()
        for language, of in by.items()
        for caution in spelling_cautions(language, of)
    }
    return TextScores(
        losses={
            model: {language: _loss(of) for language, of in by.items()}
            for model, by in losses.items()
        },
        unit=unit,
        segments=min((count for count, _ in aligned.values()), default=0),
        bits_per_segment={model: bits for model, (_, bits) in aligned.items() if bits},
        best=win_rates(values, lower_wins=True) if len(values) > 1 else {},
        leaders={language: _leaders(losses, language) for language in first},
        translated=_translated(first),
        compared=compared_losses(losses, _in_all(losses, pairs), unit),
        forgotten=compared_losses(losses, _in_all(losses, list(bases.items())), unit),
        grown=compared_losses(losses, grown or {}, unit),
        cautions=list(cautions),
        costs={model: _cost(by) for model, by in losses.items()},
    )


def compared_losses(
    losses: Losses, pairs: Mapping[str, Mapping[str, str]], unit: str
) -> list[Comparison]:
    """Models versus others, by language: each comparison allows for all that are there.

    pairs: of a model the other one in every language that both have scored.
    """
    languages = corrected(
        {
            model: {
                language: _difference(losses[model][language], losses[other][language], unit)
                for language, other in others.items()
            }
            for model, others in pairs.items()
        }
    )
    count = max((len(by) for by in losses.values()), default=0)
    means = holm(
        {
            model: _mean(losses, model, others, unit)
            for model, others in pairs.items()
            if len(others) == count
        }
    )
    return [
        Comparison(
            model=model,
            other=next(iter(others.values())),
            languages=languages[model],
            mean=means.get(model),
            signs=replace(_signs(losses, model, others), among=len(pairs)),
            others=others if len(set(others.values())) > 1 else {},
        )
        for model, others in pairs.items()
    ]


def _in_all(losses: Losses, pairs: Sequence[tuple[str, str]]) -> dict[str, dict[str, str]]:
    """One other model in all languages that both have scored."""
    return {
        model: {language: other for language in losses[model] if language in losses[other]}
        for model, other in pairs
        if losses[model].keys() & losses[other].keys()
    }


def _loss(of: DocumentLosses) -> Loss:
    return Loss(
        nats_per_token=of.loss,
        perplexity=of.perplexity if math.isfinite(of.perplexity) else None,
        bits_per_byte=measured_loss(of.nats / math.log(2), of.bytes, of.segments),
        documents=len(of.ids),
        tokens=int(of.tokens.sum()),
        bytes=int(of.bytes.sum()),
        of_members=of.of_members,
    )


def _cost(by: ByLanguage) -> Cost:
    tokens = sum(int(of.tokens.sum()) for of in by.values())
    each = [of.cost for of in by.values()]
    return Cost(
        experts_run=sum(cost.experts_run for cost in each) / max(tokens, 1),
        seconds=sum(cost.seconds for cost in each) / max(tokens, 1),
        memory=max(cost.memory for cost in each),
    )


def _leaders(losses: Losses, language: str) -> list[str]:
    of = {model: by[language] for model, by in losses.items() if language in by}
    return leaders(
        {model: one.bits_per_byte for model, one in of.items()},
        lambda own, other: _difference(of[own], of[other], BITS_PER_BYTE),
        languages=max(len(by) for by in losses.values()),
        lower_wins=True,
    )


def _difference(own: DocumentLosses, other: DocumentLosses, unit: str) -> Estimate:
    (one, sizes), (two, _) = _in_unit(own, unit), _in_unit(other, unit)
    return replace(paired_loss(one, two, sizes, own.segments), unit=unit)


def _mean(losses: Losses, model: str, others: Mapping[str, str], unit: str) -> Estimate:
    """Over languages; documents that say the same are one observation, not several."""
    own = [losses[model][language] for language in others]
    mean = paired_mean(
        [_in_unit(of, unit)[0] for of in own],
        [_in_unit(losses[other][language], unit)[0] for language, other in others.items()],
        [_in_unit(of, unit)[1] for of in own],
        [of.segments for of in own],
    )
    return replace(mean, unit=unit)


def _in_unit(of: DocumentLosses, unit: str) -> tuple[np.ndarray, np.ndarray]:
    """The losses of documents, and their sizes."""
    if unit == NATS_PER_TOKEN:
        return of.nats, of.tokens.astype(float)
    return of.nats / math.log(2), of.bytes


def _signs(losses: Losses, model: str, others: Mapping[str, str]) -> Signs:
    counted = signs(
        [losses[model][language].bits_per_byte for language in others],
        [losses[other][language].bits_per_byte for language, other in others.items()],
        lower_wins=True,
    )
    return replace(counted, translated=_translated(losses[model]))


def _translated(by: ByLanguage) -> bool:
    return translated([of.segments for of in by.values()])
