"""The verb train: one run."""

from pathlib import Path

import click

from tongues.cli.options import (
    overrides_argument,
    rebuild_option,
    recipe_argument,
    workspace_option,
)

__all__ = ["train"]


@click.command()
@recipe_argument
@overrides_argument
@workspace_option
@rebuild_option
def train(recipe: Path, overrides: tuple[str, ...], workspace: Path, rebuild: bool) -> None:
    """Train the one run of RECIPE; interrupted, the same command goes on."""
    import tongues
    from tongues.terminal import hint, speaks

    directory = tongues.train(recipe, overrides, workspace, rebuild=rebuild)
    if speaks():
        click.echo(directory)
    hint(f"tongues report {directory}")
