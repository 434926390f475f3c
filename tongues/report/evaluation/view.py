"""The page of an evaluation, its tables in the terminal, and its part of a model's card."""

from collections.abc import Iterator
from pathlib import Path

from tongues.core.pages import as_markdown
from tongues.core.pages import blocks as b
from tongues.core.quantities import counted
from tongues.evaluate.evaluation import Evaluation
from tongues.evaluate.kept import newest_evaluation
from tongues.report.evaluation.answer import answer, measure_blocks
from tongues.report.evaluation.figures import replay_figure, score_figure
from tongues.report.evaluation.measures import SOURCES, Measure, how, model_table
from tongues.train.metadata import CardScores, ScoredText


def evaluation_page(evaluation: Evaluation, name: str) -> b.Page:
    """The answer, then texts, forgetting, tasks, and what the models are."""
    measures, topics, blocks = Measure.of(evaluation), answer(evaluation), list[b.Block]()
    for measure in measures:
        inside = list(measure_blocks(evaluation, measure))
        blocks += [b.Section(measure.name, measure.title, inside), score_figure(measure)]
    window = evaluation.policy.window
    about = "as long as a model's context" if window is None else f"of {window:,} tokens"
    policy = f"Long texts are scored in windows {about}."
    kinds = (("model", evaluation.models), ("text", evaluation.texts), ("task", evaluation.tasks))
    counts = " · ".join(counted(len(of), kind) for kind, of in kinds if of)
    return b.Page(
        f"Evaluation: {name}",
        [
            b.Topics.of(topics),
            *blocks,
            replay_figure(evaluation, measures),
            b.Section("models", "Models", [policy, model_table(evaluation)]),
        ],
        lead=[b.Paragraph(counts, "lead")],
        numbers={"findings": topics, **evaluation.to_json()},
    )


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
    return [*blocks, b.Topics.of(answer(evaluation))] if compare else blocks


def card_section(evaluation: Evaluation, model: str) -> str:
    """What a model scored, versus what, and how that was measured."""
    blocks: list[b.Block] = [
        b.Section("", measure.title, list(measure_blocks(evaluation, measure, model)))
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
    blocks.append(b.Paragraph(" ".join(filter(None, lines))))
    return as_markdown([b.Section("", "Evaluation", blocks)]) + "\n"


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
