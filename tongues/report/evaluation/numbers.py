"""The few numbers of an evaluation to remember, in large."""

from collections.abc import Iterator

from tongues.evaluate.numbers import bits, guessed, share_said
from tongues.report.evaluation.cells import between
from tongues.report.evaluation.found import Found, difference, labels, overall
from tongues.report.html import number_card

__all__ = ["number_cards"]

_MOST = 4


def number_cards(found: Found) -> str:
    """At most four: the largest difference told of a text, the worst forgetting, accuracies."""
    made = [*_apart(found), *_forgotten(found), *_accuracies(found)][:_MOST]
    return f'<div class="numbers">{"".join(made)}</div>' if made else ""


def _apart(found: Found) -> Iterator[str]:
    """Of each text, the model that differs most from the first."""
    names = labels(found)
    for text, scores in found["texts"].items():
        told = [(overall(one), one) for one in scores["compared"] if overall(one).told]
        if not told:
            continue
        most, one = max(told, key=lambda pair: abs(pair[0].mean))
        lower = most.mean < 0
        less = "fewer" if lower else "more"
        what = (
            f"bits per byte {less} on `{text}`: `{names[one['model']]}` beside "
            f"`{names[one['other']]}`"
        )
        ends = (most.low, most.high)
        low, high = (
            None if end is None else abs(end) for end in (reversed(ends) if lower else ends)
        )
        yield number_card(bits(abs(most.mean)), between(low, high, bits), what)


def _forgotten(found: Found) -> Iterator[str]:
    """The language of which most was forgotten."""
    names = labels(found)
    worse = [
        (of, one, language)
        for scores in found["texts"].values()
        for one in scores["forgotten"]
        for language, kept in one["languages"].items()
        if (of := difference(kept)).told > 0
    ]
    if worse:
        most, one, language = max(worse, key=lambda cell: cell[0].mean)
        what = f"bits per byte of `{language}` forgotten by `{names[one['model']]}`, most of all"
        yield number_card(f"+{bits(most.mean)}", between(most.low, most.high, bits), what)


def _accuracies(found: Found) -> Iterator[str]:
    """The highest accuracy of each task."""
    names = labels(found)
    for task, scores in found["tasks"].items():
        means = {model: float(of["value"]) for model, of in scores["mean"].items()}
        model = max(means, key=lambda name: means[name])
        first = [name for name, value in means.items() if value == means[model]]
        most = f", the highest of {len(means)}" if len(first) == 1 < len(means) else ""
        what = f"of `{task}` answered rightly by `{names[model]}`{most}"
        yield number_card(share_said(means[model]), f"chance {guessed(scores['chance'])}", what)
