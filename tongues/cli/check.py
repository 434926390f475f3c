"""The verb check: a recipe resolved, and what it takes."""

from pathlib import Path
from typing import Any

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
    from tongues.check import check_recipe
    from tongues.hardware import Machine, find_gpu
    from tongues.quantities import show_bytes
    from tongues.recipe import load_recipe, show_recipe
    from tongues.terminal import hint, print_json, print_table, say

    loaded = load_recipe(recipe, overrides)
    if gpus and not gpu:
        raise UserError("--gpus says nothing without `--gpu`", hint="such as `--gpu h100`")
    machine = Machine.of_gpus(find_gpu(gpu), gpus or 1) if gpu else None
    checked = check_recipe(loaded, workspace, machine=machine)
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
    hint(
        f"tongues {'prepare' if _unprepared(loaded, workspace) else training_verb(loaded)} {recipe}"
    )


def _unprepared(recipe: Any, workspace: Path) -> bool:
    from tongues.tokens import check_tokens

    try:
        check_tokens(recipe, workspace)
    except UserError:
        return True
    return False
