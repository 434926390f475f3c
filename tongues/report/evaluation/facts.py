"""What an evaluation says, as facts: the model to take, what changed, and what to doubt."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from tongues.core.estimate import Estimate
from tongues.core.roles import Role
from tongues.core.significance import detectable
from tongues.core.significance.signs import fewest_languages, fewest_wins
from tongues.evaluate.choice import Choice, roles_by_language
from tongues.evaluate.evaluation import Comparison, Evaluation, TaskScores
from tongues.report.evaluation.measures import Measure


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which models to take by a text or a task; best: languages by their best models."""

    measure: Measure
    choice: Choice
    best: Mapping[tuple[str, ...], Sequence[str]]

    @classmethod
    def of(cls, evaluation: Evaluation, measure: Measure) -> Self:
        """That of a text or a task of an evaluation."""
        choice = Choice.of(evaluation, measure.scores)
        return cls(measure, choice, _best(measure, choice))

    @property
    def kind(self) -> Literal["open", "equal", "take", "split"]:
        """open: not decided; split: no model is best in every language."""
        if not self.choice.decided:
            return "open"
        if len(self.choice.models) == len(self.measure.values):
            return "equal"
        return "take" if self.choice.models else "split"

    @property
    def roles(self) -> list[Role]:
        """Of the languages that count, targets first."""
        each: set[Role]
        each = {role for lang in self.choice.counted for role in self.choice.roles[lang]}
        return sorted(each, reverse=True)


def _best(measure: Measure, choice: Choice) -> dict[tuple[str, ...], list[str]]:
    """Languages by their best models, where other models are worse; targets first."""
    best: dict[tuple[str, ...], list[str]] = {}
    tested = [lang for lang in choice.counted if lang not in choice.untested]
    for lang in sorted(tested, key=lambda lang: choice.roles[lang], reverse=True):
        if len(leaders := measure.leaders(lang)) < len(measure.values):
            best.setdefault(tuple(leaders), []).append(lang)
    return best


@dataclass(frozen=True, slots=True)
class Change:
    """A model's differences from another on the languages of a role; None: of any or of several."""

    measure: Measure
    comparison: Comparison
    from_base: bool
    role: Role | None
    languages: Mapping[str, Estimate]


def changes(evaluation: Evaluation, measure: Measure) -> Iterator[Change]:
    """All differences on a text or a task, those from bases first."""
    roles = roles_by_language(evaluation, measure.scores.languages)
    for reference, comparisons in measure.versus.items():
        for comparison in comparisons:
            groups: dict[Role | None, dict[str, Estimate]] = {}
            for lang, of in measure.differences(comparison).items():
                role = roles[lang][0] if len(roles[lang]) == 1 else None
                groups.setdefault(role, {})[lang] = of
            for role, members in groups.items():
                yield Change(measure, comparison, reference == "base", role, members)


@dataclass(frozen=True, slots=True)
class Doubts:
    """Why an evaluation may say less than it seems to."""

    at_chance: Sequence[Measure]  # tasks on which no model is significantly above guessing
    values: Sequence[Estimate]  # everything that was measured, some without a test
    translated: bool  # whether wins are counted over languages that are translations
    languages: int | None  # that a sign test needs, where there are fewer
    contexts: bool  # whether models read texts in windows of different lengths

    @classmethod
    def of(cls, evaluation: Evaluation, measures: Sequence[Measure]) -> Self:
        """Those about an evaluation."""
        values = [of for m in measures for by in m.values.values() for of in by.values()]
        for each in evaluation.comparisons:
            values += [*each.languages.values(), each.overall]
        signs = [
            comparison.signs
            for measure in measures
            if not measure.roles
            for comparison in (*measure.scores.versus_base, *measure.scores.compared)
            if len(comparison.languages) > 1
        ]
        sole = [of for of in signs if not of.translated]
        few = [of for of in sole if fewest_wins(of.wins + of.losses, of.among) is None]
        contexts = {model.context for model in evaluation.models}
        return cls(
            [measure for measure in measures if _at_chance(measure)],
            values,
            len(sole) < len(signs),
            max((fewest_languages(of.among) for of in few), default=None),
            bool(evaluation.texts) and evaluation.policy.window is None and len(contexts) > 1,
        )


def _at_chance(measure: Measure) -> bool:
    if not (isinstance(measure.scores, TaskScores) and measure.scores.chance):
        return False
    guessed = guessed_languages(measure)
    every = len(measure.scores.languages)
    return len(measure.values) > 1 and all(len(of) == every for of in guessed.values())


def guessed_languages(measure: Measure) -> dict[str, list[str]]:
    """By model, the languages of a task where it is not significantly better than guessing."""
    assert isinstance(measure.scores, TaskScores)
    return {
        model: [lang for lang, of in by.items() if (of.share.low or 0.0) <= of.guessing]
        for model, by in measure.scores.accuracies.items()
    }


def detectable_differences(measure: Measure, model: str) -> tuple[float, float] | None:
    """What comparisons of a model, or of all, with the first could detect: the least, the most."""
    compared = [each for each in measure.scores.versus_first if model in ("", each.model)]
    each = [detectable(of) for one in compared for of in measure.differences(one).values()]
    ends = sorted(of for of in each if of is not None)
    return (ends[0], ends[-1]) if ends else None
