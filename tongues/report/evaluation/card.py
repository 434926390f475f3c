"""What an evaluation says on a model's card, as Markdown, and which evaluation is its newest."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from tongues.errors import UserError
from tongues.evaluate.evaluation import SCORES, EvaluatedModel, Evaluation, read_evaluation
from tongues.experts.ensemble.lineage import ENSEMBLE
from tongues.files import file_name, write_text
from tongues.pages import Block, Paragraph, Section, as_markdown
from tongues.report.evaluation.answer import measure_blocks
from tongues.report.evaluation.measures import Measure
from tongues.runs import read_run
from tongues.train.metadata import CardScores, ScoredText

__all__ = ["card_section", "newest_scores", "write_cards"]


def write_cards(evaluation: Evaluation, folder: Path) -> list[Path]:
    """Write a section for each model to `folder`, named as the model is; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {model.name: folder / f"{file_name(model.name)}.md" for model in evaluation.models}
    for name, path in paths.items():
        write_text(path, card_section(evaluation, name))
    return list(paths.values())


def card_section(evaluation: Evaluation, model: str) -> str:
    """What a model scored, versus what, and how that was measured."""
    blocks: list[Block] = [
        Section("", measure.title, list(measure_blocks(evaluation, measure, model)))
        for measure in Measure.of(evaluation)
    ]
    about = evaluation.model(model)
    token = f"the token `{about.first}`" if about.first else "nothing"
    but = "" if about.prompted else ", but nothing before the prompts of tasks"
    lines = [
        f"Measured with tongues {evaluation.tongues}; in brackets 95 % confidence intervals.",
        "Differences: p < 0.05, Holm-corrected for all models and languages compared.",
        f"Routing: `{about.routing}`." if about.routing else "",
        f"Before every text comes {token}{but}.",
        *(f"{line.rstrip('.')}." for line in evaluation.left_out),
    ]
    blocks.append(Paragraph(" ".join(filter(None, lines))))
    return as_markdown([Section("", "Evaluation", blocks)]) + "\n"


def newest_scores(place: Path, workspace: Path) -> CardScores:
    """What a card says of the newest evaluation of a model; nothing where there is none.

    place: a run's directory, an ensemble's or a Hugging Face folder. An evaluation counts that
    the very model was a part of, whatever its name was then, an ensemble by any routing.
    """
    kept = (workspace / "evaluations").glob(f"*/{SCORES}")
    is_model = _recognizer(place, workspace)
    for path in sorted(kept, key=lambda path: -path.stat().st_mtime_ns):
        with suppress(UserError):  # damaged, or of another version
            evaluation = read_evaluation(path.parent)
            for model in evaluation.models:
                if is_model(model):
                    section = card_section(evaluation, model.name)
                    return CardScores(section, tuple(_scores(evaluation, model.name)))
    return CardScores()


def _scores(evaluation: Evaluation, model: str) -> Iterator[ScoredText]:
    """What is a number of the model alone: losses on texts and accuracies in tasks."""
    for text, losses in evaluation.texts.items():
        for lang, loss in losses.losses.get(model, {}).items():
            yield ScoredText(text, lang, "bits_per_byte", loss.bits_per_byte)
    for task, right in evaluation.tasks.items():
        for lang, accuracy in right.accuracies.get(model, {}).items():
            yield ScoredText(task, lang, right.metric or "accuracy", accuracy.share)


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
