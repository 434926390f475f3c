"""The evaluations that a workspace keeps, and the newest one of a model."""

from collections.abc import Callable, Collection, Iterator
from functools import cache
from itertools import chain, count
from pathlib import Path

from tongues.core.errors import UserError
from tongues.evaluate.evaluation import SCORES, EvaluatedModel, Evaluation, read_evaluation
from tongues.experts.ensemble.lineage import ENSEMBLE
from tongues.runs.record import read_run


def kept_evaluations(workspace: Path) -> Iterator[tuple[str, Evaluation]]:
    """Every evaluation below `evaluations/` that can be read, with its name, the newest first."""
    files = workspace.glob(f"evaluations/*/{SCORES}")
    for path in sorted(files, key=lambda path: -path.stat().st_mtime_ns):
        try:
            evaluation = read_evaluation(path.parent)
        except UserError:  # damaged, or of another version: it counts as not evaluated
            continue
        yield path.parent.name, evaluation


def free_name(workspace: Path, models: Collection[str], scored: Collection[tuple[str, str]]) -> str:
    """`evaluation`, or the first of it and a number where a new evaluation replaces no scores.

    models, scored: of the new one; texts and tasks with their languages.
    """
    numbered = (f"evaluation-{number}" for number in count(2))
    names = chain(["evaluation"], numbered)
    return next(name for name in names if not replaced(name, workspace, models, scored))


def replaced(
    name: str, workspace: Path, models: Collection[str], scored: Collection[tuple[str, str]]
) -> list[str]:
    """Models, texts and tasks that an evaluation has scores of, and a new one in its place not."""
    try:
        kept = read_evaluation(workspace / "evaluations" / name)
    except UserError:  # none is there that can be read
        return []
    measured = [(text, lang) for text, of in kept.texts.items() for lang in of.languages]
    for task, of in kept.tasks.items():  # of several metrics, each is named behind its task
        own = next((name for name, _ in scored if task in (name, f"{name} {of.metric}")), task)
        measured += [(own, lang) for lang in of.languages]
    lost = [model.name for model in kept.models if model.name not in models]
    return lost + [f"{what} in {lang}" for what, lang in measured if (what, lang) not in scored]


def newest_evaluation(place: Path, workspace: Path) -> tuple[Evaluation, str] | None:
    """The newest evaluation of a model, with its name there; None where there is none.

    place: a run's directory, an ensemble's or a Hugging Face folder. An evaluation counts that
    the very model was a part of, whatever its name was then, an ensemble by any routing.
    """
    is_model = _recognizer(place, workspace)
    for _, evaluation in kept_evaluations(workspace):
        for model in evaluation.models:
            if is_model(model):
                return evaluation, model.name
    return None


def _recognizer(place: Path, workspace: Path) -> Callable[[EvaluatedModel], bool]:
    if (place / "run.json").is_file():
        record = read_run(place)
        return lambda model: (
            model.trained is not None
            and (model.trained.run, model.trained.fingerprint) == (record.run, record.fingerprint)
        )
    kind = "ensemble" if (place / ENSEMBLE).is_file() else "folder"

    @cache
    def fingerprint(routing: str) -> str | None:
        from tongues.experts.ensemble.model import open_model

        try:
            name = f"{place}@{routing}" if routing else str(place)
            return open_model(name, workspace).fingerprint
        except UserError:  # a routing of another ensemble
            return None

    return lambda model: model.kind == kind and model.fingerprint == fingerprint(model.routing)
