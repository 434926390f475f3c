"""The verbs on what there is: ls lists it, report draws its pages, watch shows it live."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tongues.terminal import echo
from tongues.verbs.hints import hint_next, hint_runs
from tongues.verbs.options import AS_JSON, OUT, PATH
from tongues.verbs.settings import argument, command, function, option, settings
from tongues.verbs.shared import Quietly, in_workspace, paths

if TYPE_CHECKING:
    from tongues.experts.ensemble.lineage import EnsembleState
    from tongues.states import RunState

_OPTIONAL = ("tokens/s", "tokens", "shape", "strategy", "age", "held-out nats/token")  # first to go


@settings
class Ls:
    """The runs and the ensembles at or below places, by default all, with their states."""

    places: Path | str | Sequence[Path | str] = argument(
        default=(), kind=PATH, many=True, required=False
    )
    workspace: Path | str = in_workspace()

    def run(self) -> "tuple[list[RunState], list[EnsembleState]]":
        """List them."""
        from tongues.verbs.work.pages import ls

        return ls(self)


@command(Ls, AS_JSON)
def ls_command(asked: Ls, *, as_json: bool) -> None:
    """List the runs and ensembles at or below PLACES, with their states."""
    from dataclasses import asdict

    from tongues.states import states_table, study_lines
    from tongues.terminal import print_json, print_table

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
class Report(Quietly):
    """Write one page about runs, a corpus, or tokenizers side by side; returns its `index.html`.

    Without places it is the page of the whole workspace, with a receipt: its README.md, recipes and
    plans. Each figure is also written as SVG, PNG and data.
    """

    places: Path | str | Sequence[Path | str] = argument(
        default=(), kind=PATH, many=True, required=False
    )
    out: Path | str | None = option(
        "-o", "--out", default=None, kind=OUT, about="Folder of the page (reports/NAME)."
    )
    _: KW_ONLY
    text: Path | str | None = option(
        default=None,
        kind=click.Path(path_type=Path, exists=True),
        about="Text or recipe to compare tokenizers on.",
    )
    workspace: Path | str = in_workspace()

    def run(self) -> Path:
        """Write it."""
        from tongues.verbs.work.pages import report

        return report(self)


@command(Report, AS_JSON)
def report_command(asked: Report, *, as_json: bool) -> None:
    """Write one page about runs, a corpus, tokenizers, or the folder.

    Without PLACES the page says what there is, what came of it and what to do next; it is the
    project's record too: data, costs, licences, recipes and plans.

    Each figure is also written as SVG, PNG and data. Other pages come from `plan -o`,
    `experts measure` and `evaluate`.
    """
    from tongues.steps import steps_in
    from tongues.terminal import hint, print_paths

    print_paths([asked.run()], as_json=as_json)
    places = paths(asked.places)
    if len(places) == 1 and places[0].parent.name == "runs":
        hint_runs(places[0], places[0].parent.parent)
        return
    inside = bool(places) and places[0].parent.name in ("corpus", "tokens")
    workspace = places[0].parent.parent if inside else Path(asked.workspace)
    hint(steps_in(workspace)[0].command)


@settings
class Watch:
    """Serve a page of the runs to this machine alone until interrupted; it renews itself."""

    workspace: Path | str = in_workspace()
    _: KW_ONLY
    port: int = option(default=8765, kind=click.IntRange(0, 65_535), about="0: any that is free.")
    ready: Callable[[str], None] = lambda address: None  # gets the page's address

    def run(self) -> None:
        """Serve it."""
        from tongues.serve.watch import serve_runs
        from tongues.verbs.shared import existing_folder

        serve_runs(existing_folder(self.workspace), self.port, self.ready)


@command(Watch)
def watch_command(asked: Watch) -> None:
    """Show runs, losses, forecasts and hours left on a local page."""
    replace(asked, ready=echo).run()


ls = function(Ls)
report = function(Report)
watch = function(Watch)
