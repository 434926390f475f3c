"""What an evaluation says on a model's card, as Markdown."""

from collections.abc import Iterator
from pathlib import Path

from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.kept import newest_evaluation
from tongues.files import file_name, write_text
from tongues.pages import Block, Paragraph, Section, as_markdown
from tongues.report.evaluation.answer import measure_blocks
from tongues.report.evaluation.measures import Measure
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
    """What a card says of the newest evaluation of a model; nothing where there is none."""
    if (newest := newest_evaluation(place, workspace)) is None:
        return CardScores()
    return CardScores(card_section(*newest), tuple(_scores(*newest)))


def _scores(evaluation: Evaluation, model: str) -> Iterator[ScoredText]:
    """What is a number of the model alone: losses on texts and accuracies in tasks."""
    for text, losses in evaluation.texts.items():
        for lang, loss in losses.losses.get(model, {}).items():
            yield ScoredText(text, lang, "bits_per_byte", loss.bits_per_byte)
    for task, right in evaluation.tasks.items():
        for lang, accuracy in right.accuracies.get(model, {}).items():
            yield ScoredText(task, lang, right.metric or "accuracy", accuracy.share)
