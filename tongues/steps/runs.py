"""The next step of runs and studies."""

from collections import Counter
from collections.abc import Collection
from pathlib import Path

from tongues.errors import UserError
from tongues.files import changed_at, read_json
from tongues.laws import read_laws_file
from tongues.laws.next_step import MORE_SHAPES, plan_command
from tongues.models import SHAPES
from tongues.pages import CARD
from tongues.quantities import show_count
from tongues.recipe import in_workspace
from tongues.runs import Run, find_runs, read_run
from tongues.states import RunState, states
from tongues.steps.changed import command_of_runs
from tongues.steps.models import step_of_evaluated, step_of_use, step_to_evaluate
from tongues.steps.step import (
    LAST,
    URGENT,
    Evaluated,
    Step,
    free_place,
    is_run,
    last_trained,
    newest_evaluations,
    quoted,
)

__all__ = ["more_runs_of", "step_of_reported", "step_of_runs", "step_of_unfinished"]
__all__ += ["step_to_report"]

_PER_PARAMETER = (4, 16)  # tokens of the smallest model: from too few to more than it needs
_SIZES = 4  # of a study, from which the exponent of its law is more than a guess


def step_of_runs(
    folder: Path,
    workspace: Path,
    evaluated: "Evaluated | None" = None,
    train: str = "",
) -> Step:
    """The next step of a finished run, or of a study's folder.

    evaluated: the newest evaluation of every run; None: they are read. train: the command that made
    the runs; empty: it is looked for.
    """
    evaluated = newest_evaluations(workspace) if evaluated is None else evaluated
    run = read_run(folder) if is_run(folder) else None
    if run and (run.run, run.fingerprint) in evaluated:
        return step_of_reported(folder, workspace, evaluated)
    page = step_to_report(folder, workspace)
    return page or step_of_reported(folder, workspace, evaluated, train)


def step_of_reported(
    folder: Path,
    workspace: Path,
    evaluated: "Evaluated | None" = None,
    train: str = "",
) -> Step:
    """The next step of a run or a study's folder whose page is written; as `step_of_runs`."""
    if not is_run(folder):
        return _step_of_study(folder, workspace, train)
    evaluated = newest_evaluations(workspace) if evaluated is None else evaluated
    run = read_run(folder)
    if evaluation := evaluated.get((run.run, run.fingerprint)):
        return step_of_evaluated(run, folder, evaluation, workspace)
    if step := step_to_evaluate(run, workspace, "not evaluated"):
        return step
    why = "cannot be evaluated on its own text, which is not here"
    return step_of_use(run.run, why, folder / "model" / CARD, workspace)


def step_to_report(folder: Path, workspace: Path) -> Step | None:
    """Write the page of a finished run or study; None where it is there and newer."""
    pages = (root / "reports" / folder.name / "index.html" for root in (workspace, Path()))
    if any(page.is_file() and page.stat().st_mtime >= last_trained(folder) for page in pages):
        return None
    return Step(f"tongues report {quoted(folder)}", "it is trained, and its page is not written")


def step_of_unfinished(folder: Path, train: str, workspace: Path) -> Step | None:
    """What to do about runs that are not finished; train: the command that makes them."""
    try:
        found = [state for state in states([folder]) if state.state in URGENT]
    except UserError:  # there are none
        return None
    if not found:
        return None
    first = min(found, key=lambda state: URGENT.index(state.state))
    urgency, counts = URGENT.index(first.state), Counter(state.state for state in found)
    if first.state == "running":
        reason = f"{counts['running']} running, {counts['waiting']} waiting"
        return Step(f"tongues ls {quoted(folder)}", reason, urgency=urgency)
    if first.state == "damaged":
        return Step(f"tongues ls {quoted(folder)}", f"{first.run}: {first.reason}", urgency=urgency)
    reason = _why(first, counts)
    if not train:
        command, reason = f"tongues ls {quoted(folder)}", f"{reason}; its recipe is not here"
    else:
        command = train
    return Step(command, reason, urgency=urgency)


def _why(first: RunState, counts: Counter[str]) -> str:
    more = f" ({counts[first.state]} such runs)" if counts[first.state] > 1 else ""
    if first.state == "failed":
        why = first.reason.strip().rpartition("\n")[2].strip()
        return f"{first.run} failed{more}: {why or 'without a reason'}"
    if first.state == "stopped":
        at = f" at step {first.step} of {first.steps}" if first.steps else ""
        return f"{first.run} stopped{at}{more}; it {'resumes' if first.step else 'starts again'}"
    return f"{first.run} is not begun{more}"


def _step_of_study(folder: Path, workspace: Path, train: str) -> Step:
    runs = [read_run(place) for place in find_runs([folder])]

    def more(reason: str) -> Step:
        added, by = _added(runs), train or command_of_runs(folder, workspace)
        if by:
            return Step(f"{by} {added}", reason)
        command = f"tongues study RECIPE{in_workspace(workspace)} {added}"
        return Step(command, f"{reason}; no recipe here has their settings", urgency=LAST)

    for path in sorted(workspace.glob("*.json")):
        try:
            content = read_json(path)
        except (OSError, ValueError):  # a file of something else
            continue
        fitted = content.get("tables", []) if isinstance(content, dict) else []
        if changed_at(path) < last_trained(folder):  # runs were added since
            continue
        if folder.resolve() in {Path(place).resolve() for place in fitted}:
            try:
                plan = plan_command(read_laws_file(path), path)
            except UserError:  # of another version
                continue
            if plan:
                reason = "there is a law of its runs: plan by it, for the compute that you have"
                return Step(plan, reason)
            return more("its runs do not pin its law down: train more, and fit again")
    if len({run.params["total"] for run in runs}) == 1 and "scratch" in {r.strategy for r in runs}:
        return more("its runs are of one size, and laws need several: train more")
    others = (x for x in folder.parent.glob("*/") if x != folder and not is_run(x))
    law = workspace / "law.json"
    if law.exists() or any(find_runs([other]) for other in others):
        law = free_place(workspace / f"law-{folder.name}.json")
    return Step(
        f"tongues fit {quoted(folder)} -o {quoted(law)}", "its runs are finished; no law is fitted"
    )


def more_runs_of(place: Path) -> str:
    """The command that adds the runs that laws need; empty where no recipe makes them.

    place: the folder of a study, or a file of laws that were fitted on it.
    """
    if not place.is_dir():
        content = read_json(place) if place.suffix == ".json" and place.is_file() else {}
        tables = map(Path, content.get("tables", ()))
        return next(filter(None, (more_runs_of(table) for table in tables if table.is_dir())), "")
    by = command_of_runs(place, place.parent.parent if place.parent.name == "runs" else Path())
    return f"{by} {_added([read_run(run) for run in find_runs([place])])}" if by else ""


def _added(runs: Collection[Run]) -> str:
    """Overrides of a study, by which its runs and the further ones that a law needs are trained."""
    short = all(run.tokens < _PER_PARAMETER[0] * run.params["total"] for run in runs)
    shapes = {run.shape for run in runs}
    more = _more_shapes(shapes) if len(shapes) < _SIZES or not short else ""
    budgets = _more_budgets(runs) if short and more != MORE_SHAPES else ""
    return " ".join(filter(None, [more, budgets]))


def _more_budgets(runs: Collection[Run]) -> str:
    """An override of a study with its budgets, and some from which a law knows what tokens do."""
    learned = [run for run in runs if run.strategy != "source"] or runs
    in_order = sorted(learned, key=lambda run: run.tokens)
    fewest = min(run.params["total"] for run in learned)
    longer = (f"{show_count(float(f'{each * fewest:.1g}'))} tokens" for each in _PER_PARAMETER)
    budgets = dict.fromkeys([*(run.settings["budget"] for run in in_order), *longer])
    return quoted(f"study.budgets=[{', '.join(budgets)}]")


def _more_shapes(shapes: Collection[str]) -> str:
    """An override of a study with its shapes and some that are larger."""
    names = list(SHAPES)
    known = [name for name in names if name in shapes]
    if len(known) < len(shapes) or known[-1] == names[-1]:
        return MORE_SHAPES
    larger = names[names.index(known[-1]) + 1 :][: max(_SIZES - len(known), 2)]
    return quoted(f"study.shapes=[{', '.join([*known, *larger])}]")
