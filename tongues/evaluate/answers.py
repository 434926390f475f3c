"""Scores of several models on a task, item by item, and significant differences between them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from tongues.core.estimate import Estimate
from tongues.core.significance import (
    Chance,
    chance,
    measured_accuracy,
    measured_mean,
    paired_accuracy,
    relative_score,
    win_rates,
)
from tongues.evaluate.comparing import corrected, leaders, translated
from tongues.evaluate.evaluation import Accuracy, Comparison, TaskScores
from tongues.evaluate.harness import HarnessScores, Metric
from tongues.evaluate.tasks import ItemScore, Normalisation, correct

Answers: TypeAlias = Mapping[str, Mapping[str, Sequence[Sequence[ItemScore]]]]  # model, language
Harness: TypeAlias = Mapping[str, Mapping[str, HarnessScores]]
Facts: TypeAlias = Mapping[str, tuple[int, int]]  # of each item, its choices and the right one

_AGREED = 0.95  # chosen; items with the same right choice, from which all are translations


@dataclass(frozen=True, slots=True, eq=False)
class _Items:
    """A model's values on the items of a language."""

    ids: tuple[str, ...]
    values: np.ndarray  # [draws, items], of an accuracy 1 or 0
    choices: np.ndarray  # [items], the number of each; 0: none, or not of an accuracy
    labels: np.ndarray  # [items], the right choice; -1: not known
    groups: tuple[str, ...]

    def among(self, ids: Sequence[str]) -> "_Items":
        """These items, in this order."""
        place = {item: number for number, item in enumerate(self.ids)}
        places = [place[item] for item in ids]
        values, groups = self.values[:, places], tuple(self.groups[place] for place in places)
        return _Items(tuple(ids), values, self.choices[places], self.labels[places], groups)

    def named(self, language: str) -> "_Items":
        """With names that no other language's items have."""
        return replace(self, ids=tuple(f"{language} {name}" for name in self.ids))

    @property
    def facts(self) -> Facts:
        """Of each item, the number of its choices and the right one."""
        each = zip(self.choices.tolist(), self.labels.tolist(), strict=True)
        return dict(zip(self.ids, each, strict=True))

    @property
    def chance(self) -> Chance | None:
        return chance(self.choices, self.groups) if self.choices.all() else None

    @property
    def accuracy(self) -> Accuracy:
        majority = None
        if self.chance and self.labels.min() >= 0 and len(set(self.labels.tolist())) > 1:
            majority = float(np.bincount(self.labels).max() / len(self.ids))
        sizes = np.unique(np.array(self.groups), return_counts=True)[1]
        worth = float(sizes.sum() ** 2 / (sizes**2).sum())
        counts = (len(self.ids), len(sizes), len(self.values))
        share = _measured([self.values], [self.groups], _unit(self))
        of_few = 2 * worth < len(sizes)
        return Accuracy(share, self.chance, majority, *counts, worth if of_few else None)


ByLanguage: TypeAlias = Mapping[str, _Items]


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
    facts = [of.facts for of in next(iter(right.values())).values()]
    if not _are_translations(facts):  # rows of unrelated items have numbers in common too
        right = {
            model: {lang: of.named(lang) for lang, of in by.items()} for model, by in right.items()
        }
    scores = _scores(right, pairs)
    return replace(scores, normalisation=normalisation, num_fewshot=num_fewshot)


def metric_scores(
    results: Harness,
    pairs: Sequence[tuple[str, str]],
    gap: Callable[[tuple[str, str]], None] = lambda gap: None,
) -> dict[str, TaskScores]:
    """The scores of all models on a task of lm-eval, by metric.

    gap: receives a metric and a language without an item that has a value of every model.
    """
    by_language = next(iter(results.values()))
    first = next(iter(by_language.values()))
    facts = [
        dict(zip(of.keys, zip(of.choices, of.labels, strict=True), strict=False))  # or no keys
        for of in by_language.values()
    ]
    if _are_translations(facts):
        results = {
            model: {lang: replace(of, ids=of.keys) for lang, of in by.items()}
            for model, by in results.items()
        }
    scores: dict[str, TaskScores] = {}
    metrics = {of.name: of for scores in by_language.values() for of in scores.metrics}
    for metric in metrics.values():
        items = {
            model: {
                language: _values(of, own)
                for language, of in by.items()
                for own in of.metrics
                if own.name == metric.name
            }
            for model, by in results.items()
        }
        suited: list[str] = []
        for lang in next(iter(items.values())):
            if set.intersection(*(set(by[lang].ids) for by in items.values())):
                suited.append(lang)
            else:
                gap((metric.name, lang))
        if not suited:
            continue
        items = {model: {lang: by[lang] for lang in suited} for model, by in items.items()}
        of = _scores(items, pairs, lower_wins=not metric.higher_is_better)
        scores[metric.name] = replace(
            of, metric=metric.name, share=metric.share, num_fewshot=first.shots
        )
    return scores


def _are_translations(languages: Sequence[Facts]) -> bool:
    """Whether items of one name are translations of each other.

    Rows of unrelated items have numbers in common too, but not the right choices.
    """
    if not all(languages):
        return False
    named = not all(name.isdecimal() for of in languages for name in of)
    first = languages[0]
    pairs = [(first[name], of[name]) for of in languages[1:] for name in of if name in first]
    alike = sum(one == other for one, other in pairs) >= _AGREED * len(pairs)
    chosen = any(choices for of in languages for choices, _ in of.values())
    return alike and (named or not chosen or len({one for one, _ in pairs}) > 1)


def _right(draws: Sequence[Sequence[ItemScore]], normalisation: Normalisation) -> _Items:
    each = [{score.id: score for score in scores} for scores in draws]
    ids = tuple(item for item in each[0] if all(item in of for of in each))
    rows = [correct([of[item] for item in ids], normalisation) for of in each]
    first = [each[0][item] for item in ids]
    pairs = np.array([(len(score.sums), score.label) for score in first], dtype=int).reshape(-1, 2)
    groups = tuple(score.group or score.id for score in first)
    return _Items(ids, np.array(rows, dtype=float), pairs[:, 0], pairs[:, 1], groups)


def _values(scores: HarnessScores, metric: Metric) -> _Items:
    values = np.array([metric.values], dtype=float)  # None: NaN
    right_or_wrong = {*metric.values} <= {0.0, 1.0}  # and not a share of probability
    accuracy = metric.name.startswith("acc") and right_or_wrong
    choices = np.array(scores.choices) * accuracy
    groups = tuple(map(str, metric.blocks)) or scores.groups
    items = _Items(scores.ids, values, choices, np.array(scores.labels), groups)
    left_out = [bool(np.isnan(column).any()) for column in values.T]
    if not any(left_out):
        return items
    return items.among([of for of, out in zip(scores.ids, left_out, strict=True) if not out])


def _scores(
    items: Mapping[str, ByLanguage], pairs: Sequence[tuple[str, str]], *, lower_wins: bool = False
) -> TaskScores:
    first = next(iter(items.values()))
    means: dict[str, list[float]] = {model: [] for model in items}
    best = {}
    for language in first:
        own = {model: by[language] for model, by in items.items()}
        common = set.intersection(*(set(of.ids) for of in own.values()))
        scores = {model: float(of.among([*common]).values.mean()) for model, of in own.items()}
        for model, score in scores.items():
            means[model].append(score)

        def compare(one: str, other: str, own: ByLanguage = own) -> Estimate:
            both = _in_common(own[one], own[other])
            return _difference(*both)

        if found := leaders(scores, compare, len(first), lower_wins=lower_wins):
            best[language] = found
    return TaskScores(
        normalisation=None,
        num_fewshot=0,
        metric="",
        share=True,
        lower_is_better=lower_wins,
        accuracies={
            model: {lang: of.accuracy for lang, of in by.items()} for model, by in items.items()
        },
        mean={
            model: _measured(*_independent(by), _unit(*by.values()), items=_item_name(by))
            for model, by in items.items()
        },
        chance=_mean_chance(first),
        best=win_rates(means, lower_wins=lower_wins) if len(means) > 1 else {},
        leaders=best,
        translated=_parallel(first),
        compared=corrected([_compared(items, *pair, lower_wins) for pair in pairs]),
    )


def _compared(
    items: Mapping[str, ByLanguage], model: str, other: str, lower_wins: bool
) -> Comparison:
    both = {lang: _in_common(of, items[other][lang]) for lang, of in items[model].items()}
    own = {lang: one for lang, (one, _) in both.items()}
    theirs = {lang: two for lang, (_, two) in both.items()}
    (independent, groups), (baseline, _) = _independent(own), _independent(theirs)
    unit = _unit(*own.values(), *theirs.values())
    return Comparison(
        model=model,
        other=other,
        languages={lang: _difference(of, theirs[lang]) for lang, of in own.items()},
        mean=paired_accuracy(independent, baseline, groups, unit=unit, items=_item_name(own)),
        relative_of={
            lang: relative_score(of.values, theirs[lang].values, of.chance.level, of.groups)
            for lang, of in own.items()
            if of.chance
        },
    )


def _difference(one: _Items, other: _Items) -> Estimate:
    return paired_accuracy(one.values, other.values, one.groups, unit=_unit(one, other))


def _unit(*each: _Items) -> float | None:
    """What one answer can change: 1 of an accuracy, None of another metric."""
    return 1.0 if all(np.isin(of.values, (0.0, 1.0)).all() for of in each) else None


def _in_common(one: _Items, other: _Items) -> tuple[_Items, _Items]:
    there = set(other.ids)
    shared = [item for item in one.ids if item in there]
    return one.among(shared), other.among(shared)


def _measured(
    values: list[np.ndarray],
    groups: list[tuple[str, ...]],
    unit: float | None,
    *,
    items: str = "items",
) -> Estimate:
    if all(np.isin(part, (0.0, 1.0)).all() for part in values):
        return measured_accuracy(values, groups, items=items)
    return measured_mean(values, groups, unit=unit, items=items)


def _parallel(by: ByLanguage) -> bool:
    return translated([of.ids for of in by.values()])


def _item_name(by: ByLanguage) -> str:
    return "items that are not translations of each other" if _parallel(by) else "items"


def _independent(by: ByLanguage) -> tuple[list[np.ndarray], list[tuple[str, ...]]]:
    """The items of all languages, with groups; the mean over translations of an item is one item.

    The mean over them is the mean of the languages' means.
    """
    if not _parallel(by):
        return [of.values for of in by.values()], [of.groups for of in by.values()]
    ids = list(dict.fromkeys(item for of in by.values() for item in of.ids))
    place = {item: number for number, item in enumerate(ids)}
    together = np.zeros((len(next(iter(by.values())).values), len(ids)))
    for of in by.values():
        share = len(ids) / len(of.ids) / len(by)
        together[:, [place[item] for item in of.ids]] += share * of.values
    return [together], [_groups_of_any(by.values(), ids)]


def _groups_of_any(languages: Iterable[_Items], ids: Sequence[str]) -> tuple[str, ...]:
    """The groups of items that any language has in one group, directly or by others."""
    joined = {item: item for item in ids}

    def root(item: str) -> str:
        while joined[item] != item:
            joined[item] = item = joined[joined[item]]
        return item

    for of in languages:
        firsts: dict[str, str] = {}
        for item, group in zip(of.ids, of.groups, strict=True):
            joined[root(item)] = root(firsts.setdefault(group, item))
    return tuple(map(root, ids))


def _mean_chance(by: ByLanguage) -> Chance | None:
    levels = [of.chance for of in by.values() if of.chance]
    if len(levels) < len(by):
        return None
    error = float(np.sqrt(sum(of.error**2 for of in levels))) / len(levels)
    return Chance(float(np.mean([of.level for of in levels])), error)
