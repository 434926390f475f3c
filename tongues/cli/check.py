"""The verb check: a recipe resolved, and what it takes."""

from pathlib import Path

import click

from tongues.cli.options import (
    json_option,
    overrides_argument,
    recipe_argument,
    training_verb,
    workspace_option,
)
from tongues.errors import UserError

__all__ = ["check"]


@click.command()
@recipe_argument
@overrides_argument
@workspace_option
@click.option("--gpu", metavar="NAME", help="Check for this GPU, such as h100, not this machine.")
@click.option("--gpus", type=click.IntRange(min=1), help="Number of them (1).")
@json_option
def check(
    recipe: Path,
    overrides: tuple[str, ...],
    workspace: Path,
    gpu: str | None,
    gpus: int | None,
    as_json: bool,
) -> None:
    """Print the resolved RECIPE and what it takes, before anything runs."""
    import tongues
    from tongues.quantities import show_bytes
    from tongues.recipe import show_recipe
    from tongues.terminal import hint, print_json, print_table, say
    from tongues.tokens import check_tokens

    loaded = tongues.load_recipe(recipe, overrides)
    checked = tongues.check(loaded, workspace=workspace, gpu=gpu, gpus=gpus)
    if as_json:
        print_json({"recipe": loaded.model_dump(mode="json")} | checked.to_json())
        return
    click.echo(show_recipe(loaded))
    print_table(checked.rows())
    shapes = [plan.shape for plan, _ in checked.runs if plan.shape]
    notes = {shape.name: shape.note for shape in shapes if shape.note}
    for name, note in notes.items():
        click.echo(f"shape {name}: {note}")
    if any(plan.settings.budget.seconds is not None for plan, _ in checked.runs):
        click.echo("of a budget in time the tokens are a guess; the run measures its own speed")
    click.echo(f"\nmemory, about: {checked.memory_sentence()}")
    click.echo(f"disk, about: {show_bytes(checked.disk)}")
    for caution in checked.cautions:
        say(str(caution))
    try:
        check_tokens(loaded, workspace)
        verb = training_verb(loaded)
    except UserError:
        verb = "prepare"
    hint(f"tongues {verb} {recipe}")
