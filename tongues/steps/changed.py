"""A recipe that was changed after its runs continues under another name; theirs stay as is."""

import itertools
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tongues.errors import UserError
from tongues.recipe import (
    Recipe,
    TextRecipe,
    in_workspace,
    load_recipe,
    load_text_recipe,
    results_name,
    show_recipe,
    training_verb,
)
from tongues.runs import RECIPE, find_runs
from tongues.steps.step import runs_of
from tongues.study import plan_study
from tongues.tokens import check_tokens, runs_trained_on
from tongues.train.plan import run_of_recipe
from tongues.train.record import OTHER_SETTINGS, check_settings

__all__ = ["command_of_runs", "under_own_name"]


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
    own = [word for word in map(str, words) if not word.startswith(f"{key}=")]
    names = (f"{taken}-{count}" for count in itertools.count(2))
    named = ((name, _named(recipe, key, name)) for name in names)
    name, free = next(pair for pair in named if _is_free(pair[1], key, workspace))
    return under_own_name(free, [*own, f"{key}={name}"], workspace)  # a run may have its own name


def command_of_runs(folder: Path, workspace: Path) -> str:
    """What trains the runs of a folder by a recipe in its workspace, or here; or empty.

    A recipe that was changed since trains others.
    """
    files = dict.fromkeys([*sorted(workspace.glob("*.y*ml")), *sorted(Path().glob("*.y*ml"))])
    for path in files:
        with suppress(UserError):
            recipe, words = under_own_name(load_text_recipe(path), [path], workspace)
            if isinstance(recipe, Recipe) and results_name(recipe) == folder.name:
                named = shlex.join(words) + in_workspace(workspace)
                return f"tongues {training_verb(recipe)} {named}"
    return ""


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


def _is_free(recipe: TextRecipe, key: str, workspace: Path) -> bool:
    """Whether the name under a key has nothing of other settings."""
    if (workspace / "tokens" / recipe.name).exists():
        try:
            check_tokens(recipe, workspace)
        except UserError:
            return False
    if not isinstance(recipe, Recipe) or (key == "name" and recipe.train.run):
        return True
    folder = runs_of(recipe, workspace)
    several = recipe.study or recipe.pilot or recipe.experts
    own = find_runs([folder]) if several and folder.is_dir() else (folder / RECIPE).is_file()
    return not folder.exists() or (bool(own) and not _is_changed(recipe, workspace))


def _is_changed(recipe: Recipe, workspace: Path) -> bool:
    """Whether a run of this name was trained with other settings; the record alone is read."""
    if recipe.pilot or recipe.experts:
        return False
    folder = runs_of(recipe, workspace)
    try:
        check_tokens(recipe, workspace)
        if recipe.study:
            for plan in plan_study(recipe, workspace) if folder.is_dir() else ():
                check_settings(plan, workspace)
        elif (folder / RECIPE).is_file() and _differs(folder / RECIPE, recipe):
            check_settings(run_of_recipe(recipe, workspace), workspace)
    except UserError as error:
        return error.code == OTHER_SETTINGS
    return False


def _differs(file: Path, recipe: Recipe) -> bool:
    return show_recipe(load_recipe(file)) != show_recipe(recipe)
