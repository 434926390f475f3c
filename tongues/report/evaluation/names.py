"""What an evaluation's models are called, and which of them are shown together."""

from collections.abc import Iterator, Sequence

from tongues.evaluate.evaluation import Comparison, Evaluation, TextScores

__all__ = ["compared_with_first", "labels", "same_tokens"]


def labels(evaluation: Evaluation) -> dict[str, str]:
    """The models' names, without the folder that all of them share."""
    names = [model.name for model in evaluation.models]
    folders = [name.split("/")[:-1] for name in names]
    shared = 0
    if len(names) > 1:
        for parts in zip(*folders, strict=False):
            if len(set(parts)) > 1:
                break
            shared += 1
    return {name: "/".join(name.split("/")[shared:]) for name in names}


def compared_with_first(scores: TextScores) -> Sequence[Comparison]:
    """The comparisons with the first model, unless those with the models' bases are the same."""
    began = {(one.model, one.other) for one in scores.forgotten}
    pairs = {(one.model, one.other) for one in scores.compared}
    return [] if pairs <= began else scores.compared


def same_tokens(evaluation: Evaluation) -> Iterator[Sequence[str]]:
    """Models whose perplexities compare: those of one tokenizer that score the same tokens."""
    by: dict[str, list[str]] = {}
    for model in evaluation.models:
        by.setdefault(model.tokenizer, []).append(model.name)
    yield from (names for names in by.values() if len(names) > 1 or len(by) == 1)
