"""What `scores.json` holds, as tables, figures and words ask for it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tongues.significance import Difference, Measured

__all__ = [
    "Found",
    "beside_first",
    "difference",
    "labels",
    "languages_of",
    "measured",
    "overall",
    "same_tokens",
]

Found = Mapping[str, Any]


def labels(found: Found) -> dict[str, str]:
    """The models' names, without the folder that all of them share."""
    names = [about["name"] for about in found["models"]]
    folders = [name.split("/")[:-1] for name in names]
    shared = 0
    if len(names) > 1:
        for parts in zip(*folders, strict=False):
            if len(set(parts)) > 1:
                break
            shared += 1
    return {name: "/".join(name.split("/")[shared:]) for name in names}


def languages_of(by_model: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The languages of losses or accuracies."""
    return list(next(iter(by_model.values())))


def measured(of: Mapping[str, Any]) -> Measured:
    """A value as it was kept."""
    return Measured(**of)


def difference(of: Mapping[str, Any]) -> Difference:
    """A difference as it was kept."""
    return Difference(**of)


def overall(comparison: Mapping[str, Any]) -> Difference:
    """Of the mean over languages, or of the only one."""
    languages = list(comparison["languages"].values())
    return difference(comparison["mean"] if len(languages) > 1 else languages[0])


def beside_first(scores: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The comparisons with the first model, unless those with the models' seeds are the same."""
    began = {(one["model"], one["other"]) for one in scores["forgotten"]}
    pairs = {(one["model"], one["other"]) for one in scores["compared"]}
    return [] if pairs <= began else scores["compared"]


def same_tokens(found: Found) -> Iterator[Sequence[str]]:
    """Models whose perplexities compare: those of one tokenizer that score the same tokens."""
    by: dict[str, list[str]] = {}
    for about in found["models"]:
        by.setdefault(about["tokenizer"], []).append(about["name"])
    yield from (names for names in by.values() if len(names) > 1 or len(by) == 1)
