"""A recipe that was changed after its runs continues under another name; theirs stay as is."""

import itertools
from collections.abc import Sequence
from pathlib import Path

from tongues.core.errors import UserError
from tongues.recipe import Recipe, TextRecipe, load_recipe, results_name, show_recipe
from tongues.runs.record import RECIPE
from tongues.text.tokens import check_tokens, runs_trained_on
from tongues.train.plan import run_of_recipe
from tongues.train.record import OTHER_SETTINGS, check_settings
from tongues.train.study import plan_study
from tongues.train.work import open_work


def under_own_name(
    recipe: TextRecipe, words: Sequence[Path | str], workspace: Path
) -> tuple[TextRecipe, list[str]]:
    """A recipe and its words, under another name where its own has runs of other settings.

    The first name and a number that has nothing, or tokens and runs of these very settings.
    """
    key = _other(recipe, workspace)
    if not key:
        return recipe, [*map(str, words)]
    taken = results_name(recipe) if isinstance(recipe, Recipe) and key != "name" else recipe.name
    names = (f"{taken}-{count}" for count in itertools.count(2))
    free = next(x for x in names if _other(_named(recipe, key, x), workspace) != key)
    kept = [word for word in map(str, words) if not word.startswith(f"{key}=")]
    return under_own_name(_named(recipe, key, free), [*kept, f"{key}={free}"], workspace)


def _other(recipe: TextRecipe, workspace: Path) -> str:
    """The key that names what has other settings than the recipe: tokens of runs, or runs."""
    try:
        check_tokens(recipe, workspace)
    except UserError:
        return "name" if runs_trained_on(workspace / "tokens" / recipe.name) else ""
    if isinstance(recipe, Recipe) and _is_changed(recipe, workspace):
        return "name" if recipe.study else "train.run"
    return ""


def _named(recipe: TextRecipe, key: str, name: str) -> TextRecipe:
    if key == "name" or not isinstance(recipe, Recipe):
        return recipe.model_copy(update={"name": name})
    train = recipe.train.model_copy(update={"run": name})
    return recipe.model_copy(update={"train": train})


def _is_changed(recipe: Recipe, workspace: Path) -> bool:
    """Whether a run of this name was trained with other settings; the record alone is read."""
    folder = workspace / "runs" / results_name(recipe)
    if recipe.pilot or recipe.experts or not folder.is_dir():
        return False
    try:
        if recipe.study:
            for plan in plan_study(open_work(recipe, workspace)):
                check_settings(plan, workspace)
        elif (file := folder / RECIPE).is_file() and (
            show_recipe(load_recipe(file)) != show_recipe(recipe)
        ):
            check_settings(run_of_recipe(open_work(recipe, workspace)), workspace)
    except UserError as error:
        return error.code == OTHER_SETTINGS
    return False
