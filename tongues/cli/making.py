"""Verbs that make things from a recipe: check, prepare, train."""

from pathlib import Path
from typing import Any

import click

from tongues.cli.options import (
    json_option,
    overrides_argument,
    rebuild_option,
    recipe_argument,
    workspace_option,
)
from tongues.errors import UserError

__all__ = ["check", "prepare", "run_training", "train"]


@click.command()
@recipe_argument
@overrides_argument
@workspace_option
@json_option
def check(recipe: Path, overrides: tuple[str, ...], workspace: Path, as_json: bool) -> None:
    """Print the resolved RECIPE and what it takes, before anything runs."""
    from tongues.check import check_recipe, derived_as_json, derived_table
    from tongues.quantities import show_bytes
    from tongues.recipe import load_recipe, show_recipe
    from tongues.terminal import hint, print_json, print_table

    loaded = load_recipe(recipe, overrides)
    checked = check_recipe(loaded, workspace)
    if as_json:
        print_json({"recipe": loaded.model_dump(mode="json")} | derived_as_json(checked))
        return
    click.echo(show_recipe(loaded))
    print_table(derived_table(checked))
    shapes = [plan.shape for plan, _ in checked.runs if plan.shape]
    notes = {shape.name: shape.note for shape in shapes if shape.note}
    for name, note in notes.items():
        click.echo(f"shape {name}: {note}")
    if any(plan.settings.budget.seconds is not None for plan, _ in checked.runs):
        click.echo("of a budget in time the tokens are a guess; the run measures its own speed")
    click.echo(f"\nmemory, about: {show_bytes(checked.memory)}, {checked.at_once} at a time")
    click.echo(f"disk, about: {show_bytes(checked.disk)}")
    hint(f"tongues {'prepare' if _unprepared(loaded, workspace) else _verb(loaded)} {recipe}")


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
    hint(f"tongues {_verb(loaded)} {recipe}")


@click.command()
@recipe_argument
@overrides_argument
@workspace_option
@rebuild_option
def train(recipe: Path, overrides: tuple[str, ...], workspace: Path, rebuild: bool) -> None:
    """Train the one run of RECIPE; interrupted, the same command goes on."""
    from tongues.check import check_recipe
    from tongues.recipe import load_recipe
    from tongues.terminal import hint, speaks
    from tongues.tokens import check_tokens

    loaded = load_recipe(recipe, overrides)
    if loaded.study:
        raise UserError("is a study of many runs", where=str(recipe), hint="use `tongues study`")
    if loaded.experts:
        what, instead = "is of many experts", "use `tongues experts train`"
        raise UserError(what, where=str(recipe), hint=instead)
    ((plan, _),) = check_recipe(loaded, workspace).runs
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


def _verb(recipe: Any) -> str:
    """What trains a recipe whose text is prepared."""
    return "study" if recipe.study else "experts train" if recipe.experts else "train"


def _unprepared(recipe: Any, workspace: Path) -> bool:
    from tongues.tokens import check_tokens

    try:
        check_tokens(recipe, workspace)
    except UserError:
        return True
    return False
