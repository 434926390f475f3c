"""The page of an evaluation, its tables in the terminal, and its part of a model's card."""

from collections.abc import Iterator
from pathlib import Path

from tongues.core.pages import as_markdown
from tongues.core.pages import blocks as b
from tongues.evaluate.evaluation import Evaluation, TextScores
from tongues.evaluate.kept import newest_evaluation
from tongues.report.evaluation import words
from tongues.report.evaluation.figures import replay_figure, score_figure
from tongues.report.evaluation.measures import Measure, model_table
from tongues.train.metadata import CardScores, ScoredText


def evaluation_page(evaluation: Evaluation, name: str) -> b.Page:
    """The answer, then texts, forgetting, tasks, and what the models are."""
    measures, topics, blocks = Measure.of(evaluation), words.answer(evaluation), list[b.Block]()
    for measure in measures:
        inside = list(_measure_blocks(evaluation, measure))
        blocks += [b.Section(measure.name, measure.title, inside), score_figure(measure)]
    window = evaluation.policy.window
    models = [words.WINDOWS[window is None].format(window=window), model_table(evaluation)]
    return b.Page(
        f"Evaluation: {name}",
        [
            b.Topics.of(topics),
            *blocks,
            replay_figure(evaluation, measures),
            b.Section("models", "Models", models),
        ],
        numbers={"findings": topics, **evaluation.to_json()},
    )


def score_blocks(evaluation: Evaluation, *, compare: bool = False) -> list[b.Block]:
    """The tables of scores, and of all differences with the answer, for the terminal."""
    blocks: list[b.Block] = []
    for measure in Measure.of(evaluation):
        title = f"{measure.title}. {words.how(measure)}"
        blocks.append(b.Section("", title, [measure.score_table()]))
        for reference, compared in measure.versus.items() if compare else ():
            title = f"{measure.title} versus {measure.called(reference)}, {measure.unit}"
            blocks.append(b.Section("", title, [measure.comparison_table(compared)]))
        if compare and (table := measure.source_table()):
            title = f"{measure.title} by source. {words.SOURCES}"
            blocks.append(b.Section("", title, [table]))
    return [*blocks, b.Topics.of(words.answer(evaluation))] if compare else blocks


def card_section(evaluation: Evaluation, model: str) -> str:
    """What a model scored, versus what, and how that was measured."""
    blocks: list[b.Block] = [
        b.Section("", measure.title, list(_measure_blocks(evaluation, measure, model)))
        for measure in Measure.of(evaluation)
    ]
    blocks.append(b.Paragraph(words.measured(evaluation, evaluation.model(model))))
    return as_markdown([b.Section("", "Evaluation", blocks)]) + "\n"


def _measure_blocks(evaluation: Evaluation, measure: Measure, model: str = "") -> Iterator[b.Block]:
    """All tables of a text or task, or what they say of one model."""
    scores, models = measure.scores, [model] if model else list(measure.values)
    about = [words.how(measure), "" if model else words.versus_chance(measure)]
    about.append(words.BOLD if len(models) > 1 else "")
    yield " ".join(filter(None, about))
    yield measure.score_table(models)
    if isinstance(scores, TextScores):
        by_tokenizer: dict[str, list[str]] = {}
        for name in models:
            by_tokenizer.setdefault(evaluation.model(name).tokenizer, []).append(name)
        some = ", models of one tokenizer" if len(by_tokenizer) > 1 else ""
        for names in by_tokenizer.values():
            if len(names) > 1 or not some:
                yield b.Heading(f"Perplexity of a token{some}")
                yield measure.perplexity_table(names)
        if any(name in scores.bits_per_segment for name in models):
            yield b.Heading("Bits per segment")
            yield words.SEGMENTS.format(scores.segments)
            yield measure.segment_table(models)
    for reference, comparisons in measure.versus.items():
        if compared := [each for each in comparisons if model in ("", each.model)]:
            yield b.Heading(f"Versus {measure.called(reference)}")
            yield words.versus(measure, reference, model)
            yield measure.comparison_table(compared)
    if table := measure.source_table(models):
        yield b.Heading("By source")
        yield words.SOURCES
        yield table
    if measure.task:
        (language, example), *_ = evaluation.examples[measure.name].items()
        yield b.Heading("Example prompt")
        yield b.Quote(example, language)


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
