"""What to do with models that were evaluated or measured: export, generate."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tongues.errors import UserError
from tongues.files import changed_at
from tongues.pages import CARD
from tongues.recipe import in_workspace
from tongues.runs import Run, read_run
from tongues.steps.step import Step, free_place, quoted
from tongues.train.card import find_tokens

if TYPE_CHECKING:
    from tongues.evaluate.evaluation import Evaluation

__all__ = ["step_of_evaluated", "step_of_evaluation", "step_of_experts", "step_of_use"]
__all__ += ["step_to_evaluate"]


def step_of_evaluation(evaluation: "Evaluation", workspace: Path) -> Step:
    """What to do with the model to take by an evaluation; with the first where none is chosen."""
    from tongues.evaluate.choice import chosen_models
    from tongues.experts.ensemble.places import resolve_model

    name = next(iter([*chosen_models(evaluation), *(model.name for model in evaluation.models)]))
    kind, folder, plain, _ = resolve_model(name, workspace)
    if kind == "run":
        return step_of_evaluated(read_run(folder), folder, evaluation, workspace)
    if kind == "ensemble" and name in chosen_models(evaluation):
        return step_of_use(plain, "is evaluated", folder / "ensemble.json", workspace)
    return Step(
        f"tongues generate {quoted(name)}{in_workspace(workspace)}", f"{name} is evaluated: try it"
    )


def step_of_evaluated(run: Run, folder: Path, evaluation: "Evaluation", workspace: Path) -> Step:
    """What to do with a run that was evaluated; it is exported where it is a model to take."""
    from tongues.evaluate.choice import choice_in_words, chosen_models, is_tested

    chosen = chosen_models(evaluation)
    name = next(m.name for m in evaluation.models if m.trained and m.trained.run == run.run)
    if name in chosen:
        return step_of_use(run.run, "is evaluated", folder / "model" / CARD, workspace)
    words = choice_in_words(evaluation)
    why = f"`{chosen[0]}` is better" if chosen else f"no model is better on all ({words or 'none'})"
    if not is_tested(evaluation):
        why = f"evaluated with `--limit {evaluation.limit}`, too little to choose a model by"
        if evaluation.limit and (step := step_to_evaluate(run, workspace, why)):
            return step
        why = f"the best: {words}"
        if evaluation.texts:
            why += " (`tongues prepare` with more `tokens.held_out` and another `name` has more)"
    command = f"tongues generate {quoted(run.run)}{in_workspace(workspace)}"
    return Step(command, f"{run.run} is evaluated; {why}: try it before it is used")


def step_to_evaluate(run: Run, workspace: Path, why: str) -> Step | None:
    """Evaluate a run and its base on its own text; None where that is not here."""
    tokens = find_tokens(run, workspace)
    if tokens is None:
        return None
    names = f"{run.run} and its base are" if run.base else f"{run.run} is"
    text = quoted(tokens.name)
    command = f"tongues evaluate {quoted(run.run)} --text {text} --compare{in_workspace(workspace)}"
    return Step(command, f"{names} {why}")


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
    choice = experts.choice
    there = sorted((workspace / "ensembles" / name).glob(f"{choice}-s*")) if choice else []
    if not there:
        reason = "the ensembles are measured, and none of the best partition is here"
        return Step(f"tongues ls {quoted(workspace / 'ensembles' / name)}", reason)
    why = "is the best of the experts" if choice != "dense" else "is better than the experts"
    why += " by their page"
    why += ", without a significant difference to dense" * experts.as_good
    return step_of_use(f"{name}/{there[0].name}", why, there[0] / "ensemble.json", workspace)


def step_of_use(name: str, why: str, record: Path, workspace: Path) -> Step:
    """What to do with a run or an ensemble that is evaluated: its export is itself, not a mean.

    record: a file that was written with it; exports that are older are of earlier weights.
    """
    heading = re.compile(rf"^# {re.escape(name)}$", re.MULTILINE)
    for card in sorted([*workspace.glob(f"*/{CARD}"), *workspace.glob(f"*/*/{CARD}")]):
        if changed_at(card) < changed_at(record):
            continue
        text = card.read_text(encoding="utf-8", errors="replace")
        model = any((card.parent / file).is_file() for file in ("config.json", "ensemble.json"))
        if model and heading.search(text):
            reason = f"{name} {why}; its export is here: try it"
            return Step(f"tongues generate {quoted(card.parent)}", reason)
    reason = f"{name} {why}; this writes it as a folder to use elsewhere, with a card"
    out = free_place(workspace / "exports" / name.replace("/", "-"))
    return Step(f"tongues export {quoted(name)} -o {quoted(out)}{in_workspace(workspace)}", reason)
