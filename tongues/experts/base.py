"""The base that experts branch from, with the tokenizer of their tokens."""

from pathlib import Path

from tongues.experts.words import WORDS
from tongues.recipe import Recipe
from tongues.text.tokens import open_tokens
from tongues.train.base import base_languages, find_base


def with_own_base(
    recipe: Recipe, workspace: Path, *, make: bool
) -> tuple[Recipe, dict[str, tuple[str, ...]], list[str]]:
    """A recipe of experts on its base, the languages that this knows, and notes on it.

    make: whether a base whose tokenizer is trimmed or replaced is made now, once, before the
    experts train next to each other.
    """
    base, notes = recipe.train.base, list[str]()
    if base is None:
        return recipe, {}, notes
    languages = base_languages(base, workspace)
    if make:
        from tongues.train.transplant import transplanted  # torch

        tokens = open_tokens(workspace / "tokens" / recipe.name)
        there = find_base(base.model, workspace)
        if there and not (there / "run.json").is_file():
            notes.append(WORDS["pretrained"])
        if there and (own := transplanted(there, tokens, workspace, notes.append)) != there:
            base = base.model_copy(update={"model": str(own)})
            train = recipe.train.model_copy(update={"base": base})
            recipe = recipe.model_copy(update={"train": train})
    return recipe, {base.model: languages}, notes
