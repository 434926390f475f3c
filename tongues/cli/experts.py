"""Verbs of language experts: partition, train, show, measure."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tongues.cli import options
from tongues.errors import UserError
from tongues.terminal import echo

if TYPE_CHECKING:
    from tongues.experts.partition.partition import Partition


@click.group(cls=options.Verbs)
def experts() -> None:
    """Train language experts, one per cluster of text; use them as one."""


@experts.command()
@click.argument("recipe", type=options.PATH, required=False)
@options.overrides
@options.workspace
@click.option("--by", default="typology", help="Without a recipe: typology, or languages.")
@click.option("--languages", metavar="A,B,…", help="Without a recipe: what to partition.")
@click.option("-k", type=int, help="Without a recipe: the number of clusters.")
@options.as_json
def partition(
    recipe: Path | None,
    overrides: tuple[str, ...],
    workspace: Path,
    languages: str | None,
    k: int | None,
    as_json: bool,
    **keywords: Any,
) -> None:
    """Partition the text of RECIPE, or some languages, into clusters."""
    import tongues
    from tongues.terminal import print_json

    if recipe is None:
        codes = [code.strip() for code in (languages or "").split(",") if code.strip()]
        made = tongues.experts.partition_languages(codes, k, **keywords)
        if as_json:
            print_json(made.to_json())
        else:
            _show_partition(made, None)
        return
    if languages or k:
        raise UserError("the recipe names its partitions", hint="leave out the options")
    partitions = tongues.experts.partition(recipe, overrides, workspace)
    if as_json:
        print_json({label: one.partition.to_json() for label, one in partitions.items()})
        return
    for label, one in partitions.items():
        echo(f"{label}  {one.page}")
        _show_partition(one.partition, one.amounts)
        echo("")
    loaded = tongues.load_recipe(recipe, overrides)
    options.hint_recipe(loaded, (recipe, *overrides), workspace)


@experts.command()
@options.recipe
@options.overwrite
@options.launch
@options.processes
@options.quiet
@options.as_json
def train(recipe: Path, overrides: tuple[str, ...], as_json: bool, **keywords: Any) -> None:
    """Train the experts of RECIPE and put them together. Safe to interrupt and run again."""
    import tongues
    from tongues.terminal import print_paths

    loaded = tongues.load_recipe(recipe, overrides)
    print_paths(tongues.experts.train(recipe, overrides, **keywords), as_json=as_json)
    options.hint_recipe(loaded, (recipe, *overrides), keywords["workspace"])


@experts.command()
@options.recipe
@click.option("--eval-tokens", type=options.COUNT, default=20_000, help="Tokens of each language.")
@options.memory
@options.placement
@options.quiet
@options.as_json
def measure(recipe: Path, as_json: bool, **keywords: Any) -> None:
    """Score held-out text with all ensembles of RECIPE by every routing."""
    import tongues
    from tongues.terminal import print_paths

    page = tongues.experts.measure(recipe, **keywords)
    if not as_json:
        _show_measured(keywords["workspace"] / "evaluations" / page.parent.name)
    print_paths([page], as_json=as_json)
    words = (recipe, *keywords["overrides"])
    loaded = tongues.load_recipe(recipe, keywords["overrides"])
    options.hint_recipe(loaded, words, keywords["workspace"])


@experts.command()
@click.argument("ensemble")
@options.workspace
@options.as_json
def show(ensemble: str, workspace: Path, as_json: bool) -> None:
    """Show the experts of ENSEMBLE, and check that no file has changed."""
    from dataclasses import asdict

    import tongues
    from tongues.experts.ensemble.lineage import find_ensemble
    from tongues.quantities import show_count
    from tongues.terminal import hint_command, print_json, print_table

    lineage = tongues.experts.show(ensemble, workspace)
    if as_json:
        print_json(asdict(lineage))
        return
    rows = []
    for expert in lineage.experts:
        shares = expert.languages.items()
        words = (lang if share > 0.995 else f"{lang} {share:.0%}" for lang, share in shares)
        row = {"expert": expert.name, "languages": ", ".join(words)}
        row |= {"tokens": show_count(expert.tokens), "branched from": expert.parent or ""}
        rows.append(row)
    print_table(rows)
    folder = find_ensemble(ensemble, workspace)
    echo(f"\nall of {folder} is as it was made; its base is {lineage.base}")
    hint_command("tongues", "generate", ensemble)


def _show_partition(made: "Partition", amounts: dict[str, float] | None) -> None:
    from tongues.experts.partition.partition import tree_lines
    from tongues.pages import as_text
    from tongues.report.experts.partition import cluster_table

    echo(as_text([cluster_table(made, amounts)]))
    for line in [*tree_lines(made), *made.notes]:
        echo(line)


def _show_measured(folder: Path) -> None:
    from tongues.evaluate.evaluation import read_evaluation
    from tongues.evaluate.settings import MeasuredExperts
    from tongues.pages import as_text
    from tongues.report.experts.answer import expert_answer
    from tongues.report.experts.view import setting_table

    experts = MeasuredExperts.of(read_evaluation(folder))
    echo(as_text([setting_table(experts)]) + "\n")
    echo("losses in nats per token, means over languages; in brackets 95 % confidence intervals")
    for line in expert_answer(experts).get("Choice", ())[:1]:
        echo(line)
