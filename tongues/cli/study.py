"""The verb study: many runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tongues.cli.options import (
    json_option,
    overrides_argument,
    rebuild_option,
    recipe_argument,
    workspace_option,
)
from tongues.errors import UserError

__all__ = ["run_study", "show_cost", "study"]


@click.command()
@recipe_argument
@overrides_argument
@workspace_option
@rebuild_option
@click.option("--where", metavar="CONDITION", help="""Which runs, as in "shape == '0.1M'".""")
@click.option("--dry-run", is_flag=True, help="Show runs, hours and disk; train nothing.")
@click.option("--pilot", is_flag=True, help="Small runs that decide about the recipe's real one.")
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
@json_option
def study(
    recipe: Path,
    overrides: tuple[str, ...],
    workspace: Path,
    rebuild: bool,
    where: str | None,
    dry_run: bool,
    pilot: bool,
    as_json: bool,
    **how: Any,
) -> None:
    """Train all runs of RECIPE; interrupted, the same command goes on.

    With --dry-run nothing is trained: one sees the runs and what they take.
    """
    from tongues.recipe import load_recipe
    from tongues.terminal import hint

    loaded = load_recipe(recipe, overrides)
    if as_json and not dry_run:
        raise UserError("`--json` shows what is to be trained", hint="add `--dry-run`")
    if bool(loaded.pilot) != pilot:
        has = "`pilot`" if loaded.pilot else "no `pilot`"
        wanted = "add --pilot" if loaded.pilot else "leave out --pilot"
        raise UserError(f"the recipe has {has} section", where=str(recipe), hint=wanted)
    if pilot:
        for flag, given in (("--where", where), ("--rebuild", rebuild)):
            if given:
                raise UserError("a pilot chooses its runs itself", where=flag, hint="leave it out")
        if dry_run:
            _show_pilot(loaded, workspace, as_json)
        else:
            click.echo(_pilot(loaded, workspace, **how))
        return
    if loaded.study is None:
        what, hint = "there is no `study` section", "see `tongues train`"
        raise UserError(what, where=str(recipe), hint=hint)
    if dry_run:
        _show(loaded, workspace, where, as_json)
        if not as_json:
            hint(f"tongues study {recipe}")
        return
    directory = run_study(loaded, workspace, rebuild, where, **how)
    click.echo(directory)
    hint(f"tongues report {directory}")


def run_study(
    recipe: Any,
    workspace: Path,
    rebuild: bool = False,
    where: str | None = None,
    *,
    on: str = "local",
    **how: Any,
) -> Path:
    """Train the runs of a study with a live line; returns their folder."""
    from tongues.check import check_recipe
    from tongues.quantities import show_bytes
    from tongues.study import best_rates, find_launcher, measure_cost, run_all, unfinished
    from tongues.terminal import progress_line, say
    from tongues.tokens import check_tokens

    checked = check_recipe(recipe, workspace, here=on == "local")
    check_tokens(recipe, workspace)
    launcher = find_launcher(on, workers=recipe.study.workers, **how)

    def run(pairs: Sequence[Any], what: str) -> None:
        with progress_line(f"{what}: {len(pairs)} runs") as show:
            run_all(
                [plan for plan, _ in pairs],
                workspace,
                launcher=launcher,
                watch=lambda state: show(state.share, *state.words()),
                tell=say,
                rebuild=rebuild,
                whole=where is None,
            )

    pairs = _pairs(checked, where)
    cost = measure_cost([*checked.sweep, *pairs], workspace, checked.at_once)
    if cost.runs:
        say(f"{cost}; {show_bytes(checked.disk)} of disk at the most")
    if checked.sweep:
        sweep = [plan for plan, _ in checked.sweep]
        try:
            run(checked.sweep, f"{recipe.name}, the rate")
        except UserError:
            if unfinished(sweep, workspace):
                raise
        rates, doubts = best_rates(sweep, workspace)
        shown = ", ".join(f"{rate:.3g} at {shape}" for shape, rate in rates.items())
        for line in (f"best rates: {shown}", *doubts):
            say(line)
        pairs = _pairs(check_recipe(recipe, workspace, here=on == "local"), where)
    run(pairs, recipe.name)
    return workspace / "runs" / recipe.name


def _pairs(checked: Any, where: str | None) -> Sequence[Any]:
    """The study's runs, or those that a condition chooses."""
    from tongues.study import choose

    return choose(checked.runs, where) if where else checked.runs


def _show(recipe: Any, workspace: Path, where: str | None, as_json: bool) -> None:
    """The runs, how they stand, and what those to be trained take."""
    from tongues.check import check_recipe
    from tongues.tokens import check_tokens

    checked = check_recipe(recipe, workspace)
    check_tokens(recipe, workspace)
    pairs = [*checked.sweep, *_pairs(checked, where)]
    show_cost(pairs, workspace, checked.at_once, as_json, checked.disk)


def _show_pilot(recipe: Any, workspace: Path, as_json: bool) -> None:
    """The runs of a pilot's first round, and what they take."""
    from tongues.check import check_recipe
    from tongues.ranks import core_count
    from tongues.study.pilot import plan_pilot
    from tongues.tokens import check_tokens, open_tokens
    from tongues.train import derive

    check_recipe(recipe, workspace)
    check_tokens(recipe, workspace)
    vocabulary = open_tokens(workspace / "tokens" / recipe.name).vocabulary_size
    pairs = [(plan, derive(plan, vocabulary)) for plan in plan_pilot(recipe, workspace).plans]
    show_cost(pairs, workspace, core_count(), as_json)
    if not as_json:
        click.echo("the first of two rounds; the second is chosen by what it teaches")


def show_cost(
    pairs: Sequence[tuple[Any, Any]],
    workspace: Path,
    at_once: int,
    as_json: bool,
    disk: int | None = None,
) -> None:
    """A row a run, and what is still to be trained."""
    from tongues.quantities import show_bytes, show_count, show_seconds
    from tongues.study import measure_cost
    from tongues.terminal import print_json, print_table

    cost = measure_cost(pairs, workspace, at_once)
    rows = [
        {
            "run": plan.name,
            "strategy": plan.strategy,
            "shape": derived.anatomy.name,
            "tokens": derived.tokens,
            "flops": derived.flops,
            "seconds": cost.run_seconds.get(plan.name),
        }
        for plan, derived in pairs
    ]
    if as_json:
        totals = {"to_train": cost.runs, "flops": cost.flops, "seconds": cost.seconds}
        print_json(totals | {"disk": disk, "runs": rows})
        return
    print_table(
        [
            {
                "run": row["run"],
                "strategy": row["strategy"],
                "shape": row["shape"],
                "tokens": show_count(row["tokens"]),
                "FLOPs": f"{row['flops']:.3g}",
                "takes": "finished" if row["seconds"] is None else show_seconds(row["seconds"]),
            }
            for row in rows
        ]
    )
    if cost.runs:
        click.echo(f"\n{cost}" + (f"; {show_bytes(disk)} of disk at the most" if disk else ""))


def _pilot(recipe: Any, workspace: Path, *, on: str, **how: Any) -> Path:
    """Run a pilot with a live line; returns its plan."""
    from tongues.check import check_recipe
    from tongues.study import find_launcher
    from tongues.study.pilot import run_pilot
    from tongues.terminal import progress_line, say
    from tongues.tokens import check_tokens

    check_recipe(recipe, workspace, here=on == "local")
    check_tokens(recipe, workspace)
    with progress_line(f"{recipe.name}, pilot") as show:
        return run_pilot(
            recipe,
            workspace,
            launcher=find_launcher(on, **how),
            watch=lambda state: show(state.share, *state.words()),
            tell=say,
        )
