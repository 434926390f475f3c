"""The verbs on what there is: ls lists it, report draws its pages."""

from pathlib import Path
from typing import Any

import click

from tongues.cli import options
from tongues.terminal import echo

_OPTIONAL = ("tokens/s", "tokens", "shape", "strategy", "age", "held-out nats/token")  # first to go


@click.command()
@click.argument("places", nargs=-1, type=options.PATH)
@options.workspace
@options.as_json
def ls(places: tuple[Path, ...], workspace: Path, as_json: bool) -> None:
    """List the runs and ensembles at or below PLACES, with their states."""
    from dataclasses import asdict

    import tongues
    from tongues.states import states_table, study_lines
    from tongues.terminal import print_json, print_table

    runs, ensembles = tongues.ls(places, workspace)
    if as_json:
        print_json({"runs": [asdict(x) for x in runs], "ensembles": [asdict(x) for x in ensembles]})
        return
    if runs:
        print_table(states_table(runs), optional=_OPTIONAL)
    for line in study_lines(runs):
        echo(line)
    if ensembles:
        from tongues.experts.ensemble.lineage import state_rows

        if runs:
            echo("")
        print_table(state_rows(ensembles))
    first = next((Path(run.directory) for run in runs), workspace / "runs")
    stores = [folder for folder in (first, *first.parents) if folder.name == "runs"]
    if not places or stores:  # otherwise what is listed is of no workspace
        options.hint_next(stores[0].parent if places else workspace)


@click.command()
@click.argument("places", nargs=-1, type=options.PATH)
@options.workspace
@click.option("-o", "--out", type=options.OUT, help="Folder of the page (reports/NAME).")
@click.option(
    "--text",
    type=click.Path(path_type=Path, exists=True),
    help="Text or recipe to compare tokenizers on.",
)
@options.quiet
@options.as_json
def report(places: tuple[Path, ...], as_json: bool, **keywords: Any) -> None:
    """Write one page about runs, a corpus, tokenizers, or the folder.

    Without PLACES the page says what there is, what came of it and what to do next; it is the
    project's record too: data, costs, licences, recipes and plans.

    Each figure is also written as SVG, PNG and data. Other pages come from `plan -o`,
    `experts measure` and `evaluate`.
    """
    import tongues
    from tongues.terminal import hint, print_paths

    print_paths([tongues.report(places, **keywords)], as_json=as_json)
    if len(places) == 1 and places[0].parent.name == "runs":
        options.hint_runs(places[0], places[0].parent.parent)
        return
    inside = bool(places) and places[0].parent.name in ("corpus", "tokens")
    workspace = places[0].parent.parent if inside else keywords["workspace"]
    hint(tongues.next_steps(workspace)[0].command)


@click.command()
@options.workspace
@click.option("--port", type=click.IntRange(0, 65_535), default=8765, help="0: any that is free.")
def watch(workspace: Path, port: int) -> None:
    """Show runs, losses, forecasts and hours left on a local page."""
    import tongues

    tongues.watch(workspace, port=port, ready=echo)
