"""What the newest evaluation found of a model, as it is now."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from tongues.errors import UserError
from tongues.evaluate.evaluation import SCORES, EvaluatedModel, read_evaluation
from tongues.experts.ensemble.lineage import ENSEMBLE
from tongues.report.evaluation.card import card_section
from tongues.runs import read_run

__all__ = ["newest_section"]

Same = Callable[[EvaluatedModel], bool]


def newest_section(place: Path, workspace: Path) -> str:
    """The section of a card for what the newest evaluation found of a model; or nothing.

    place: a run's directory, an ensemble's or a Hugging Face folder. An evaluation counts that
    the very model was a part of, whatever it was called then, an ensemble by any routing.
    """
    kept = (workspace / "evaluations").glob(f"*/{SCORES}")
    same = _same(place, workspace)
    for path in sorted(kept, key=lambda path: -path.stat().st_mtime_ns):
        with suppress(UserError):  # damaged, or of another version
            evaluation = read_evaluation(path.parent)
            for about in evaluation.models:
                if same(about):
                    return card_section(evaluation, about.name)
    return ""


def _same(place: Path, workspace: Path) -> Same:
    """Whether what an evaluation says of a model says that it is this one."""
    if (place / "run.json").is_file():
        record = read_run(place)
        return lambda about: (
            about.trained is not None
            and (about.trained.run, about.trained.fingerprint) == (record.run, record.fingerprint)
        )
    kind = "ensemble" if (place / ENSEMBLE).is_file() else "folder"

    @cache
    def fingerprint(way: str) -> str | None:
        from tongues.experts.ensemble.model import open_model

        try:
            return open_model(f"{place}@{way}" if way else str(place), workspace).fingerprint
        except UserError:  # a routing of another ensemble
            return None

    return lambda about: about.kind == kind and about.fingerprint == fingerprint(about.routing)
