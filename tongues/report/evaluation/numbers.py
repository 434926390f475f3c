"""The few numbers of an evaluation to remember, in large."""

from collections.abc import Iterator

from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.numbers import bits, guessed, share_said
from tongues.report.evaluation.cells import between
from tongues.report.evaluation.names import labels
from tongues.report.html import number_card

__all__ = ["number_cards"]

_MOST = 4


def number_cards(evaluation: Evaluation) -> str:
    """At most four: the largest difference told of a text, the worst forgetting, accuracies."""
    made = [*_apart(evaluation), *_forgotten(evaluation), *_accuracies(evaluation)][:_MOST]
    return f'<div class="numbers">{"".join(made)}</div>' if made else ""


def _apart(evaluation: Evaluation) -> Iterator[str]:
    """Of each text, the model that differs most from the first."""
    names = labels(evaluation)
    for text, scores in evaluation.texts.items():
        told = [(one.overall, one) for one in scores.compared if one.overall.significant]
        if not told:
            continue
        most, one = max(told, key=lambda pair: abs(pair[0].value))
        lower = most.value < 0
        less = "fewer" if lower else "more"
        size = most.times(-1.0 if lower else 1.0)
        what = f"bits per byte {less} on `{text}`: `{names[one.model]}` beside `{names[one.other]}`"
        yield number_card(bits(size.value), between(size, bits), what)


def _forgotten(evaluation: Evaluation) -> Iterator[str]:
    """The language of which most was forgotten."""
    names = labels(evaluation)
    worse = [
        (of, one, language)
        for scores in evaluation.texts.values()
        for one in scores.forgotten
        for language, of in one.languages.items()
        if of.significant > 0
    ]
    if worse:
        most, one, language = max(worse, key=lambda cell: cell[0].value)
        what = f"bits per byte of `{language}` forgotten by `{names[one.model]}`, most of all"
        yield number_card(f"+{bits(most.value)}", between(most, bits), what)


def _accuracies(evaluation: Evaluation) -> Iterator[str]:
    """The highest accuracy of each task."""
    names = labels(evaluation)
    for task, scores in evaluation.tasks.items():
        means = {model: of.value for model, of in scores.mean.items()}
        model = max(means, key=lambda name: means[name])
        first = [name for name, value in means.items() if value == means[model]]
        most = f", the highest of {len(means)}" if len(first) == 1 < len(means) else ""
        what = f"of `{task}` answered rightly by `{names[model]}`{most}"
        yield number_card(share_said(means[model]), f"chance {guessed(scores.chance)}", what)
