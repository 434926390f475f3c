"""Verbs of language experts: partition, train, show, measure."""

from pathlib import Path
from typing import Any

import click

from tongues.cli.options import (
    json_option,
    memory_option,
    overrides_argument,
    rebuild_option,
    recipe_argument,
    workspace_option,
)
from tongues.errors import UserError

__all__ = ["experts", "run_experts"]


@click.group()
def experts() -> None:
    """Divide the text, train an expert for each part, use them as one, add languages."""


@experts.command()
@click.argument("recipe", type=click.Path(path_type=Path), required=False)
@overrides_argument
@workspace_option
@click.option("--by", default="typology", help="Without a recipe: typology, or languages.")
@click.option("--preset", default="xelm", show_default=True, help="How features become distances.")
@click.option(
    "--distances", type=click.Path(path_type=Path), help="A file of them, or of features."
)
@click.option("--languages", metavar="A,B,…", help="Without a recipe: what to divide.")
@click.option("-k", type=int, help="Without a recipe: how many parts.")
@json_option
def partition(
    recipe: Path | None,
    overrides: tuple[str, ...],
    workspace: Path,
    by: str,
    preset: str,
    distances: Path | None,
    languages: str | None,
    k: int | None,
    as_json: bool,
) -> None:
    """Divide the text of RECIPE as its `experts.divisions` say, or some languages by their kin."""
    from tongues.terminal import hint, print_json

    if recipe is None:
        found = _by_options(by, preset, distances, languages, k)
        if as_json:
            print_json(found.to_json())
        else:
            _show_partition(found, None)
        return
    if languages or k or distances:
        raise UserError("the recipe says what is divided, and how", hint="leave out the options")
    from tongues.check import check_recipe
    from tongues.experts.divide import divide, text_amounts
    from tongues.recipe import load_recipe
    from tongues.report.experts import write_partition_page
    from tongues.tokens import check_tokens

    loaded = load_recipe(recipe, overrides)
    if loaded.experts is None or not loaded.experts.divisions:
        raise UserError("there are no `experts.divisions`", where=str(recipe))
    check_recipe(loaded, workspace)
    check_tokens(loaded, workspace)
    amounts = text_amounts(loaded, {}, workspace)
    made = {d.label: divide(loaded, d, workspace) for d in loaded.experts.divisions}
    if as_json:
        print_json({label: found.to_json() for label, found in made.items()})
        return
    for label, found in made.items():
        page = workspace / "reports" / f"{loaded.name}-{label}"
        click.echo(f"{label}  {write_partition_page(found, amounts, page)}")
        _show_partition(found, amounts)
        click.echo("")
    hint(f"tongues experts train {recipe}")


@experts.command()
@recipe_argument
@overrides_argument
@workspace_option
@rebuild_option
@click.option("--dry-run", is_flag=True, help="Show runs, hours and disk; train nothing.")
@click.option(
    "--on",
    type=click.Choice(["local", "ray", "slurm"]),
    default="local",
    show_default=True,
    help="What starts the runs.",
)
@click.option("--processes", type=click.IntRange(min=1), help="Of each run, by torchrun.")
@click.option("--partition", metavar="NAME", help="Slurm's partition.")
@click.option("--time", "limit", metavar="H:MM:SS", help="Slurm's limit of a run.")
def train(
    recipe: Path,
    overrides: tuple[str, ...],
    workspace: Path,
    rebuild: bool,
    dry_run: bool,
    on: str,
    **how: Any,
) -> None:
    """Train the experts of RECIPE and put them together; interrupted, the same command goes on."""
    from tongues.recipe import load_recipe
    from tongues.terminal import hint

    loaded = load_recipe(recipe, overrides)
    if loaded.experts is None:
        raise UserError(
            "there is no `experts` section", where=str(recipe), hint="see docs/experts.md"
        )
    if dry_run:
        _show_runs(loaded, workspace, on, **how)
        hint(f"tongues experts train {recipe}")
        return
    for folder in run_experts(loaded, workspace, rebuild, on=on, **how):
        click.echo(folder)
    hint(f"tongues experts measure {recipe}")


def _show_runs(recipe: Any, workspace: Path, on: str, **how: Any) -> None:
    """A row a run, and what is still to be trained."""
    from tongues.check import check_recipe
    from tongues.cli.study import show_cost
    from tongues.study import find_launcher
    from tongues.tokens import check_tokens

    checked = check_recipe(recipe, workspace, here=on == "local")
    check_tokens(recipe, workspace)
    find_launcher(on, workers=recipe.experts.workers, **how)
    _, pairs = _planned(recipe, workspace)
    show_cost(pairs, workspace, checked.at_once, False, checked.disk)


def run_experts(
    recipe: Any, workspace: Path, rebuild: bool = False, *, on: str = "local", **how: Any
) -> list[Path]:
    """Train experts with a live line, and put them together; returns the ensembles' folders."""
    from tongues.check import check_recipe
    from tongues.experts.conduct import train_experts
    from tongues.study import find_launcher, measure_cost
    from tongues.terminal import progress_line, say
    from tongues.tokens import check_tokens

    checked = check_recipe(recipe, workspace, here=on == "local")
    check_tokens(recipe, workspace)
    launcher = find_launcher(on, workers=recipe.experts.workers, **how)
    rounds, pairs = _planned(recipe, workspace)
    _say_cautions(rounds, recipe.name, workspace)
    cost = measure_cost(pairs, workspace, checked.at_once)
    if cost.runs:
        say(str(cost))
    with progress_line(f"{recipe.name}: {len(pairs)} experts") as show:
        return train_experts(
            recipe,
            workspace,
            rounds,
            launcher=launcher,
            watch=lambda state: show(state.share, *state.words()),
            tell=say,
            rebuild=rebuild,
        )


def _planned(recipe: Any, workspace: Path) -> tuple[Any, list[tuple[Any, Any]]]:
    """The rounds of a recipe, and all of their runs with what they take."""
    from tongues.experts import plan_rounds
    from tongues.tokens import open_tokens
    from tongues.train import derive
    from tongues.train.directory import find_parent

    rounds = plan_rounds(recipe, workspace, {}, make=True)
    vocabulary = open_tokens(workspace / "tokens" / recipe.name).vocabulary_size
    return rounds, [
        (run, derive(run, vocabulary, find_parent(run.parent, workspace)))
        for made in rounds
        for run in made.runs
    ]


@experts.command()
@recipe_argument
@overrides_argument
@workspace_option
@click.option(
    "--scored",
    type=click.IntRange(min=1),
    default=20_000,
    show_default=True,
    help="Held-out tokens of each language.",
)
@memory_option
def measure(
    recipe: Path, overrides: tuple[str, ...], workspace: Path, scored: int, memory: int | None
) -> None:
    """Score held-out text with all ensembles of RECIPE, by every routing, and draw the page."""
    from tongues.experts import plan_rounds
    from tongues.experts.measures import measure as measure_all
    from tongues.experts.measures import write_measures
    from tongues.recipe import load_recipe
    from tongues.report.experts import write_experts_report
    from tongues.terminal import say
    from tongues.tokens import check_tokens

    loaded = load_recipe(recipe, overrides)
    if loaded.experts is None:
        raise UserError(
            "there is no `experts` section", where=str(recipe), hint="see docs/experts.md"
        )
    check_tokens(loaded, workspace)
    store = workspace / "ensembles"
    rounds = plan_rounds(loaded, workspace, {}, make=True)
    _say_cautions(rounds, loaded.name, workspace)
    folders: dict[str, list[Path]] = {}
    if loaded.experts.grow:
        folders["before"] = list(dict.fromkeys(made.grown for made in rounds if made.grown))
    for made in rounds:
        folders.setdefault(made.label, []).append(store / made.name)
    found = measure_all(
        folders,
        loaded.name,
        workspace,
        scored=scored,
        context=loaded.train.context,
        memory=memory,
        tell=say,
    )
    write_measures(found, store / loaded.name)
    click.echo(write_experts_report(found, workspace / "reports" / f"{loaded.name}-experts"))


@experts.command()
@click.argument("ensemble")
@workspace_option
@json_option
def show(ensemble: str, workspace: Path, as_json: bool) -> None:
    """What ENSEMBLE is made of, and whether everything is as it was."""
    from dataclasses import asdict

    from tongues.experts.ensemble.lineage import find_ensemble, read_lineage, verify
    from tongues.quantities import show_count
    from tongues.terminal import print_json, print_table

    folder = find_ensemble(ensemble, workspace)
    lineage = read_lineage(folder)
    verify(lineage, folder, workspace)
    if as_json:
        print_json(asdict(lineage))
        return
    print_table(
        [
            {
                "expert": expert.name,
                "languages": ", ".join(
                    lang if share > 0.995 else f"{lang} {share:.0%}"
                    for lang, share in expert.languages.items()
                ),
                "tokens": show_count(expert.tokens),
                "branched from": expert.parent or "",
            }
            for expert in lineage.experts
        ]
    )
    click.echo(f"\nall of {folder} is as it was made; it began with {lineage.seed}")


def _say_cautions(rounds: Any, tokens_name: str, workspace: Path) -> None:
    """What makes losses before and after growing hard to compare, if anything does."""
    from tongues.experts.ensemble.lineage import read_lineage
    from tongues.experts.heldout import held_out_cautions
    from tongues.experts.plans import seed_cautions
    from tongues.terminal import say
    from tongues.tokens import open_tokens

    cautions = seed_cautions(rounds)
    for folder in dict.fromkeys(made.grown for made in rounds if made.grown):
        tokens = open_tokens(workspace / "tokens" / tokens_name)
        cautions += held_out_cautions(tokens, read_lineage(folder), workspace)
    for caution in dict.fromkeys(cautions):
        say(f"caution: {caution}")


def _by_options(
    by: str, preset: str, distances: Path | None, languages: str | None, k: int | None
) -> Any:
    from tongues.experts.partition.distances import read_distances
    from tongues.experts.partition.languages import by_language
    from tongues.experts.partition.tree import by_tree
    from tongues.experts.partition.typology import by_typology

    codes = [code.strip() for code in (languages or "").split(",") if code.strip()]
    if not codes:
        raise UserError("name a recipe, or languages by `--languages`", hint="such as ar,bg,de,el")
    twice = next((code for code in codes if codes.count(code) > 1), None)
    if twice:
        raise UserError(f"`{twice}` is named twice", where="--languages")
    if by == "languages" and (k or distances):
        raise UserError("every language by itself needs no `-k` and no distances", where="--by")
    if by == "languages":
        return by_language(codes)
    if by != "typology":
        hint = "`typology` or `languages`; other divisions need a recipe and its text"
        raise UserError(f"languages alone are not divided by {by}", where="--by", hint=hint)
    if k is None:
        raise UserError("how many parts?", where="-k", hint="such as `-k 4`")
    if distances:
        found, notes = read_distances(distances, codes)
        return by_tree("distances", found, k, notes=notes)
    return by_typology(codes, k, preset)


def _show_partition(found: Any, amounts: dict[str, float] | None) -> None:
    """Its parts, with their text where that is known, and its tree."""
    from tongues.experts.partition.shown import part_rows, tree_lines
    from tongues.terminal import print_table

    rows = part_rows(found, amounts or dict.fromkeys(found.languages, 1.0))
    kept = ("part", "languages") if amounts is None else tuple(rows[0])
    print_table([{key: row[key] for key in kept} for row in rows])
    for line in [*tree_lines(found), *found.notes]:
        click.echo(line)
