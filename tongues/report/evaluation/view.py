"""The page of an evaluation: the answer, then texts, forgetting, tasks, and what the models are."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from tongues.evaluate.evaluation import Evaluation
from tongues.pages import blocks as b
from tongues.pages import write_page
from tongues.report.evaluation.answer import answer, measure_blocks, number_cards
from tongues.report.evaluation.figures import base_figure, replay_figure, score_figure
from tongues.report.evaluation.measures import Measure, how, model_table

__all__ = ["answer_block", "score_blocks", "write_evaluation_report"]


def write_evaluation_report(evaluation: Evaluation, folder: Path) -> Path:
    """Write the page of an evaluation; returns its `index.html`.

    An earlier report at `folder` is replaced, any other filled folder refused.
    """
    kinds = (("model", evaluation.models), ("text", evaluation.texts), ("task", evaluation.tasks))
    counts = (f"{len(of)} {kind}{'s' * (len(of) != 1)}" for kind, of in kinds if of)
    page = b.Page(
        f"Evaluation: {folder.name.removesuffix('-evaluation')}",
        [number_cards(evaluation), answer_block(evaluation), *_sections(evaluation)],
        lead=[b.Paragraph(" · ".join(counts), "lead")],
        versions={name: version(name) for name in ("tongues", "altair")},
        numbers={"findings": answer(evaluation), **evaluation.to_json()},
    )
    return write_page(page, folder)


def answer_block(evaluation: Evaluation) -> b.Topics:
    """What the page says first."""
    return b.Topics({topic: [b.Items(lines)] for topic, lines in answer(evaluation).items()})


def score_blocks(evaluation: Evaluation, *, compare: bool = False) -> list[b.Block]:
    """The tables of scores, and of all differences, for the terminal."""
    blocks: list[b.Block] = []
    for measure in Measure.of(evaluation):
        blocks.append(b.Section("", f"{measure.title}. {how(measure)}", [measure.score_table()]))
        first = measure.names[evaluation.models[0].name]
        each = {"its base": measure.versus_base, first: measure.versus_first} if compare else {}
        for other, compared in each.items():
            if compared:
                title = f"{measure.title} versus {other}, {measure.unit}"
                blocks.append(b.Section("", title, [measure.comparison_table(compared)]))
    return [*blocks, answer_block(evaluation)] if compare else blocks


def _sections(evaluation: Evaluation) -> Iterator[b.Block]:
    """In reading order."""
    measures = Measure.of(evaluation)
    for measure in measures:
        yield b.Section(measure.name, measure.title, list(measure_blocks(evaluation, measure)))
        figures = (score_figure(measure), base_figure(measure))
        yield from (figure for figure in figures if figure)
    yield from filter(None, [replay_figure(evaluation, measures)])
    window, stride = evaluation.policy.window, evaluation.policy.stride
    about = "as long as a model's context" if window is None else f"of {window:,} tokens"
    step = f", {stride:,} new ones in each" if stride not in (None, window) else ""
    policy = b.Paragraph(f"Long texts are scored in windows {about}{step}.", "quiet")
    yield b.Section("models", "Models", [policy, model_table(evaluation)])
