"""What an evaluation says, as facts: the model to take, and its doubts."""

from collections.abc import Iterator, Sequence
from typing import Literal

from tongues.core.estimate import Estimate
from tongues.core.significance import detectable
from tongues.evaluate.choice import Choice
from tongues.evaluate.evaluation import Evaluation, TaskScores
from tongues.report.evaluation.tables import Measure


def kind_of_choice(measure: Measure, choice: Choice) -> Literal["open", "equal", "take", "split"]:
    """open: not decided; split: no model is best in every language."""
    if not choice.decided:
        return "open"
    if len(choice.models) == len(measure.values):
        return "equal"
    return "take" if choice.models else "split"


def best_models(measure: Measure, choice: Choice) -> dict[tuple[str, ...], list[str]]:
    """Languages by their best models, where other models are worse; targets first."""
    best: dict[tuple[str, ...], list[str]] = {}
    tested = [lang for lang in choice.counted if lang not in choice.untested]
    for lang in sorted(tested, key=lambda lang: choice.roles[lang], reverse=True):
        if len(leaders := measure.leaders(lang)) < len(measure.values):
            best.setdefault(tuple(leaders), []).append(lang)
    return best


def measured_values(evaluation: Evaluation, measures: Sequence[Measure]) -> Iterator[Estimate]:
    """Everything that was measured, some without a test."""
    for measure in measures:
        for by in measure.values.values():
            yield from by.values()
    for each in evaluation.comparisons:
        yield from (*each.languages.values(), each.overall)


def at_chance(measure: Measure) -> bool:
    """Whether this is a task on which no model is significantly above guessing."""
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
