"""The verb evaluate: models side by side on texts and tasks."""

from typing import TYPE_CHECKING, Any

import click

from tongues.cli.options import (
    json_option,
    launch_options,
    memory_option,
    ranks_option,
    workspace_option,
)

if TYPE_CHECKING:
    from tongues.evaluate.evaluation import Evaluation

__all__ = ["evaluate"]


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@workspace_option
@click.option(
    "--on",
    multiple=True,
    required=True,
    metavar="WHAT",
    help="Prepared tokens, files, or a task; `xcopa:sw,tr` for some of its languages.",
)
@click.option(
    "--data",
    multiple=True,
    metavar="FOLDER|hub",
    help="Where the tasks' items lie; several, if no language of a task lies in two.",
)
@click.option("--languages", metavar="A,B,…", help="Of texts and tasks; all by default.")
@click.option("--most", type=click.IntRange(min=1), help="Items, and documents, of a language.")
@click.option(
    "--shots",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Demonstrations before every item.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    help="How often demonstrations are drawn; 5 by default.",
)
@click.option("--demonstrations", metavar="TAG", help="Their language; the items' own by default.")
@click.option(
    "--templates",
    type=click.Choice(["english", "translated"]),
    default="english",
    show_default=True,
)
@click.option(
    "--normalisation",
    type=click.Choice(["token", "character", "byte", "sum", "pmi"]),
    help="How choices are compared; the task's own by default.",
)
@click.option("--window", type=click.IntRange(min=1), help="Tokens of text seen at once.")
@click.option("--stride", type=click.IntRange(min=1), help="Tokens scored in a window.")
@click.option(
    "--unfit",
    type=click.Choice(["skip", "stop"]),
    default="skip",
    show_default=True,
    help="What becomes of items that cannot be asked.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of items and draws.")
@memory_option
@ranks_option
@launch_options
@click.option("--compare", is_flag=True, help="Say which models can be told from the first.")
@click.option("--name", default="evaluation", show_default=True, help="In evaluations/.")
@json_option
def evaluate(models: tuple[str, ...], compare: bool, as_json: bool, **asked: Any) -> None:
    """Score MODELs (runs, ensembles, Hugging Face folders) on texts and tasks, side by side.

    A run's or ensemble's seed is scored too, for what was forgotten. An ensemble is used by a
    routing as `NAME@tfidf:2`. Interrupted, the same command goes on.
    """
    import tongues
    from tongues.terminal import print_json, say

    made = tongues.evaluate(models, page=not as_json, **asked)
    if as_json:
        print_json(made.to_json())
        return
    _show(made, compare)
    for line in made.left_out:
        say(line)
    click.echo(asked["workspace"] / "reports" / f"{asked['name']}-evaluation" / "index.html")


def _show(evaluation: "Evaluation", compare: bool) -> None:
    """Tables: a row per language, a column per model."""
    from tongues.evaluate.shown import accuracy_rows, comparison_lines, loss_rows
    from tongues.terminal import print_table

    for text, losses in evaluation.texts.items():
        click.echo(f"{text}, bits per byte")
        print_table(loss_rows(losses))
        click.echo("")
    for task, answers in evaluation.tasks.items():
        shots = answers.shots or "no"
        demonstrations = f"{shots} demonstration{'' if shots == 1 else 's'}"
        click.echo(f"{task}, accuracy by {answers.normalisation}, {demonstrations}")
        print_table(accuracy_rows(answers))
        click.echo("")
    if compare:
        for line in comparison_lines(evaluation):
            click.echo(line)
