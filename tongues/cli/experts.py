"""Verbs of language experts: partition, train, show, measure."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tongues.cli.options import (
    json_option,
    launch_options,
    memory_option,
    overrides_argument,
    processes_option,
    rebuild_option,
    recipe_argument,
    workspace_option,
)
from tongues.errors import UserError

if TYPE_CHECKING:
    from tongues.experts.partition.partition import Partition

__all__ = ["experts"]


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
    import tongues
    from tongues.terminal import hint, print_json

    if recipe is None:
        codes = [code.strip() for code in (languages or "").split(",") if code.strip()]
        made = tongues.experts.partition_languages(
            codes, k, by=by, preset=preset, distances=distances
        )
        if as_json:
            print_json(made.to_json())
        else:
            _show_partition(made, None)
        return
    if languages or k or distances:
        raise UserError("the recipe says what is divided, and how", hint="leave out the options")
    divided = tongues.experts.partition(recipe, overrides, workspace)
    if as_json:
        print_json({label: one.partition.to_json() for label, one in divided.items()})
        return
    for label, one in divided.items():
        click.echo(f"{label}  {one.page}")
        _show_partition(one.partition, one.amounts)
        click.echo("")
    hint(f"tongues experts train {recipe}")


@experts.command()
@recipe_argument
@overrides_argument
@workspace_option
@rebuild_option
@click.option("--dry-run", is_flag=True, help="Show runs, hours and disk; train nothing.")
@launch_options
@processes_option
def train(
    recipe: Path,
    overrides: tuple[str, ...],
    workspace: Path,
    rebuild: bool,
    dry_run: bool,
    launcher: str,
    processes: int | None,
    partition: str | None,
    time: str | None,
) -> None:
    """Train the experts of RECIPE and put them together; interrupted, the same command goes on."""
    import tongues
    from tongues.cli.study import show_runs
    from tongues.terminal import hint
    from tongues.verbs.experts import check_experts

    if dry_run:
        loaded = tongues.load_recipe(recipe, overrides)
        check_experts(recipe, loaded)
        show_runs(tongues.dry_run(loaded, workspace=workspace, launcher=launcher), as_json=False)
        hint(f"tongues experts train {recipe}")
        return
    folders = tongues.experts.train(
        recipe,
        overrides,
        workspace,
        rebuild=rebuild,
        launcher=launcher,
        processes=processes,
        partition=partition,
        time=time,
    )
    for folder in folders:
        click.echo(folder)
    hint(f"tongues experts measure {recipe}")


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
    recipe: Path, overrides: tuple[str, ...], workspace: Path, scored: int, memory: str | None
) -> None:
    """Score held-out text with all ensembles of RECIPE, by every routing, and draw the page."""
    import tongues

    click.echo(tongues.experts.measure(recipe, overrides, workspace, scored=scored, memory=memory))


@experts.command()
@click.argument("ensemble")
@workspace_option
@json_option
def show(ensemble: str, workspace: Path, as_json: bool) -> None:
    """What ENSEMBLE is made of, and whether everything is as it was."""
    from dataclasses import asdict

    import tongues
    from tongues.experts.ensemble.lineage import find_ensemble
    from tongues.quantities import show_count
    from tongues.terminal import print_json, print_table

    lineage = tongues.experts.show(ensemble, workspace)
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
    folder = find_ensemble(ensemble, workspace)
    click.echo(f"\nall of {folder} is as it was made; it began with {lineage.seed}")


def _show_partition(found: "Partition", amounts: dict[str, float] | None) -> None:
    """Its parts, with their text where that is known, and its tree."""
    from tongues.experts.partition.partition import part_rows, tree_lines
    from tongues.terminal import print_table

    rows = part_rows(found, amounts or dict.fromkeys(found.languages, 1.0))
    kept = ("part", "languages") if amounts is None else tuple(rows[0])
    print_table([{key: row[key] for key in kept} for row in rows])
    for line in [*tree_lines(found), *found.notes]:
        click.echo(line)
