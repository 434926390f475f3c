"""The verb ls: the runs and ensembles there are."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from tongues.cli.options import json_option, workspace_option
from tongues.errors import UserError

__all__ = ["ls"]

_SPARE = ("tokens/s", "tokens", "shape", "strategy", "age", "held-out loss")  # first to go


@click.command()
@click.argument("places", nargs=-1, type=click.Path(path_type=Path))
@workspace_option
@json_option
def ls(places: tuple[Path, ...], workspace: Path, as_json: bool) -> None:
    """List the runs and ensembles at or below PLACES, by default all, and how each stands."""
    from dataclasses import asdict

    from tongues.states import states, states_table, study_lines
    from tongues.terminal import print_json, print_table

    ensembles = _ensembles(places or (workspace / "ensembles",), workspace)
    try:
        found = states(places or [workspace / "runs"])
    except UserError:
        if not ensembles:
            raise
        found = []
    if as_json:
        runs = [asdict(state) for state in found]
        print_json({"runs": runs, "ensembles": [asdict(one) for one in ensembles]})
        return
    if found:
        print_table(states_table(found), spare=_SPARE)
    for line in study_lines(found):
        click.echo(line)
    if ensembles:
        from tongues.experts.standing import standings_table

        if found:
            click.echo("")
        print_table(standings_table(ensembles))


def _ensembles(places: Sequence[Path], workspace: Path) -> Sequence[Any]:
    """How ensembles stand; of none nothing is imported, which would take longest."""
    if not any(True for place in places for _ in place.rglob("ensemble.json")):
        return ()
    from tongues.experts.standing import standings

    return standings(places, workspace)
