"""The page of an evaluation: the answer, then texts, forgetting, tasks, and what the models are."""

from pathlib import Path

from tongues.evaluate.evaluation import Evaluation
from tongues.pages import blocks as b
from tongues.pages import write_page
from tongues.report.evaluation.answer import answer, measure_blocks
from tongues.report.evaluation.figures import replay_figure, score_figure
from tongues.report.evaluation.measures import SOURCES, Measure, how, model_table

__all__ = ["score_blocks", "write_evaluation_report"]


def write_evaluation_report(evaluation: Evaluation, folder: Path) -> Path:
    """Write the page of an evaluation; returns its `index.html`."""
    measures, blocks = Measure.of(evaluation), list[b.Block | None]()
    for measure in measures:
        inside = list(measure_blocks(evaluation, measure))
        blocks.append(b.Section(measure.name, measure.title, inside))
        blocks.append(score_figure(measure))
    blocks.append(replay_figure(evaluation, measures))
    window, stride = evaluation.policy.window, evaluation.policy.stride
    about = "as long as a model's context" if window is None else f"of {window:,} tokens"
    step = f", {stride:,} new ones in each" if stride not in (None, window) else ""
    policy = f"Long texts are scored in windows {about}{step}."
    blocks.append(b.Section("models", "Models", [policy, model_table(evaluation)]))
    kinds = (("model", evaluation.models), ("text", evaluation.texts), ("task", evaluation.tasks))
    counts = (f"{len(of)} {kind}{'s' * (len(of) != 1)}" for kind, of in kinds if of)
    page = b.Page(
        f"Evaluation: {folder.name.removesuffix('-evaluation')}",
        [_topics(evaluation), *filter(None, blocks)],
        lead=[b.Paragraph(" · ".join(counts), "lead")],
        numbers={"findings": answer(evaluation), **evaluation.to_json()},
    )
    return write_page(page, folder)


def score_blocks(evaluation: Evaluation, *, compare: bool = False) -> list[b.Block]:
    """The tables of scores, and of all differences with the answer, for the terminal."""
    blocks: list[b.Block] = []
    for measure in Measure.of(evaluation):
        blocks.append(b.Section("", f"{measure.title}. {how(measure)}", [measure.score_table()]))
        for other, compared in measure.versus.items() if compare else ():
            title = f"{measure.title} versus {other}, {measure.unit}"
            blocks.append(b.Section("", title, [measure.comparison_table(compared)]))
        if compare and (table := measure.source_table()):
            blocks.append(b.Section("", f"{measure.title} by source. {SOURCES}", [table]))
    return [*blocks, _topics(evaluation)] if compare else blocks


def _topics(evaluation: Evaluation) -> b.Topics:
    return b.Topics.of(answer(evaluation))
