"""The verb prepare: from text to tokens."""

from pathlib import Path

import click

from tongues.cli.options import (
    overrides_argument,
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
@click.option("--ranks", type=click.IntRange(min=1), help="Processes that share the work.")
@click.option(
    "--on",
    "launcher",
    type=click.Choice(["local", "slurm", "ray"]),
    help="Have datatrove run the ranks, on more machines than this one.",
)
@click.option("--partition", metavar="NAME", help="Slurm's partition.")
@click.option("--time", metavar="H:MM:SS", help="Slurm's limit of a rank; a day if unsaid.")
def prepare(
    recipe: Path,
    overrides: tuple[str, ...],
    workspace: Path,
    rebuild: bool,
    ranks: int | None,
    launcher: str | None,
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
