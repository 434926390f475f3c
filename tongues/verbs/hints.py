"""The command that comes next, as a hint at the end of a verb."""

import shlex
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from tongues.verbs.shared import OfRecipe

if TYPE_CHECKING:
    from tongues.recipe import TextRecipe


def hint_again(verb: str, *more: str, without: Collection[str] = ()) -> None:
    """Print the command that runs now with more words; verb: as it is typed.

    without: names of options that are left out.
    """
    from tongues.core.terminal import hint

    context = click.get_current_context()
    words = [verb]
    for parameter in context.command.params:
        name = parameter.name or ""
        value = context.params.get(name)
        values = map(str, value if isinstance(value, tuple) else [value])
        if isinstance(parameter, click.Argument):
            words += map(shlex.quote, values)
        elif name in without or context.get_parameter_source(name) != ParameterSource.COMMANDLINE:
            continue
        elif value is True:
            words.append(parameter.opts[-1])
        else:
            words += [f"{parameter.opts[-1]} {shlex.quote(one)}" for one in values]
    hint(" ".join([*words, *more]))


def hint_next(workspace: Path) -> None:
    """Print that `next` says what to do in a workspace."""
    from tongues.core.terminal import hint

    hint(shlex.join(["tongues", "next", *([] if workspace == Path() else [str(workspace)])]))


def hint_recipe(recipe: "TextRecipe", asked: OfRecipe, *, sound: bool = False) -> None:
    """Print the next step of a recipe that a verb was asked for; sound: it was checked."""
    from tongues.core.terminal import hint
    from tongues.plan.steps import step_of_recipe

    words = [str(asked.recipe), *asked.overrides]
    hint(step_of_recipe(recipe, words, Path(asked.workspace), sound=sound).line)


def hint_runs(folder: Path, workspace: Path) -> None:
    """Print the next step of a run or of a study's folder."""
    from tongues.core.terminal import hint
    from tongues.plan.steps import step_of_runs

    hint(step_of_runs(folder, workspace).line)
