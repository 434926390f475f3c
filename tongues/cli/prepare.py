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
from tongues.errors import UserError

__all__ = ["prepare"]


@click.command()
@recipe_argument
@overrides_argument
@workspace_option
@rebuild_option
@click.option("--ranks", type=click.IntRange(min=1), help="Processes that share the work.")
@click.option(
    "--on",
    type=click.Choice(["local", "slurm", "ray"]),
    help="Have datatrove run the ranks, on more machines than this one.",
)
@click.option("--partition", metavar="NAME", help="Slurm's partition.")
@click.option(
    "--time", "limit", metavar="H:MM:SS", help="Slurm's limit of a rank; a day if unsaid."
)
def prepare(
    recipe: Path,
    overrides: tuple[str, ...],
    workspace: Path,
    rebuild: bool,
    ranks: int | None,
    on: str | None,
    partition: str | None,
    limit: str | None,
) -> None:
    """Turn the text of RECIPE into token shards; interrupted, the same command goes on."""
    from tongues.check import check_recipe
    from tongues.recipe import load_recipe
    from tongues.terminal import hint, say
    from tongues.tokens import prepare_tokens

    loaded = load_recipe(recipe, overrides)
    check_recipe(loaded, workspace)
    run = None
    if on != "slurm" and (partition or limit):
        raise UserError("`--partition` and `--time` are Slurm's", hint="add `--on slurm`")
    if on:
        from tongues.tokens.executors import find_runner

        if ranks is None:
            raise UserError(f"`--on {on}` needs `--ranks`", hint="such as `--ranks 64`")
        run = find_runner(on, partition, limit or "24:00:00")
    click.echo(prepare_tokens(loaded, workspace, say, rebuild=rebuild, ranks=ranks, run=run))
    hint(f"tongues {training_verb(loaded)} {recipe}")
