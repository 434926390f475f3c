"""The verbs on what there is: ls lists it, report draws its pages, watch shows it live."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tongues.core.terminal import echo
from tongues.verbs.hints import hint_next, hint_runs
from tongues.verbs.options import AS_JSON, OUT, PATH
from tongues.verbs.settings import Verb, argument, command, function, option, settings
from tongues.verbs.shared import Quietly, in_workspace, paths

if TYPE_CHECKING:
    from tongues.experts.ensemble.lineage import EnsembleState
    from tongues.runs.states import RunState


_OPTIONAL = ("tokens/s", "tokens", "shape", "strategy", "age", "held-out nats/token")  # first to go


@settings
class Ls(Verb["tuple[list[RunState], list[EnsembleState]]"]):
    """List the runs and ensembles at or below PLACES, with their states."""

    work = "pages:ls"
    places: Path | str | Sequence[Path | str] = argument(
        PATH, many=True, required=False, default=()
    )
    workspace: Path | str = in_workspace()


@command(Ls, AS_JSON)
def _ls(asked: Ls, *, as_json: bool) -> None:
    from dataclasses import asdict

    from tongues.core.terminal import print_json, print_table
    from tongues.runs.states import states_table, study_lines

    runs, ensembles = asked.run()
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
    workspace = Path(asked.workspace)
    first = next((Path(run.directory) for run in runs), workspace / "runs")
    stores = [folder for folder in (first, *first.parents) if folder.name == "runs"]
    if not asked.places or stores:  # otherwise what is listed is of no workspace
        hint_next(stores[0].parent if asked.places else workspace)


@settings
class Report(Quietly, Verb[Path]):
    """Write one page about runs, a corpus, tokenizers, or the folder.

    Without PLACES the page says what there is, what came of it and what to do next; it is the
    project's record too: data, costs, licences, recipes and plans.

    Each figure is also written as SVG, PNG and data. Other pages come from `plan -o`,
    `experts measure` and `evaluate`. Returns the page's `index.html`.
    """

    work = "pages:report"
    places: Path | str | Sequence[Path | str] = argument(
        PATH, many=True, required=False, default=()
    )
    out: Path | str | None = option(OUT, names=("-o", "--out"), default=None)
    _: KW_ONLY
    text: Path | str | None = option(click.Path(path_type=Path, exists=True), default=None)
    workspace: Path | str = in_workspace()


@command(Report, AS_JSON)
def _report(asked: Report, *, as_json: bool) -> None:
    from tongues.core.terminal import hint, print_paths
    from tongues.plan.steps import steps_in

    print_paths([asked.run()], as_json=as_json)
    places = paths(asked.places)
    if len(places) == 1 and places[0].parent.name == "runs":
        hint_runs(places[0], places[0].parent.parent)
        return
    inside = bool(places) and places[0].parent.name in ("corpus", "tokens")
    workspace = places[0].parent.parent if inside else Path(asked.workspace)
    hint(steps_in(workspace)[0].line)


@settings
class Watch(Verb[None]):
    """Show runs, losses, forecasts and hours left on a local page."""

    workspace: Path | str = in_workspace()
    _: KW_ONLY
    port: int = option(click.IntRange(0, 65_535), default=8765)
    ready: Callable[[str], None] = lambda address: None  # gets the page's address

    def run(self) -> None:
        """Serve it."""
        from tongues.use.serve.watch import serve_runs
        from tongues.verbs.shared import existing_folder

        serve_runs(existing_folder(self.workspace), self.port, self.ready)


@command(Watch)
def _watch(asked: Watch) -> None:
    replace(asked, ready=echo).run()


ls = function(Ls)
report = function(Report)
watch = function(Watch)
