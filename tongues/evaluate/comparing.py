"""Scores of several models on a text, and significant differences between models."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from tongues.core.estimate import Estimate
from tongues.core.significance import (
    holm,
    measured_loss,
    paired_loss,
    paired_mean,
    win_rates,
)
from tongues.evaluate.evaluation import (
    BITS_PER_BYTE,
    NATS_PER_TOKEN,
    Comparison,
    Loss,
    TextScores,
)
from tongues.evaluate.losses import Cost, DocumentLosses, bits_per_segment, spelling_cautions

# Chosen; share of documents or items in several languages, from which they are translations.
_PARALLEL = 0.5

Losses: TypeAlias = Mapping[str, Mapping[str, DocumentLosses]]  # by model and language


def text_scores(
    losses: Losses,
    pairs: Sequence[tuple[str, str]],
    bases: Mapping[str, str],
    *,
    unit: str = BITS_PER_BYTE,
    added: Mapping[str, Mapping[str, str]] | None = None,
) -> TextScores:
    """The scores of all models on one text.

    losses: of every model, for all languages or those that it can score. pairs: the models to
    compare. bases: the base of each model whose base was evaluated too. unit: of the comparisons.
    added: of a model with added languages, the model before, by language.
    """
    count = max(map(len, losses.values()))
    complete = {model: by for model, by in losses.items() if len(by) == count}
    first = next(iter(complete.values()))
    parallel = translated([of.segments for of in first.values()])
    aligned = {model: bits_per_segment(by) for model, by in complete.items() if parallel}
    values = {model: [of.bits_per_byte for of in by.values()] for model, by in complete.items()}
    best: dict[str, list[str]] = {}
    for language in first:
        own = {model: by[language] for model, by in losses.items() if language in by}

        def compare(one: str, other: str, own: Mapping[str, DocumentLosses] = own) -> Estimate:
            return _difference(own[one], own[other], BITS_PER_BYTE)

        scores = {model: of.bits_per_byte for model, of in own.items()}
        if found := leaders(scores, compare, count, lower_wins=True):
            best[language] = found

    def compared(others: Mapping[str, Mapping[str, str]]) -> list[Comparison]:
        each = [_compared_losses(losses, *one, unit, count) for one in others.items() if one[1]]
        return corrected(each)

    def shared(model: str, other: str) -> dict[str, str]:
        return {lang: other for lang in losses[model] if lang in losses[other]}

    cautions = (
        f"`{model}`, {caution.sentence}"
        for model, by in losses.items()
        for language, of in by.items()
        for caution in spelling_cautions(language, of)
    )
    return TextScores(
        losses={
            model: {lang: _loss(of) for lang, of in by.items()} for model, by in losses.items()
        },
        unit=unit,
        segments=min((segments for segments, _ in aligned.values()), default=0),
        bits_per_segment={model: bits for model, (_, bits) in aligned.items() if bits},
        best=win_rates(values, lower_wins=True) if len(values) > 1 else {},
        leaders=best,
        translated=parallel,
        compared=compared({model: shared(model, other) for model, other in pairs}),
        forgotten=compared({model: shared(model, base) for model, base in bases.items()}),
        added=compared(added or {}),
        cautions=list(dict.fromkeys(cautions)),
        costs={model: _cost(list(by.values())) for model, by in losses.items()},
    )


def source_losses(losses: Losses, sources: Mapping[str, Sequence[str]]) -> Losses:
    """The losses of each source, as `LANGUAGE: SOURCE`; of languages that have several.

    sources: where each document is from, by language.
    """
    places = {
        f"{lang}: {title}": (lang, np.flatnonzero(np.array(each, dtype=object) == title))
        for lang, each in sources.items()
        for title in sorted(set(each))
        if len(set(each)) > 1
    }
    return {
        model: {key: by[lang].among(of) for key, (lang, of) in places.items() if lang in by}
        for model, by in losses.items()
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


def _cost(each: Sequence[DocumentLosses]) -> Cost:
    tokens = max(sum(int(of.tokens.sum()) for of in each), 1)
    return Cost(
        experts_run=sum(of.cost.experts_run for of in each) / tokens,
        memory=max(of.cost.memory for of in each),
    )


def _in_unit(of: DocumentLosses, unit: str) -> tuple[np.ndarray, np.ndarray]:
    if unit == NATS_PER_TOKEN:
        return of.nats, of.tokens.astype(float)
    return of.nats / math.log(2), of.bytes


def _difference(own: DocumentLosses, other: DocumentLosses, unit: str) -> Estimate:
    (one, sizes), (two, _) = _in_unit(own, unit), _in_unit(other, unit)
    return replace(paired_loss(one, two, sizes, own.segments), unit=unit)


def _compared_losses(
    losses: Losses, model: str, others: Mapping[str, str], unit: str, count: int
) -> Comparison:
    own = [losses[model][language] for language in others]
    other = [losses[name][language] for language, name in others.items()]
    mean = None
    if len(others) == count:
        nats, sizes = zip(*(_in_unit(of, unit) for of in own), strict=True)
        theirs = [_in_unit(of, unit)[0] for of in other]
        # Translations of a document are one observation, not several.
        mean = replace(paired_mean(nats, theirs, sizes, [of.segments for of in own]), unit=unit)
    differences = [_difference(*both, unit) for both in zip(own, other, strict=True)]
    return Comparison(
        model=model,
        other=next(iter(others.values())),
        languages=dict(zip(others, differences, strict=True)),
        mean=mean,
        others=others if len(set(others.values())) > 1 else {},
    )


def corrected(each: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons with p-values that are Holm-corrected for all languages and pairs."""
    languages = holm(
        {(n, lang): of for n, one in enumerate(each) for lang, of in one.languages.items()}
    )
    means = holm({n: one.mean for n, one in enumerate(each) if one.mean})
    return [
        replace(
            one,
            languages={lang: languages[n, lang] for lang in one.languages},
            mean=means.get(n),
        )
        for n, one in enumerate(each)
    ]


def leaders(
    scores: Mapping[str, float],
    compare: Callable[[str, str], Estimate],
    languages: int,
    *,
    lower_wins: bool = False,
) -> list[str]:
    """The best model, and those without a significant difference from it.

    Corrected for all languages and all pairs of models, since any model may be best by chance;
    empty where the documents are too few for that many comparisons.
    """
    best = (min if lower_wins else max)(scores, key=lambda name: scores[name])
    others = {name: compare(name, best) for name in scores if name != best}
    others = holm(others, among=languages * math.comb(len(scores), 2))
    worse = {name for name, of in others.items() if of.significant}
    if not worse and any(of.reason for of in others.values()):
        return []
    return [name for name in scores if name not in worse]


def translated(languages: Iterable[Collection[str]]) -> bool:
    """Whether most documents or items, by the names of each language's, are in several."""
    counts = Counter(name for of in languages for name in set(of))
    shared = sum(count for count in counts.values() if count > 1)
    return shared > 0 and shared >= _PARALLEL * counts.total()
