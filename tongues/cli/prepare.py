"""The verb prepare: from text to tokens."""

from pathlib import Path

import click

from tongues.cli.options import (
    launch_options,
    overrides_argument,
    ranks_option,
    rebuild_option,
    recipe_argument,
    training_verb,
    workspace_option,
)

__all__ = ["prepare"]


@click.command()
@recipe_argument
@overrides_argument
@workspace_option
@rebuild_option
@ranks_option
@launch_options
def prepare(
    recipe: Path,
    overrides: tuple[str, ...],
    workspace: Path,
    rebuild: bool,
    ranks: int | None,
    launcher: str,
    partition: str | None,
    time: str | None,
) -> None:
    """Turn the text of RECIPE into token shards; interrupted, the same command goes on."""
    import tongues
    from tongues.terminal import hint

    loaded = tongues.load_recipe(recipe, overrides)
    folder = tongues.prepare(
        loaded,
        workspace=workspace,
        rebuild=rebuild,
        ranks=ranks,
        launcher=launcher,
        partition=partition,
        time=time,
    )
    click.echo(folder)
    hint(f"tongues {training_verb(loaded)} {recipe}")
