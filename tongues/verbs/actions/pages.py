"""What there is, listed and on pages."""

from pathlib import Path
from typing import TYPE_CHECKING

from tongues.core.errors import UserError
from tongues.core.files import files_named
from tongues.runs.states import RunState, states
from tongues.verbs.pages import Ls, Report
from tongues.verbs.shared import Voice, existing_folder, paths

if TYPE_CHECKING:
    from tongues.experts.ensemble.lineage import EnsembleState


def report(asked: Report) -> Path:
    """Write the page of places; returns its `index.html`."""
    from tongues.core.pages import check_folder, write_page
    from tongues.evaluate.evaluation import SCORES
    from tongues.verbs.shared import evaluation_folder

    places, out, text = paths(asked.places), asked.out, asked.text
    if not places:
        from tongues.report.project import write_project_report

        here = existing_folder(asked.workspace)
        folder = Path(out or here / "reports/project")
        check_folder(folder)
        return write_project_report(here, folder)
    if missing := [place for place in places if not place.exists()]:
        hint = "name a folder of runs or a corpus; without one it is the page of the whole folder"
        raise UserError("is not a directory of runs", where=str(missing[0]), hint=hint)
    for place in places:
        if (place / SCORES).is_file():
            page = evaluation_folder(place.parent.parent, place.name)
            hint = f"its page is {page}/index.html, which `tongues evaluate` writes"
            raise UserError("is an evaluation", where=str(place), hint=hint)
    from tongues.report import default_folder, kind_of

    kind, say = kind_of(places), Voice(asked.quiet).say
    folder = Path(out) if out is not None else default_folder(places, kind)
    if text is not None and kind != "tokenizer":
        raise UserError("only tokenizers are tried on a text", where="--text")
    check_folder(folder)
    if kind == "corpus":
        from tongues.report.corpus import corpus_page

        page = corpus_page(places[0], say)
    elif kind == "tokenizer":
        from tongues.report.tokenizer import tokenizer_page

        page = tokenizer_page(places, None if text is None else Path(text), say)
    else:
        from tongues.report.study import runs_page

        page = runs_page(places, say)
    return write_page(page, folder, say)


def ls(asked: Ls) -> tuple[list[RunState], list["EnsembleState"]]:
    """The runs and ensembles at or below places, with their states."""
    workspace, given = Path(asked.workspace), paths(asked.places)
    below = given or [workspace / "ensembles"]
    ensembles: list[EnsembleState] = []
    if any(next(files_named(place, "ensemble.json"), None) for place in below):  # or no slow import
        from tongues.experts.ensemble.lineage import ensemble_states

        ensembles = ensemble_states(below, workspace)
    try:
        below = given or [workspace / "runs"]
        runs = states(below)
        if any(run.step and run.state != "finished" for run in runs):  # or no slow import
            from tongues.train.study.forecasts import with_forecasts

            runs = with_forecasts(runs, below)
    except UserError:
        if not ensembles:
            raise
        runs = []
    return runs, ensembles
