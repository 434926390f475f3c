"""The commands that recipes of a folder are for."""

import shlex
from contextlib import suppress
from pathlib import Path

from tongues.core.errors import UserError
from tongues.recipe.loading import load_text_recipe
from tongues.recipe.recipe import Recipe


def in_workspace(workspace: Path) -> str:
    """The option that names a workspace, behind a command; nothing for the working directory."""
    return "" if workspace == Path() else f" --workspace {shlex.quote(str(workspace))}"


def results_name(recipe: Recipe) -> str:
    """The name of a recipe's run, or what the names of its runs and ensembles begin with."""
    several = recipe.study or recipe.pilot or recipe.experts
    return recipe.name if several else recipe.train.run or recipe.name


def training_verb(recipe: Recipe) -> str:
    """What trains a recipe whose text is prepared."""
    return (
        "experts train" if recipe.experts else "study" if recipe.study or recipe.pilot else "train"
    )


def training_command(name: str, workspace: Path) -> str:
    """What trains a run, a study or an ensemble by a recipe in its workspace, or here; or empty."""
    files = dict.fromkeys([*sorted(workspace.glob("*.y*ml")), *sorted(Path().glob("*.y*ml"))])
    for path in files:
        with suppress(UserError):
            recipe = load_text_recipe(path)
            if isinstance(recipe, Recipe) and f"{name}/".startswith(f"{results_name(recipe)}/"):
                verb, file = training_verb(recipe), shlex.quote(str(path))
                return f"tongues {verb} {file}{in_workspace(workspace)}"
    return ""
