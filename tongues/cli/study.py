"""The verb study: many runs."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tongues.cli.options import (
    json_option,
    launch_options,
    overrides_argument,
    processes_option,
    rebuild_option,
    recipe_argument,
    workspace_option,
)
from tongues.errors import UserError

if TYPE_CHECKING:
    from tongues.verbs.studies import DryRun

__all__ = ["show_runs", "study"]


@click.command()
@recipe_argument
@overrides_argument
@workspace_option
@rebuild_option
@click.option("--where", metavar="CONDITION", help="""Which runs, as in "shape == '0.1M'".""")
@click.option("--dry-run", is_flag=True, help="Show runs, hours and disk; train nothing.")
@click.option("--pilot", is_flag=True, help="Small runs that decide about the recipe's real one.")
@launch_options
@processes_option
@json_option
def study(
    recipe: Path,
    overrides: tuple[str, ...],
    workspace: Path,
    rebuild: bool,
    where: str | None,
    dry_run: bool,
    pilot: bool,
    launcher: str,
    processes: int | None,
    partition: str | None,
    time: str | None,
    as_json: bool,
) -> None:
    """Train all runs of RECIPE; interrupted, the same command goes on.

    With --dry-run nothing is trained: one sees the runs and what they take.
    """
    import tongues
    from tongues.terminal import hint
    from tongues.verbs.studies import check_study

    if as_json and not dry_run:
        raise UserError("`--json` shows what is to be trained", hint="add `--dry-run`")
    if dry_run:
        loaded = tongues.load_recipe(recipe, overrides)
        check_study(recipe, loaded, where, pilot=pilot, rebuild=rebuild)
        show_runs(tongues.dry_run(loaded, workspace=workspace, where=where), as_json)
        if not (as_json or pilot):
            hint(f"tongues study {recipe}")
        return
    made = tongues.study(
        recipe,
        overrides,
        workspace,
        where=where,
        pilot=pilot,
        rebuild=rebuild,
        launcher=launcher,
        processes=processes,
        partition=partition,
        time=time,
    )
    click.echo(made)
    if not pilot:
        hint(f"tongues report {made}")


def show_runs(made: "DryRun", as_json: bool) -> None:
    """A row a run, and what is still to be trained."""
    from tongues.terminal import print_json, print_table

    if as_json:
        print_json(made.to_json())
        return
    print_table(made.rows())
    if made.cost.runs:
        click.echo(f"\n{made}")
    if made.remark:
        click.echo(made.remark)
