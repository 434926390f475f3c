"""The page of an evaluation: the answer, then texts, forgetting, tasks, and what the models are."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from tongues.evaluate.evaluation import Evaluation, TextScores
from tongues.pages import (
    Block,
    Heading,
    Items,
    Page,
    Paragraph,
    Quote,
    Section,
    Topics,
    write_page,
)
from tongues.report.evaluation.answer import answer, number_cards, versus_chance
from tongues.report.evaluation.figures import base_figure, replay_figure, score_figure
from tongues.report.evaluation.measures import Measure, how, model_table

__all__ = ["answer_block", "score_blocks", "write_evaluation_report"]

_TRANSLATED = " In the mean, translations of each other count once."


def write_evaluation_report(evaluation: Evaluation, folder: Path) -> Path:
    """Write the page of an evaluation; returns its `index.html`.

    An earlier report at `folder` is replaced, any other filled folder refused.
    """
    kinds = (("model", evaluation.models), ("text", evaluation.texts), ("task", evaluation.tasks))
    counts = (f"{len(of)} {kind}{'s' * (len(of) != 1)}" for kind, of in kinds if of)
    page = Page(
        f"Evaluation: {folder.name.removesuffix('-evaluation')}",
        [number_cards(evaluation), answer_block(evaluation), *_sections(evaluation)],
        lead=[Paragraph(" · ".join(counts), "lead")],
        versions={name: version(name) for name in ("tongues", "altair")},
        numbers={"findings": answer(evaluation), **evaluation.to_json()},
    )
    return write_page(page, folder)


def answer_block(evaluation: Evaluation) -> Topics:
    """What the page says first."""
    return Topics({topic: [Items(lines)] for topic, lines in answer(evaluation).items()})


def score_blocks(evaluation: Evaluation, *, compare: bool = False) -> list[Block]:
    """The tables of scores, and of all differences, for the terminal."""
    blocks: list[Block] = []
    for measure in Measure.of(evaluation):
        blocks.append(Section("", f"{measure.title}. {how(measure)}", [measure.score_table()]))
        first = measure.names[evaluation.models[0].name]
        each = {"its base": measure.versus_base, first: measure.versus_first} if compare else {}
        for other, compared in each.items():
            if compared:
                title = f"{measure.title} versus {other}, {measure.unit}"
                blocks.append(Section("", title, [measure.comparison_table(compared)]))
    return [*blocks, answer_block(evaluation)] if compare else blocks


def _sections(evaluation: Evaluation) -> Iterator[Block]:
    """In reading order."""
    measures = Measure.of(evaluation)
    for measure in measures:
        scores, first = measure.scores, evaluation.models[0].name
        chance = versus_chance(measure) if measure.task else ""
        about = Paragraph(f"{how(measure)} {chance}".rstrip(), "quiet")
        blocks: list[Block] = [about, measure.score_table()]
        if isinstance(scores, TextScores):
            blocks += _more_losses(evaluation, measure, scores)
        if measure.versus_first:
            blocks.append(Heading(f"Versus {measure.names[first]}"))
            blocks += [_differences(measure), measure.comparison_table(measure.versus_first)]
        if measure.task:
            (language, example), *_ = evaluation.examples[measure.name].items()
            blocks += [Heading("Example prompt"), Quote(example, language)]
        yield Section(measure.name, measure.title, blocks)
        yield from filter(None, [score_figure(measure)])
    for measure in (each for each in measures if each.versus_base):
        about = "Versus its base, positive is forgotten and negative learned."
        inside = [_differences(measure, about), measure.comparison_table(measure.versus_base)]
        title = f"Learned and forgotten on {measure.name}"
        yield Section(f"base-{measure.name}", title, inside)
        yield from filter(None, [base_figure(measure)])
    yield from filter(None, [replay_figure(evaluation, measures)])
    window, stride = evaluation.policy.window, evaluation.policy.stride
    about = "as long as a model's context" if window is None else f"of {window:,} tokens"
    step = f", {stride:,} new ones in each" if stride not in (None, window) else ""
    policy = Paragraph(f"Long texts are scored in windows {about}{step}.", "quiet")
    yield Section("models", "Models", [policy, model_table(evaluation)])


def _differences(measure: Measure, more: str = "") -> Paragraph:
    means = measure.scores.translated and not measure.roles
    what = f"Differences in {measure.unit}, on the same {'items' if measure.task else 'documents'}."
    return Paragraph(f"{what} {more}{_TRANSLATED if means else ''}".rstrip(), "quiet")


def _more_losses(evaluation: Evaluation, measure: Measure, scores: TextScores) -> Iterator[Block]:
    """Perplexities of models of one tokenizer, and bits of translated segments."""
    by_tokenizer: dict[str, list[str]] = {}
    for model in evaluation.models:
        by_tokenizer.setdefault(model.tokenizer, []).append(model.name)
    for models in by_tokenizer.values():
        if len(models) > 1 or len(by_tokenizer) == 1:
            some = ", models of one tokenizer" if len(by_tokenizer) > 1 else ""
            yield Heading(f"Perplexity{some}")
            yield Paragraph("Of a token, which compares within one tokenizer only.", "quiet")
            yield measure.perplexity_table(models)
    if scores.bits_per_segment:
        yield Heading("Bits per segment")
        yield Paragraph(
            f"Of {scores.segments:,} segments that all languages have as translations of each "
            "other: the same is said in each, so languages compare here.",
            "quiet",
        )
        yield measure.segment_table()
