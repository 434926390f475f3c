"""What the answers of several models to a task come to, and which models differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tongues.estimate import Estimate
from tongues.evaluate.comparing import corrected, leaders, translated
from tongues.evaluate.evaluation import Accuracy, Comparison, TaskScores
from tongues.evaluate.tasks import ItemScore, Normalisation, correct
from tongues.significance import (
    Chance,
    Signs,
    chance,
    holm,
    measured_accuracy,
    paired_accuracy,
    relative_score,
    signs,
    win_rates,
)

__all__ = ["task_scores"]

Answers = Mapping[str, Mapping[str, Sequence[Sequence[ItemScore]]]]  # model, language, draw


@dataclass(frozen=True, slots=True, eq=False)
class _Right:
    """Which items a model answered rightly in each draw."""

    ids: tuple[str, ...]
    right: np.ndarray  # [draws, items]
    choices: np.ndarray  # [items], how many each has

    def of(self, ids: Sequence[str]) -> np.ndarray:
        """Of these items alone [draws, items]."""
        place = {item: number for number, item in enumerate(self.ids)}
        return self.right[:, [place[item] for item in ids]]


ByLanguage = Mapping[str, _Right]
Right = Mapping[str, ByLanguage]  # by model


def task_scores(
    answers: Answers,
    pairs: Sequence[tuple[str, str]],
    normalisation: Normalisation,
    shots: int,
) -> TaskScores:
    """Put the answers to one task together; pairs: which model is compared with which other.

    In every language there must be an item that all models answered in every draw.
    """
    right = {
        model: {language: _right(draws, normalisation) for language, draws in by.items()}
        for model, by in answers.items()
    }
    accuracies = {
        model: {language: _accuracy(of) for language, of in by.items()}
        for model, by in right.items()
    }
    first = next(iter(right.values()))
    alike = {language: _alike(right, language) for language in first}
    values = {model: [by[model] for by in alike.values()] for model in right}
    return TaskScores(
        normalisation=normalisation,
        shots=shots,
        accuracies=accuracies,
        mean={
            model: measured_accuracy(_languages(by), items=_counted(by))
            for model, by in right.items()
        },
        chance=_mean_chance(first),
        best=win_rates(values) if len(values) > 1 else {},
        leaders={language: _leaders(right, language, alike[language]) for language in first},
        translated=_translated(first),
        compared=_compared(right, pairs),
    )


def _right(draws: Sequence[Sequence[ItemScore]], normalisation: Normalisation) -> _Right:
    """The items that were answered in every draw."""
    ids = [score.id for score in draws[0]]
    for scores in draws[1:]:
        answered = {score.id for score in scores}
        ids = [item for item in ids if item in answered]
    rows = []
    for scores in draws:
        by_id = {score.id: score for score in scores}
        rows.append(correct([by_id[item] for item in ids], normalisation))
    by_id = {score.id: score for score in draws[0]}
    choices = np.array([len(by_id[item].sums) for item in ids])
    return _Right(tuple(ids), np.array(rows, dtype=float), choices)


def _accuracy(of: _Right) -> Accuracy:
    return Accuracy(measured_accuracy(of.right), chance(of.choices), len(of.ids), len(of.right))


def _compared(right: Right, pairs: Sequence[tuple[str, str]]) -> list[Comparison]:
    """The pairs of models, each allowing for the others."""
    shared = {pair: _shared(right[pair[0]], right[pair[1]]) for pair in pairs}
    languages = corrected(
        {
            pair: {
                language: paired_accuracy(of.right, theirs[language].right)
                for language, of in own.items()
            }
            for pair, (own, theirs) in shared.items()
        }
    )
    means = holm(
        {
            pair: paired_accuracy(_languages(own), _languages(theirs), items=_counted(own))
            for pair, (own, theirs) in shared.items()
        }
    )
    return [
        Comparison(
            model=pair[0],
            other=pair[1],
            languages=languages[pair],
            mean=means[pair],
            signs=replace(_signs(own, theirs), among=len(shared)),
            relative=relative_score(
                _languages(own), _languages(theirs), _mean_chance(own).level, items=_counted(own)
            ),
            relative_of={
                language: relative_score(of.right, theirs[language].right, chance(of.choices).level)
                for language, of in own.items()
            },
        )
        for pair, (own, theirs) in shared.items()
    ]


def _shared(own: ByLanguage, other: ByLanguage) -> tuple[ByLanguage, ByLanguage]:
    """Two models by language, on the items that both answered."""
    both = {language: _in_common(of, other[language]) for language, of in own.items()}
    return {key: of[0] for key, of in both.items()}, {key: of[1] for key, of in both.items()}


def _signs(own: ByLanguage, other: ByLanguage) -> Signs:
    counted = signs(
        [float(of.right.mean()) for of in own.values()],
        [float(of.right.mean()) for of in other.values()],
    )
    return replace(counted, translated=_translated(own))


def _alike(right: Right, language: str) -> dict[str, float]:
    """The models' accuracies on the items that all of them answered."""
    of = {model: by[language] for model, by in right.items()}
    ids = sorted(set.intersection(*(set(one.ids) for one in of.values())))
    return {model: float(one.of(ids).mean()) for model, one in of.items()}


def _leaders(right: Right, language: str, scores: Mapping[str, float]) -> list[str]:
    of = {model: by[language] for model, by in right.items()}

    def compare(model: str, other: str) -> Estimate:
        own, theirs = _in_common(of[model], of[other])
        return paired_accuracy(own.right, theirs.right)

    return leaders(scores, compare, languages=len(next(iter(right.values()))))


def _in_common(one: _Right, other: _Right) -> tuple[_Right, _Right]:
    """The two on the items that both answered."""
    kept = set(other.ids)
    ids = tuple(item for item in one.ids if item in kept)
    place = {item: number for number, item in enumerate(one.ids)}
    choices = one.choices[[place[item] for item in ids]]
    return _Right(ids, one.of(ids), choices), _Right(ids, other.of(ids), choices)


def _languages(by: ByLanguage) -> list[np.ndarray]:
    """What of all languages is independent: each one's items, or translations taken together.

    The mean over all of it is the mean of the languages' means.
    """
    if not _translated(by):
        return [of.right for of in by.values()]
    ids = list(dict.fromkeys(item for of in by.values() for item in of.ids))
    place = {item: number for number, item in enumerate(ids)}
    together = np.zeros((len(next(iter(by.values())).right), len(ids)))
    for of in by.values():
        share = len(ids) / len(of.ids) / len(by)
        together[:, [place[item] for item in of.ids]] += share * of.right
    return [together]


def _counted(by: ByLanguage) -> str:
    """What counts as one in the mean over languages."""
    return "items that are no translations of each other" if _translated(by) else "items"


def _translated(by: ByLanguage) -> bool:
    return translated([of.ids for of in by.values()])


def _mean_chance(by: ByLanguage) -> Chance:
    """Of the mean over languages."""
    levels = [chance(of.choices) for of in by.values()]
    error = float(np.sqrt(sum(of.error**2 for of in levels))) / len(levels)
    return Chance(float(np.mean([of.level for of in levels])), error)
