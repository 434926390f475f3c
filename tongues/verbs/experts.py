"""Verbs of language experts: partition, train, show, measure."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tongues.core.errors import UserError
from tongues.core.terminal import echo
from tongues.verbs.hints import hint_recipe
from tongues.verbs.options import AS_JSON, COUNT, PATH, Verbs
from tongues.verbs.settings import COMMANDS, Verb, argument, command, function, option, settings
from tongues.verbs.shared import (
    KEYS,
    Launched,
    OfRecipe,
    Overwriting,
    Placed,
    Quietly,
    Together,
    in_workspace,
)

if TYPE_CHECKING:
    from tongues.experts.ensemble.lineage import Lineage
    from tongues.experts.partition.partition import Partition
    from tongues.verbs.actions.results import PartitionedText


@click.group("experts", cls=Verbs)
def experts_group() -> None:
    """Train language experts, one per cluster of text; use them as one."""


COMMANDS["experts"] = experts_group


@settings
class PartitionText(OfRecipe, Verb["dict[str, PartitionedText]"]):
    """Make the partitions that a recipe names in `experts.partitions`; by label.

    The text must be prepared. Each partition gets a page in `reports/`.
    """

    work = "experts:partition"


@settings
class PartitionLanguages(Verb["Partition"]):
    """A partition of languages into `k` clusters by typology, without any text."""

    work = "experts:partition_languages"
    languages: Sequence[str]
    k: int | None = None


@settings
class PartitionWords:
    """Partition the text of RECIPE, or some languages, into clusters."""

    recipe: Path | None = argument(PATH, required=False, default=None)
    overrides: tuple[str, ...] = argument(metavar=KEYS, many=True, required=False, default=())
    workspace: Path | str = in_workspace()
    languages: str | None = option(metavar="A,B,…", default=None)
    k: int | None = option(int, names=("-k",), default=None)


@command(PartitionWords, AS_JSON, of=experts_group)
def _partition(asked: PartitionWords, *, as_json: bool) -> None:
    from tongues.core.terminal import print_json
    from tongues.recipe import load_recipe

    if asked.recipe is None:
        codes = [code.strip() for code in (asked.languages or "").split(",") if code.strip()]
        made = PartitionLanguages(codes, asked.k).run()
        if as_json:
            print_json(made.to_json())
        else:
            _show_partition(made, None)
        return
    if asked.languages or asked.k:
        raise UserError("the recipe names its partitions", hint="leave out the options")
    of_recipe = PartitionText(asked.recipe, asked.overrides, asked.workspace)
    partitions = of_recipe.run()
    if as_json:
        print_json({label: one.partition.to_json() for label, one in partitions.items()})
        return
    for label, one in partitions.items():
        echo(f"{label}  {one.page}")
        _show_partition(one.partition, one.amounts)
        echo("")
    hint_recipe(load_recipe(asked.recipe, asked.overrides), of_recipe)


@settings
class Train(OfRecipe, Overwriting, Launched, Together, Quietly, Verb[list[Path]]):
    """Train the experts of RECIPE and put them together. Safe to interrupt and run again.

    The text must be prepared. Returns the folders of the ensembles.
    """

    work = "experts:train"


@command(Train, AS_JSON, of=experts_group)
def _train(asked: Train, *, as_json: bool) -> None:
    from tongues.core.terminal import print_paths
    from tongues.recipe import load_recipe

    loaded = load_recipe(asked.recipe, asked.overrides)
    print_paths(asked.run(), as_json=as_json)
    hint_recipe(loaded, asked)


@settings
class Measure(OfRecipe, Placed, Quietly, Verb[Path]):
    """Score held-out text with all ensembles of RECIPE by every routing.

    The evaluation is kept in `evaluations/NAME-experts`, of other text in
    `evaluations/NAME-experts-TEXT`. Returns the page. Safe to interrupt.
    """

    work = "experts:measure"
    _: KW_ONLY
    eval_tokens: int = option(COUNT, default=20_000)
    text: str | None = option(metavar="TEXT", default=None)


@command(Measure, AS_JSON, of=experts_group)
def _measure(asked: Measure, *, as_json: bool) -> None:
    from tongues.core.terminal import print_paths
    from tongues.recipe import load_recipe

    page = asked.run()
    if not as_json:
        name = page.parent.name
        _show_measured(Path(asked.workspace) / "evaluations" / name, each=bool(asked.text))
    print_paths([page], as_json=as_json)
    hint_recipe(load_recipe(asked.recipe, asked.overrides), asked)


@settings
class Show(Verb["Lineage"]):
    """Show the experts of ENSEMBLE, and check that no file has changed."""

    work = "experts:show"
    ensemble: str = argument()
    workspace: Path | str = in_workspace()


@command(Show, AS_JSON, of=experts_group)
def _show(asked: Show, *, as_json: bool) -> None:
    from dataclasses import asdict

    from tongues.core.terminal import hint_command, print_json, print_table
    from tongues.experts.ensemble.lineage import expert_row, find_ensemble

    lineage = asked.run()
    if as_json:
        print_json(asdict(lineage))
        return
    print_table(
        [
            {"expert": expert.name, **expert_row(expert), "branched from": expert.parent or ""}
            for expert in lineage.experts
        ]
    )
    folder = find_ensemble(asked.ensemble, Path(asked.workspace))
    echo(f"\nall of {folder} is as it was made; its base is {lineage.base}")
    hint_command("tongues", "generate", asked.ensemble)


def _show_partition(made: "Partition", amounts: dict[str, float] | None) -> None:
    from tongues.core.pages import as_text
    from tongues.experts.partition.partition import tree_lines
    from tongues.report.experts.partition import cluster_table

    echo(as_text([cluster_table(made, amounts)]))
    for line in [*tree_lines(made), *made.notes]:
        echo(line)


def _show_measured(folder: Path, *, each: bool) -> None:
    from tongues.core.pages import Tiles, as_text
    from tongues.evaluate.evaluation import read_evaluation
    from tongues.evaluate.settings import MeasuredExperts
    from tongues.report.experts.answer import expert_answer, expert_tiles
    from tongues.report.experts.view import language_table, setting_table

    experts = MeasuredExperts.of(read_evaluation(folder))
    echo(as_text([setting_table(experts)]) + "\n")
    if each:
        echo(as_text([language_table(experts)]) + "\n")
    echo("losses in nats per token, means over languages; in brackets 95 % confidence intervals")
    echo(as_text([Tiles(expert_tiles(experts))]))
    for line in expert_answer(experts).get("Choice", ())[:1]:
        echo(line)


partition = function(PartitionText, "partition")
partition_languages = function(PartitionLanguages)
train = function(Train)
measure = function(Measure)
show = function(Show)
