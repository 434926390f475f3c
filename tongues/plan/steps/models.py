"""What to do with models that were evaluated or measured: export, generate."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tongues.core.errors import UserError
from tongues.core.files import changed_at
from tongues.core.pages import CARD
from tongues.evaluate.sizing import expected_seconds
from tongues.plan.steps.step import State, Step, free_place, next_step
from tongues.runs.record import Run, read_run
from tongues.text.tokens.store import read_manifest
from tongues.train.card import find_tokens

if TYPE_CHECKING:
    from tongues.evaluate.evaluation import Evaluation


def step_of_evaluation(evaluation: "Evaluation", workspace: Path) -> Step:
    """What to do with the model to take by an evaluation; with the first where none is chosen."""
    from tongues.evaluate.choice import chosen_models
    from tongues.experts.ensemble.places import resolve_model

    chosen = chosen_models(evaluation)
    names = [*chosen, *(model.name for model in evaluation.models)]
    places = ((name, resolve_model(name, workspace)) for name in names)
    name, place = next((one for one in places if one[1][0] != "folder"), (names[0], None))
    if place is None:  # folders alone
        return next_step("undecided", workspace, model=Path(name), name=name)
    kind, folder, plain, _ = place
    if kind == "run":
        return step_of_evaluated(read_run(folder), folder, evaluation, workspace)
    if kind == "ensemble" and name in chosen:
        return step_of_best("best", plain, folder / "ensemble.json", workspace)
    return next_step("undecided", workspace, model=Path(name), name=name)


def step_of_evaluated(run: Run, folder: Path, evaluation: "Evaluation", workspace: Path) -> Step:
    """What to do with a run that was evaluated; it is exported where it is a model to take."""
    from tongues.evaluate.choice import chosen_models, is_tested

    chosen = chosen_models(evaluation)
    name = next(m.name for m in evaluation.models if m.trained and m.trained.run == run.run)
    if name in chosen:
        return step_of_best("best", run.run, folder / "model" / CARD, workspace)
    if evaluation.limit and not is_tested(evaluation):
        limit = evaluation.limit
        if again := step_to_evaluate("evaluated_in_part", run, workspace, limit=limit):
            return again
    model = Path(run.run)
    if chosen:
        return next_step("not_best", workspace, model=model, name=run.run, best=chosen[0])
    return next_step("undecided", workspace, model=model, name=run.run)


def step_to_evaluate(state: State, run: Run, workspace: Path, **facts: object) -> Step | None:
    """Evaluate a run and its base on its own text; None where that is not here."""
    tokens = find_tokens(run, workspace)
    if tokens is None:
        return None
    counts = read_manifest(tokens)["languages"]
    held_out = {lang: splits["valid"]["tokens"] for lang, splits in counts.items()}
    text, model = Path(tokens.name), Path(run.run)
    step = next_step(state, workspace, model=model, name=run.run, text=text, **facts)
    return replace(step, seconds=expected_seconds(run, held_out, 2 if run.base else 1))


def step_of_experts(name: str, workspace: Path) -> Step | None:
    """What to do with the best ensemble of a recipe; None where they are not measured."""
    from tongues.evaluate.evaluation import read_evaluation
    from tongues.evaluate.settings import MeasuredExperts

    measured = workspace / "evaluations" / f"{name}-experts"
    if not (measured / "scores.json").is_file():
        return None
    try:
        experts = MeasuredExperts.of(read_evaluation(measured))
    except UserError:  # of another version
        return None
    folder = workspace / "ensembles" / name
    best = next(iter(sorted(folder.glob(f"{experts.choice}-s*"))), None)
    if not experts.choice or best is None:
        return next_step("best_is_gone", folder=folder)
    state: State = "as_good" if experts.as_good else "best"
    return step_of_best(state, f"{name}/{best.name}", best / "ensemble.json", workspace)


def step_of_best(state: State, name: str, record: Path, workspace: Path) -> Step:
    """Export a run or an ensemble, or try its export.

    record: a file that was written with it; exports that are older are of earlier weights.
    """
    for folder, model in _exports(workspace).items():
        if model == name and changed_at(folder / CARD) >= changed_at(record):
            return next_step("exported", folder=folder, name=name)
    out = free_place(workspace / "exports" / name.replace("/", "-"))
    return next_step(state, workspace, model=Path(name), name=name, out=out)


def _exports(workspace: Path) -> Mapping[Path, str]:
    """The folders of a workspace with models to use elsewhere, and the title of each one's card."""
    found = dict[Path, str]()
    for card in sorted([*workspace.glob(f"*/{CARD}"), *workspace.glob(f"*/*/{CARD}")]):
        files = (card.parent / name for name in ("config.json", "ensemble.json"))
        if any(file.is_file() for file in files):
            lines = card.read_text(encoding="utf-8", errors="replace").splitlines()
            found[card.parent] = next((line[2:] for line in lines if line.startswith("# ")), "")
    return found
