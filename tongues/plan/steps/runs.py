"""The next step of runs and studies."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tongues.core.errors import UserError
from tongues.core.files import changed_at, read_json
from tongues.core.pages import CARD
from tongues.laws import read_laws_file
from tongues.laws.answer import MORE_SHAPES, plan_command
from tongues.plan.steps.models import step_of_best, step_of_evaluated, step_to_evaluate
from tongues.plan.steps.step import UNFINISHED, Step, free_place, is_run, next_step, quoted
from tongues.recipe import in_workspace
from tongues.runs.record import find_runs, read_run
from tongues.runs.states import states

if TYPE_CHECKING:
    from tongues.evaluate.evaluation import Evaluation


Evaluated: TypeAlias = "Mapping[tuple[str, str], Evaluation]"  # by run and fingerprint


def step_of_runs(
    folder: Path,
    workspace: Path,
    evaluated: "Evaluated | None" = None,
    train: str = "",
    *,
    page: bool = False,
) -> Step:
    """The next step of a finished run, or of a study's folder.

    evaluated: the newest evaluation of every run; None: they are read. train: the command that made
    the runs. page: whether its page is written, wherever it is.
    """
    run = read_run(folder) if is_run(folder) else None
    if run and run.status != "finished" and (step := step_of_unfinished(folder, train)):
        return step
    if evaluated is None:
        evaluated = newest_evaluations(workspace) if run else {}
    if run and (evaluation := evaluated.get((run.run, run.fingerprint))):
        return step_of_evaluated(run, folder, evaluation, workspace)
    pages = (root / "reports" / folder.name / "index.html" for root in (workspace, Path()))
    if not page and all(changed_at(each) < last_trained(folder) for each in pages):
        return next_step("no_page", folder=folder)
    if run is None:
        return _step_of_study(folder, workspace, train)
    if step := step_to_evaluate("not_evaluated", run, workspace):
        return step
    return step_of_best("not_scored", run.run, folder / "model" / CARD, workspace)


def step_of_unfinished(folder: Path, train: str) -> Step | None:
    """What to do about runs that are not finished; train: the command that makes them."""
    try:
        every = {state.state: state for state in reversed(states([folder]))}
    except UserError:  # there are none
        return None
    for state in UNFINISHED:
        if first := every.get(state):
            return next_step(
                state,
                folder=folder,
                train=train or f"tongues ls {quoted(folder)}",
                run=first.run,
                why=first.reason.strip().rpartition("\n")[2].strip() or "without a reason",
                step=first.step,
                steps=first.steps,
            )
    return None


def last_trained(folder: Path) -> float:
    """When its newest run ended, or began."""
    runs = find_runs([folder]) if folder.is_dir() else []
    return max((changed_at(run / "run.json") for run in runs), default=0.0)


def newest_evaluations(workspace: Path) -> Evaluated:
    """The newest evaluation of every run, as far as these can be read.

    Where experts were measured, a run was only what they are compared with, and none counts.
    """
    from tongues.evaluate.kept import kept_evaluations

    found: dict[tuple[str, str], Evaluation] = {}
    for _, evaluation in kept_evaluations(workspace):
        models = () if evaluation.experts else evaluation.models
        for trained in filter(None, (model.trained for model in models)):
            found.setdefault((trained.run, trained.fingerprint), evaluation)
    return found


def _step_of_study(folder: Path, workspace: Path, train: str) -> Step:
    train = train or f"tongues study RECIPE{in_workspace(workspace)}"
    for path in _laws_of(folder, workspace):
        try:
            plan = plan_command(read_laws_file(path), path)
        except UserError:  # of another version
            continue
        return next_step("law" if plan else "loose_law", plan=plan, train=train, more=MORE_SHAPES)
    runs = [read_run(place) for place in find_runs([folder])]
    if len({run.params["total"] for run in runs}) == 1 and "scratch" in {x.strategy for x in runs}:
        return next_step("one_size", train=train, more=MORE_SHAPES)
    others = (x for x in folder.parent.glob("*/") if x != folder and not is_run(x))
    law = workspace / "law.json"
    if law.exists() or any(find_runs([other]) for other in others):
        law = free_place(workspace / f"law-{folder.name}.json")
    return next_step("no_law", folder=folder, law=law)


def _laws_of(folder: Path, workspace: Path) -> Sequence[Path]:
    """The files of laws that were fitted to a study as it is."""
    found = list[Path]()
    for path in sorted(workspace.glob("*.json")):
        try:
            content = read_json(path)
        except (OSError, ValueError):  # a file of something else
            continue
        tables = content.get("tables", []) if isinstance(content, dict) else []
        places = (Path(), path.parent)  # where `fit` may have been run
        if folder.resolve() in {(place / table).resolve() for table in tables for place in places}:
            found += [path] if changed_at(path) >= last_trained(folder) else []
    return found
