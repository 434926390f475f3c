"""The verb evaluate: models side by side on texts and tasks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from tongues.cli.options import json_option, memory_option, workspace_option
from tongues.errors import UserError, nearest

__all__ = ["evaluate"]


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@workspace_option
@click.option(
    "--on",
    "whats",
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
@click.option("--compare", is_flag=True, help="Say which models can be told from the first.")
@click.option("--name", default="evaluation", show_default=True, help="In evaluations/.")
@json_option
def evaluate(
    models: tuple[str, ...],
    whats: tuple[str, ...],
    workspace: Path,
    languages: str | None,
    window: int | None,
    stride: int | None,
    memory: int | None,
    compare: bool,
    name: str,
    as_json: bool,
    **how: Any,
) -> None:
    """Score MODELs (runs, ensembles, Hugging Face folders) on texts and tasks, side by side.

    A run's or ensemble's seed is scored too, for what was forgotten. An ensemble is used by a
    routing as `NAME@tfidf:2`. Interrupted, the same command goes on.
    """
    from tongues.evaluate.conduct import evaluate as ask
    from tongues.evaluate.conduct import with_seeds
    from tongues.evaluate.outcome import outcome, write_outcome
    from tongues.recipe.base import readable_name
    from tongues.report.evaluation import write_cards, write_evaluation_report
    from tongues.terminal import print_json, progress_line, say

    try:
        readable_name(name)
    except ValueError as error:
        raise UserError(str(error), where="--name") from None
    named = with_seeds(models, workspace)
    wanted = _listed(languages, "--languages")
    asked = _asked(whats, named, workspace, wanted, window, stride, **how)
    folder = workspace / "evaluations" / name
    with progress_line(name) as show:
        about, asked, found = ask(named, asked, workspace, folder, memory=memory, watch=show)
    made = outcome(about, asked, found, models)
    told = write_outcome(made, folder)
    write_cards(told, folder / "cards")
    if as_json:
        print_json(told)
        return
    _show(told, compare)
    for line in made.left_out:
        say(line)
    click.echo(write_evaluation_report(told, workspace / "reports" / f"{name}-evaluation"))


def _asked(
    whats: Sequence[str],
    models: Sequence[str],
    workspace: Path,
    languages: list[str] | None,
    window: int | None,
    stride: int | None,
    *,
    data: Sequence[str],
    most: int | None,
    shots: int,
    draws: int | None,
    demonstrations: str | None,
    templates: str,
    normalisation: Any,
    unfit: Any,
    seed: int,
) -> Any:
    """Texts and tasks, read and checked before any model is opened."""
    from tongues.evaluate.conduct import Asked
    from tongues.evaluate.exams import is_task, joined_exams, set_exams
    from tongues.evaluate.subjects import lineage_of
    from tongues.evaluate.tasks import ItemFault, library
    from tongues.evaluate.texts import Policy, read_texts
    from tongues.text.reading import Fault

    if draws is not None and not shots:
        hint = "say how many by `--shots`, such as 8"
        raise UserError(
            "without demonstrations there is nothing to draw", where="--draws", hint=hint
        )
    texts: dict[str, Any] = {}
    exams: dict[str, Any] = {}
    faults: list[ItemFault] = []

    def note(one: Fault) -> None:
        faults.append(ItemFault(one.source, f"at {one.place:,}", one.reason, one.sample))

    if not all((*whats, *data)):
        where = "--data" if all(whats) else "--on"
        raise UserError("names nothing", where=where, hint="is a shell's variable empty?")
    for what in whats:
        task, colon, own = what.partition(":")
        if not is_task(task):
            meant = nearest(task, library())
            there = Path(what).exists() or (workspace / "tokens" / what).exists()
            if not there and meant.startswith("did you mean"):
                raise UserError(f"there is no task and no text `{what}`", where="--on", hint=meant)
            texts[what] = read_texts(
                what,
                workspace,
                languages=languages,
                most=most,
                lineages=[lineage_of(model, workspace) for model in models],
                fault=note,
            )
            continue
        if not data:
            hint = "name their folder by `--data`, or `--data hub`"
            raise UserError(f"where do the items of `{task}` lie?", where="--on", hint=hint)
        found = set_exams(
            task,
            _listed(own, what) if colon else languages,
            data,
            most=most,
            shots=shots,
            draws=(draws or 5) if shots else 1,
            demonstrations_language=demonstrations,
            templates=templates,
            seed=seed,
            unfit=unfit,
        )
        exams = joined_exams(exams, found)
    return Asked(texts, exams, Policy(window, stride), normalisation, unfit, faults)


def _listed(said: str | None, where: str) -> list[str] | None:
    """The languages that are said, each once; None where nothing is."""
    if said is None:
        return None
    found = list(dict.fromkeys(one.strip() for one in said.split(",") if one.strip()))
    if not found:
        raise UserError("names no language", where=where, hint="such as `sw,tr`")
    return found


def _show(told: Mapping[str, Any], compare: bool) -> None:
    """Tables: a row per language, a column per model."""
    from tongues.evaluate.shown import accuracy_rows, comparison_lines, loss_rows
    from tongues.terminal import print_table

    for text, scores in told["texts"].items():
        click.echo(f"{text}, bits per byte")
        print_table(loss_rows(scores))
        click.echo("")
    for task, scores in told["tasks"].items():
        shots = scores["shots"] or "no"
        behind = f"{shots} demonstration{'' if shots == 1 else 's'}"
        click.echo(f"{task}, accuracy by {scores['normalisation']}, {behind}")
        print_table(accuracy_rows(scores))
        click.echo("")
    if compare:
        for line in comparison_lines(told):
            click.echo(line)
