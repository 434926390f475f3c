"""An evaluation in the terminal: rows of its tables, and in words what differs."""

from collections.abc import Iterator

from tongues.evaluate.evaluation import Comparison, Evaluation, TaskScores, TextScores
from tongues.evaluate.numbers import BITS, POINTS, Unit, bits, guessed, said, share_said
from tongues.significance import about_signs, measured_in_words, signs_in_words

__all__ = ["accuracy_rows", "comparison_lines", "loss_rows"]


def loss_rows(scores: TextScores) -> list[dict[str, str]]:
    """A row per language: the bits per byte of every model."""
    return [
        {"language": language}
        | {
            model: measured_in_words(by[language].bits_per_byte, bits)
            for model, by in scores.losses.items()
        }
        for language in scores.languages
    ]


def accuracy_rows(scores: TaskScores) -> list[dict[str, str]]:
    """A row per language, and the mean: the accuracy of every model, and of guessing."""
    rows = [
        {"language": language}
        | {
            model: measured_in_words(by[language].share, share_said)
            for model, by in scores.accuracies.items()
        }
        | {"chance": guessed(of.chance), "items": str(of.items)}
        for language, of in next(iter(scores.accuracies.values())).items()
    ]
    if len(rows) > 1:
        mean = {model: measured_in_words(of, share_said) for model, of in scores.mean.items()}
        rows.append({"language": "mean", **mean, "chance": guessed(scores.chance), "items": ""})
    return rows


def comparison_lines(evaluation: Evaluation) -> Iterator[str]:
    """Sentences: each model versus the first, and versus its base."""
    for text, scores in evaluation.texts.items():
        began = {(one.model, one.other) for one in scores.forgotten}
        for one in scores.compared:
            if (one.model, one.other) not in began:
                yield from _compared(text, one, BITS)
        for one in scores.forgotten:
            yield from _compared(text, one, BITS, " (its seed)")
    for task, scores in evaluation.tasks.items():
        for one in scores.compared:
            yield from _compared(task, one, POINTS)
    yield from about_signs(one.signs for one in evaluation.comparisons)


def _compared(what: str, one: Comparison, unit: Unit, role: str = "") -> Iterator[str]:
    yield f"{what}: {one.model} beside {one.other}{role}"
    for language, of in one.languages.items():
        yield f"  {language}: {said(of, unit)}"
    if len(one.languages) > 1 and one.mean:
        yield f"  mean: {said(one.mean, unit)}"
        yield f"  {signs_in_words(one.signs)}"
