"""Scores of several models on a text or task, and significant differences between them."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from tongues.estimate import Estimate
from tongues.evaluate.evaluation import (
    BITS_PER_BYTE,
    NATS_PER_TOKEN,
    Accuracy,
    Comparison,
    Cost,
    Loss,
    TaskScores,
    TextScores,
)
from tongues.evaluate.losses import DocumentLosses, bits_per_segment, spelling_cautions
from tongues.evaluate.tasks import ItemScore, Normalisation, correct
from tongues.significance import (
    Chance,
    chance,
    holm,
    measured_accuracy,
    measured_loss,
    paired_accuracy,
    paired_loss,
    paired_mean,
    relative_score,
    signs,
    win_rates,
)

__all__ = ["task_scores", "text_scores"]

_PARALLEL = (
    0.5  # share of documents or items in several languages, from which they are translations
)

Losses: TypeAlias = Mapping[str, Mapping[str, DocumentLosses]]  # by model and language
Answers: TypeAlias = Mapping[str, Mapping[str, Sequence[Sequence[ItemScore]]]]  # and draw


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
    aligned = {model: bits_per_segment(by) for model, by in complete.items()}
    values = {model: [of.bits_per_byte for of in by.values()] for model, by in complete.items()}
    first = next(iter(complete.values()))
    leaders: dict[str, list[str]] = {}
    for language in first:
        own = {model: by[language] for model, by in losses.items() if language in by}

        def compare(one: str, other: str, own: Mapping[str, DocumentLosses] = own) -> Estimate:
            return _difference(own[one], own[other], BITS_PER_BYTE)

        scores = {model: of.bits_per_byte for model, of in own.items()}
        leaders[language] = _leaders(scores, compare, count, lower_wins=True)

    def compared(others: Mapping[str, Mapping[str, str]]) -> list[Comparison]:
        each = [_compared_losses(losses, *one, unit, count) for one in others.items() if one[1]]
        return _corrected(each)

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
        leaders=leaders,
        translated=_translated([of.segments for of in first.values()]),
        compared=compared({model: shared(model, other) for model, other in pairs}),
        forgotten=compared({model: shared(model, base) for model, base in bases.items()}),
        added=compared(added or {}),
        cautions=list(dict.fromkeys(cautions)),
        costs={model: _cost(list(by.values())) for model, by in losses.items()},
    )


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
        seconds=sum(of.cost.seconds for of in each) / tokens,
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
    rates = [[of.bits_per_byte for of in side] for side in (own, other)]
    translated = _translated([of.segments for of in losses[model].values()])
    differences = [_difference(*both, unit) for both in zip(own, other, strict=True)]
    return Comparison(
        model=model,
        other=next(iter(others.values())),
        languages=dict(zip(others, differences, strict=True)),
        mean=mean,
        signs=replace(signs(*rates, lower_wins=True), translated=translated),
        others=others if len(set(others.values())) > 1 else {},
    )


def _corrected(each: Sequence[Comparison]) -> list[Comparison]:
    languages = holm(
        {(n, lang): of for n, one in enumerate(each) for lang, of in one.languages.items()}
    )
    means = holm({n: one.mean for n, one in enumerate(each) if one.mean})
    return [
        replace(
            one,
            languages={lang: languages[n, lang] for lang in one.languages},
            mean=means.get(n),
            signs=replace(one.signs, among=len(each)),
        )
        for n, one in enumerate(each)
    ]


def _leaders(
    scores: Mapping[str, float],
    compare: Callable[[str, str], Estimate],
    languages: int,
    *,
    lower_wins: bool = False,
) -> list[str]:
    """The best model, and those without a significant difference from it.

    Corrected for all languages and all pairs of models, since any model may be best by chance.
    """
    best = (min if lower_wins else max)(scores, key=lambda name: scores[name])
    others = {name: compare(name, best) for name in scores if name != best}
    others = holm(others, among=languages * math.comb(len(scores), 2))
    return [name for name in scores if name == best or not others[name].significant]


def _translated(languages: Iterable[Collection[str]]) -> bool:
    counts = Counter(name for of in languages for name in set(of))
    shared = sum(count for count in counts.values() if count > 1)
    return shared > 0 and shared >= _PARALLEL * counts.total()


@dataclass(frozen=True, slots=True, eq=False)
class _Correct:
    ids: tuple[str, ...]
    right: np.ndarray  # [draws, items]
    choices: np.ndarray  # [items], the number of each

    def among(self, ids: Sequence[str]) -> "_Correct":
        """These items, in this order."""
        place = {item: number for number, item in enumerate(self.ids)}
        places = [place[item] for item in ids]
        return _Correct(tuple(ids), self.right[:, places], self.choices[places])


ByLanguage: TypeAlias = Mapping[str, _Correct]


def task_scores(
    answers: Answers,
    pairs: Sequence[tuple[str, str]],
    normalisation: Normalisation,
    num_fewshot: int,
) -> TaskScores:
    """The scores of all models on one task; pairs: the models to compare.

    Every language must have an item that all models answered in every draw.
    """
    right = {
        model: {language: _right(draws, normalisation) for language, draws in by.items()}
        for model, by in answers.items()
    }
    first = next(iter(right.values()))
    values: dict[str, list[float]] = {model: [] for model in right}
    leaders = {}
    for language in first:
        own = {model: by[language] for model, by in right.items()}
        common = set.intersection(*(set(of.ids) for of in own.values()))
        scores = {model: float(of.among([*common]).right.mean()) for model, of in own.items()}
        for model, score in scores.items():
            values[model].append(score)

        def compare(one: str, other: str, own: ByLanguage = own) -> Estimate:
            return paired_accuracy(*(of.right for of in _in_common(own[one], own[other])))

        leaders[language] = _leaders(scores, compare, len(first))
    return TaskScores(
        normalisation=normalisation,
        num_fewshot=num_fewshot,
        accuracies={
            model: {
                lang: Accuracy(
                    measured_accuracy(of.right), chance(of.choices), len(of.ids), len(of.right)
                )
                for lang, of in by.items()
            }
            for model, by in right.items()
        },
        mean={
            model: measured_accuracy(_independent(by), items=_item_name(by))
            for model, by in right.items()
        },
        chance=_mean_chance(first),
        best=win_rates(values) if len(values) > 1 else {},
        leaders=leaders,
        translated=_parallel(first),
        compared=_corrected([_compared_answers(right, *pair) for pair in pairs]),
    )


def _right(draws: Sequence[Sequence[ItemScore]], normalisation: Normalisation) -> _Correct:
    each = [{score.id: score for score in scores} for scores in draws]
    ids = tuple(item for item in each[0] if all(item in of for of in each))
    rows = [correct([of[item] for item in ids], normalisation) for of in each]
    choices = np.array([len(each[0][item].sums) for item in ids])
    return _Correct(ids, np.array(rows, dtype=float), choices)


def _in_common(one: _Correct, other: _Correct) -> tuple[_Correct, _Correct]:
    there = set(other.ids)
    shared = [item for item in one.ids if item in there]
    return one.among(shared), other.among(shared)


def _compared_answers(right: Mapping[str, ByLanguage], model: str, other: str) -> Comparison:
    both = {lang: _in_common(of, right[other][lang]) for lang, of in right[model].items()}
    own = {lang: one for lang, (one, _) in both.items()}
    theirs = {lang: two for lang, (_, two) in both.items()}
    means = [[float(of.right.mean()) for of in by.values()] for by in (own, theirs)]
    pair, items = (_independent(own), _independent(theirs)), _item_name(own)
    return Comparison(
        model=model,
        other=other,
        languages={lang: paired_accuracy(of.right, theirs[lang].right) for lang, of in own.items()},
        mean=paired_accuracy(*pair, items=items),
        signs=replace(signs(*means), translated=_parallel(own)),
        relative=relative_score(*pair, _mean_chance(own).level, items=items),
        relative_of={
            lang: relative_score(of.right, theirs[lang].right, chance(of.choices).level)
            for lang, of in own.items()
        },
    )


def _parallel(by: ByLanguage) -> bool:
    return _translated([of.ids for of in by.values()])


def _item_name(by: ByLanguage) -> str:
    return "items that are not translations of each other" if _parallel(by) else "items"


def _independent(by: ByLanguage) -> list[np.ndarray]:
    """The independent items of all languages; the mean over translations of an item is one item.

    The mean over them is the mean of the languages' means.
    """
    if not _parallel(by):
        return [of.right for of in by.values()]
    ids = list(dict.fromkeys(item for of in by.values() for item in of.ids))
    place = {item: number for number, item in enumerate(ids)}
    together = np.zeros((len(next(iter(by.values())).right), len(ids)))
    for of in by.values():
        share = len(ids) / len(of.ids) / len(by)
        together[:, [place[item] for item in of.ids]] += share * of.right
    return [together]


def _mean_chance(by: ByLanguage) -> Chance:
    levels = [chance(of.choices) for of in by.values()]
    error = float(np.sqrt(sum(of.error**2 for of in levels))) / len(levels)
    return Chance(float(np.mean([of.level for of in levels])), error)
