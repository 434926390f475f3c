"""The verbs of one recipe: check, prepare, train, study."""

from pathlib import Path
from typing import Any

import click

from tongues.cli import options
from tongues.terminal import echo


@click.command()
@options.recipe
@click.option("--gpu", metavar="NAME", help="Check for this GPU, such as h100, not this machine.")
@click.option("--gpus", type=options.COUNT, help="Number of them (1).")
@options.as_json
def check(
    recipe: Path, overrides: tuple[str, ...], workspace: Path, as_json: bool, **keywords: Any
) -> None:
    """Print the resolved RECIPE and what it takes, before anything runs."""
    import tongues
    from tongues.quantities import show_bytes
    from tongues.recipe import show_recipe
    from tongues.terminal import print_json, print_table, say
    from tongues.train.mixture import describe_mixture, mixture_rows

    loaded = tongues.load_recipe(recipe, overrides)
    checked = tongues.check(loaded, workspace=workspace, **keywords)
    if as_json:
        print_json({"recipe": checked.work.recipe.model_dump(mode="json")} | checked.to_json())
        return
    echo(show_recipe(checked.work.recipe))
    if checked.work.defaults:
        echo("left out in the recipe, and taken by the rules for the base:")
        print_table(
            [
                {"train": one.key, "value": str(one.value), "rule": one.rule}
                for one in checked.work.defaults
            ]
        )
        echo()
    print_table(checked.rows())
    notes = {plan.shape.name: plan.shape.note for plan, _ in checked.runs if plan.shape}
    for name, note in notes.items():
        if note:
            echo(f"shape {name}: {note}")
    if any(plan.settings.budget.seconds is not None for plan, _ in checked.runs):
        echo("of a budget in time the tokens are a guess; the run measures its own speed")
    for plan, _ in checked.runs:
        if plan.mixture:
            echo("\n" + "\n".join(describe_mixture(plan.mixture)))
            print_table(mixture_rows(plan.mixture))
    for model in checked.hub:
        echo(f"\n{model.sentence}")
    echo(f"\nmemory, about: {checked.memory_sentence()}")
    echo(f"disk, about: {show_bytes(checked.disk)}")
    if time := checked.time_sentence():
        echo(f"time, about: {time}")
    if evaluation := checked.evaluation_sentence():
        echo(f"evaluation, about: {evaluation}")
    for caution in checked.cautions:
        say(f"caution: {caution}")
    options.hint_recipe(loaded, (recipe, *overrides), workspace)


@click.command()
@options.recipe
@options.overwrite
@options.ranks
@options.launch
@options.quiet
@options.as_json
def prepare(recipe: Path, overrides: tuple[str, ...], as_json: bool, **keywords: Any) -> None:
    """Turn the text of RECIPE into token shards. Safe to interrupt; run it again to resume."""
    import tongues
    from tongues.recipe import load_text_recipe
    from tongues.terminal import print_paths

    loaded = load_text_recipe(recipe, overrides)
    print_paths([tongues.prepare(loaded, **keywords)], as_json=as_json)
    options.hint_recipe(loaded, (recipe, *overrides), keywords["workspace"])


@click.command()
@options.recipe
@options.overwrite
@options.processes
@options.quiet
@options.as_json
def train(recipe: Path, as_json: bool, **keywords: Any) -> None:
    """Train the one run of RECIPE. Safe to interrupt; run it again to resume."""
    import tongues
    from tongues.terminal import print_paths

    directory = tongues.train(recipe, **keywords)
    print_paths([directory], as_json=as_json)
    options.hint_runs(directory, keywords["workspace"])


@click.command()
@options.recipe
@options.overwrite
@options.launch
@options.processes
@options.quiet
@options.as_json
def study(recipe: Path, as_json: bool, **keywords: Any) -> None:
    """Train all runs of RECIPE. Safe to interrupt; run it again to resume.

    Its first line says what they take.
    """
    import tongues
    from tongues.terminal import print_paths

    made = tongues.study(recipe, **keywords)
    print_paths([made], as_json=as_json)
    options.hint_runs(made, keywords["workspace"])
