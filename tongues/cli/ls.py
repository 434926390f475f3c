"""The verb ls: the runs and ensembles there are."""

from pathlib import Path

import click

from tongues.cli.options import json_option, workspace_option

__all__ = ["ls"]

_SPARE = ("tokens/s", "tokens", "shape", "strategy", "age", "held-out loss")  # first to go


@click.command()
@click.argument("places", nargs=-1, type=click.Path(path_type=Path))
@workspace_option
@json_option
def ls(places: tuple[Path, ...], workspace: Path, as_json: bool) -> None:
    """List the runs and ensembles at or below PLACES, by default all, and how each stands."""
    from dataclasses import asdict

    import tongues
    from tongues.states import states_table, study_lines
    from tongues.terminal import print_json, print_table

    runs, ensembles = tongues.ls(places, workspace)
    if as_json:
        print_json({"runs": [asdict(x) for x in runs], "ensembles": [asdict(x) for x in ensembles]})
        return
    if runs:
        print_table(states_table(runs), spare=_SPARE)
    for line in study_lines(runs):
        click.echo(line)
    if ensembles:
        from tongues.experts.standing import standings_table

        if runs:
            click.echo("")
        print_table(standings_table(ensembles))
