"""The page of an evaluation: what was found, then texts, forgetting, tasks, and how it was done."""

from collections.abc import Iterator
from html import escape
from importlib.metadata import version
from pathlib import Path

from tongues.estimate import Estimate
from tongues.evaluate.evaluation import Evaluation, TaskScores, TextScores
from tongues.evaluate.numbers import bits, hundredths
from tongues.report.charts import Figure
from tongues.report.evaluation.figures import accuracy_figure, forgetting_figure, loss_figure
from tongues.report.evaluation.names import compared_with_first, labels, same_tokens
from tongues.report.evaluation.numbers import number_cards
from tongues.report.evaluation.replay import replay_figure
from tongues.report.evaluation.tables import (
    accuracy_table,
    comparison_table,
    loss_table,
    model_table,
    perplexity_table,
    segment_table,
)
from tongues.report.evaluation.words import beside_chance, findings, lead, policy_said
from tongues.report.folder import write_folder
from tongues.report.html import figure, footer, items, prose

__all__ = ["write_evaluation_report"]


def write_evaluation_report(evaluation: Evaluation, folder: Path) -> Path:
    """Write the page of an evaluation's `scores.json`; returns its `index.html`.

    An earlier report at `folder` is replaced, any other filled folder refused.
    """
    title = f"Evaluation: {folder.name.removesuffix('-evaluation')}"
    said = findings(evaluation)
    parts = list(_parts(evaluation))
    drawn = [part for part in parts if isinstance(part, Figure)]
    sections = "".join(figure(part) if isinstance(part, Figure) else part for part in parts)
    versions = {name: version(name) for name in ("tongues", "altair")}
    told = "".join(f"<h3>{escape(topic)}</h3>{items(lines)}" for topic, lines in said.items())
    first = "".join(f'<p class="lead">{prose(line)}</p>' for line in lead(evaluation))
    body = (
        f"<header><h1>{escape(title)}</h1>{first}</header>"
        f'{number_cards(evaluation)}<div class="found">{told}</div>{sections}{footer(versions)}'
    )
    numbers = {"title": title, "versions": versions, "findings": said, **evaluation.to_json()}
    return write_folder(folder, title, body, drawn, numbers, lambda line: None)


def _parts(evaluation: Evaluation) -> Iterator[str | Figure]:
    """Sections and figures in reading order."""
    for text in evaluation.texts:
        yield _text_section(evaluation, text)
        yield from _drawn(loss_figure(evaluation, text))
    yield from _forgetting(evaluation)
    for task in evaluation.tasks:
        yield _task_section(evaluation, task)
        yield from _drawn(accuracy_figure(evaluation, task))
    yield from _drawn(replay_figure(evaluation))
    yield _how(evaluation)


def _text_section(evaluation: Evaluation, text: str) -> str:
    scores, names = evaluation.texts[text], labels(evaluation)
    tables = _said("Bits per byte, which compare between tokenizers.") + loss_table(
        evaluation, text
    )
    several = len(next(iter(scores.losses.values()))) > 1
    for names_alike in same_tokens(evaluation):
        of = "" if len(names_alike) == len(names) else ", models of one tokenizer"
        mean = " The mean is that of the languages' perplexities." if several else ""
        about = f"Of a token: what is comparable within one tokenizer alone.{mean}"
        table = perplexity_table(evaluation, text, names_alike)
        tables += f"<h3>Perplexity{of}</h3>{_said(about)}{table}"
    if scores.bits_per_segment:
        about = (
            f"Of the {scores.segments:,} segments that all languages have as translations of "
            "each other: the same is said in each, so languages compare here."
        )
        tables += f"<h3>Bits per segment</h3>{_said(about)}{segment_table(evaluation, text)}"
    if compared := compared_with_first(scores):
        other = names[compared[0].other]
        about = f"How many bits per byte more than `{other}`, on the same documents."
        table = comparison_table(evaluation, compared, bits, _losses(scores))
        tables += f"<h3>Beside {escape(other)}</h3>{_said(about + _translated(scores))}{table}"
    return _section(f"{text}: losses", tables)


def _translated(scores: TextScores | TaskScores) -> str:
    """How the mean takes translations."""
    return " In the mean, translations of each other count once." if scores.translated else ""


def _losses(scores: TextScores) -> dict[str, dict[str, Estimate]]:
    return {
        model: {language: of.bits_per_byte for language, of in by.items()}
        for model, by in scores.losses.items()
    }


def _forgetting(evaluation: Evaluation) -> Iterator[str | Figure]:
    """Every model beside what it began with."""
    texts = [text for text, scores in evaluation.texts.items() if scores.forgotten]
    if not texts:
        return
    seeds = {one.other for text in texts for one in evaluation.texts[text].forgotten}
    seed = f" (`{labels(evaluation)[next(iter(seeds))]}`)" if len(seeds) == 1 else ""
    about = (
        f"How many bits per byte more a model needs than its seed, the one it began with{seed}, on "
        "the same documents: + is forgotten, − learned."
    )
    same = next((_translated(evaluation.texts[text]) for text in texts), "")
    tables = _said(about + same)
    for text in texts:
        head = f"<h3>{escape(text)}</h3>" if len(texts) > 1 else ""
        compared = evaluation.texts[text].forgotten
        tables += head + comparison_table(
            evaluation, compared, bits, _losses(evaluation.texts[text])
        )
    yield _section("Forgetting", tables)
    for text in texts:
        yield from _drawn(forgetting_figure(evaluation, text))


def _task_section(evaluation: Evaluation, task: str) -> str:
    scores, names = evaluation.tasks[task], labels(evaluation)
    tables = f"{_said(_asked(evaluation, task))}{accuracy_table(evaluation, task)}"
    if scores.compared:
        other = names[scores.compared[0].other]
        about = f"How many points more than `{other}`, on the same items.{_translated(scores)}"
        values = {
            model: {language: of.share for language, of in by.items()}
            for model, by in scores.accuracies.items()
        }
        table = comparison_table(evaluation, scores.compared, hundredths, values)
        tables += f"<h3>Beside {escape(other)}</h3>{_said(about)}{table}"
    language, example = next(iter(evaluation.examples[task].items()))
    tables += f"<h3>Asked so</h3><blockquote dir='auto' lang='{escape(language)}'>"
    return _section(f"{task}: accuracy", f"{tables}{escape(example)}</blockquote>")


def _asked(evaluation: Evaluation, task: str) -> str:
    scores = evaluation.tasks[task]
    first = next(iter(next(iter(scores.accuracies.values())).values()))
    shots = (
        f"{scores.shots} demonstrations, drawn {first.draws} times"
        if scores.shots
        else "no demonstrations"
    )
    several = len(scores.accuracies) > 1
    return (
        f"In hundredths; {shots}. Choices are compared by {_NORMALISED[scores.normalisation]}."
        f"{f' {beside_chance(evaluation, task)}' if several else ''}"
    )


_NORMALISED = {
    "token": "their mean log-probability of a token",
    "character": "their log-probability per character",
    "byte": "their log-probability per byte",
    "sum": "their log-probability",
    "pmi": "how much likelier the prompt makes them",
}


def _how(evaluation: Evaluation) -> str:
    """What was evaluated."""
    said = policy_said(evaluation) if evaluation.texts else ""
    return _section("Models", f"{_said(said)}{model_table(evaluation)}")


def _drawn(figure: Figure | None) -> Iterator[Figure]:
    if figure:
        yield figure


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _said(sentence: str) -> str:
    return f'<p class="quiet">{prose(sentence)}</p>' if sentence else ""
