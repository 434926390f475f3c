"""An evaluation in the terminal: rows of its tables, and what was told apart in words."""

from collections.abc import Iterator, Mapping
from typing import Any

from tongues.evaluate.numbers import BITS, POINTS, Unit, bits, guessed, said, share_said
from tongues.significance import (
    Difference,
    Measured,
    Signs,
    about_signs,
    measured_in_words,
    signs_in_words,
)

__all__ = ["accuracy_rows", "comparison_lines", "comparisons", "loss_rows"]


def loss_rows(scores: Mapping[str, Any]) -> list[dict[str, str]]:
    """A row per language: the bits per byte of every model."""
    losses = scores["losses"]
    languages = next(iter(losses.values()))
    return [
        {"language": language}
        | {
            model: measured_in_words(Measured(**by[language]["bits_per_byte"]), bits)
            for model, by in losses.items()
        }
        for language in languages
    ]


def accuracy_rows(scores: Mapping[str, Any]) -> list[dict[str, str]]:
    """A row per language, and the mean: the accuracy of every model, and of guessing."""
    accuracies = scores["accuracies"]
    languages = next(iter(accuracies.values()))
    rows = [
        {"language": language}
        | {
            model: measured_in_words(Measured(**by[language]["measured"]), share_said)
            for model, by in accuracies.items()
        }
        | {"chance": guessed(of["chance"]), "items": str(of["items"])}
        for language, of in languages.items()
    ]
    if len(languages) > 1:
        means = scores["mean"]
        mean = {model: measured_in_words(Measured(**of), share_said) for model, of in means.items()}
        rows.append({"language": "mean", **mean, "chance": guessed(scores["chance"]), "items": ""})
    return rows


def comparison_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Sentences: each model beside the first, and beside what it began with."""
    for text, scores in found["texts"].items():
        began = {(one["model"], one["other"]) for one in scores["forgotten"]}
        for one in scores["compared"]:
            if (one["model"], one["other"]) not in began:
                yield from _compared(text, one, BITS)
        for one in scores["forgotten"]:
            yield from _compared(text, {**one, "other": f"{one['other']} (its seed)"}, BITS)
    for task, scores in found["tasks"].items():
        for one in scores["compared"]:
            yield from _compared(task, one, POINTS)
    yield from about_signs(Signs(**one["signs"]) for one in comparisons(found))


def comparisons(found: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every model beside another, on all texts and tasks."""
    for scores in (*found["texts"].values(), *found["tasks"].values()):
        yield from (*scores["compared"], *scores.get("forgotten", ()))


def _compared(what: str, one: Mapping[str, Any], unit: Unit) -> Iterator[str]:
    yield f"{what}: {one['model']} beside {one['other']}"
    for language, of in one["languages"].items():
        yield f"  {language}: {said(Difference(**of), unit)}"
    if len(one["languages"]) > 1:
        yield f"  mean: {said(Difference(**one['mean']), unit)}"
        yield f"  {signs_in_words(Signs(**one['signs']))}"
