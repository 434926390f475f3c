"""The verb train: one run."""

from pathlib import Path
from typing import Any

import click

from tongues.cli.options import (
    overrides_argument,
    rebuild_option,
    recipe_argument,
    workspace_option,
)
from tongues.errors import UserError

__all__ = ["run_training", "train"]


@click.command()
@recipe_argument
@overrides_argument
@workspace_option
@rebuild_option
def train(recipe: Path, overrides: tuple[str, ...], workspace: Path, rebuild: bool) -> None:
    """Train the one run of RECIPE; interrupted, the same command goes on."""
    from tongues.check import check_recipe
    from tongues.recipe import load_recipe
    from tongues.terminal import hint, say, speaks
    from tongues.tokens import check_tokens

    loaded = load_recipe(recipe, overrides)
    if loaded.study:
        raise UserError("is a study of many runs", where=str(recipe), hint="use `tongues study`")
    if loaded.experts:
        what, instead = "is of many experts", "use `tongues experts train`"
        raise UserError(what, where=str(recipe), hint=instead)
    checked = check_recipe(loaded, workspace)
    for caution in checked.cautions:
        say(str(caution))
    ((plan, _),) = checked.runs
    check_tokens(loaded, workspace)
    directory = run_training(plan, workspace, rebuild)
    if speaks():
        click.echo(directory)
    hint(f"tongues report {directory}")


def run_training(plan: Any, workspace: Path, rebuild: bool) -> Path:
    """Train a run with a live line; returns its directory."""
    from tongues.terminal import progress_line, say
    from tongues.train.run import train as train_run

    with progress_line(plan.name) as show:
        return train_run(
            plan,
            workspace,
            watch=lambda progress: show(progress.share, *progress.words()),
            tell=say,
            rebuild=rebuild,
        )
