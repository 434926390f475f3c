"""The section of a model's card that an evaluation gives, as Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tongues.evaluate.evaluation import (
    Comparison,
    EvaluatedModel,
    Evaluation,
    TaskScores,
    TextScores,
)
from tongues.evaluate.numbers import BITS, POINTS, Unit, bits, guessed, said, share_said
from tongues.files import file_name, write_text
from tongues.report.evaluation.words import policy_said
from tongues.report.experts.numbers import perplexity
from tongues.report.words import with_stop
from tongues.significance import measured_in_words, signs_in_words

__all__ = ["card_section", "write_cards"]


def write_cards(evaluation: Evaluation, folder: Path) -> list[Path]:
    """Write a section for each model to `folder`, named as the model is; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for about in evaluation.models:
        path = folder / f"{file_name(about.name)}.md"
        write_text(path, card_section(evaluation, about.name))
        written.append(path)
    return written


def card_section(evaluation: Evaluation, model: str) -> str:
    """What a model scored, beside what, and how that was measured."""
    lines = ["## Evaluation", ""]
    for text, scores in evaluation.texts.items():
        lines += [f"### Losses on {text}", "", *_losses(scores, model), ""]
        lines += [*_sentences([*scores.compared, *scores.forgotten], model, BITS)]
    for task, scores in evaluation.tasks.items():
        lines += [f"### Accuracy in {task}", "", *_answers(scores, model), ""]
        lines += [*_sentences(scores.compared, model, POINTS)]
        lines += [_asked(scores), "", *_quoted(evaluation.examples[task]), ""]
    lines.append(_how(evaluation, evaluation.model(model)))
    return "\n".join(lines).rstrip("\n") + "\n"


def _losses(scores: TextScores, model: str) -> list[str]:
    rows = []
    for language, of in scores.losses[model].items():
        loss = measured_in_words(of.bits_per_byte, bits)
        segment = scores.bits_per_segment.get(model, {}).get(language)
        more = [f"{segment:,.1f}"] if segment is not None else []
        rows.append([language, loss, perplexity(of.perplexity), f"{of.documents:,}", *more])
    head = ["language", "bits per byte", "perplexity of a token", "documents"]
    return _table(
        [*head, *(["bits per segment"] if model in scores.bits_per_segment else [])], rows
    )


def _answers(scores: TaskScores, model: str) -> list[str]:
    rows = []
    for language, of in scores.accuracies[model].items():
        right = measured_in_words(of.share, share_said)
        rows.append([language, right, guessed(of.chance), f"{of.items:,}"])
    if len(rows) > 1:
        mean = measured_in_words(scores.mean[model], share_said)
        rows.append(["mean", mean, guessed(scores.chance), ""])
    return _table(["language", "accuracy", "chance", "items"], rows)


def _sentences(compared: Sequence[Comparison], model: str, unit: Unit) -> Iterator[str]:
    """What the model was compared with, each other model once."""
    others: set[str] = set()
    for one in compared:
        if one.model != model or one.other in others:
            continue
        others.add(one.other)
        languages = {language: said(of, unit) for language, of in one.languages.items()}
        if len(languages) > 1:
            languages["mean"] = f"{said(one.overall, unit)}; {signs_in_words(one.signs)}"
        yield f"Beside `{one.other}`:"
        yield ""
        yield from (f"- {language}: {words}" for language, words in languages.items())
        yield ""


def _asked(scores: TaskScores) -> str:
    shots, draws = scores.shots, _draws(scores)
    shown = f"{shots} demonstrations, mean of {draws} draws" if shots else "no demonstrations"
    return f"Choices compared by {scores.normalisation}, {shown}. An item, rightly answered:"


def _draws(scores: TaskScores) -> int:
    return next(iter(next(iter(scores.accuracies.values())).values())).draws


def _quoted(examples: Mapping[str, str]) -> list[str]:
    example = next(iter(examples.values()))
    return [f"> {line}".rstrip() for line in example.splitlines()]


def _how(evaluation: Evaluation, about: EvaluatedModel) -> str:
    lines = [f"Measured with tongues {evaluation.tongues}; in brackets 95 % intervals."]
    if len(evaluation.models) > 1:
        lines.append(
            "Models are told apart where luck does as much in fewer than 5 cases of 100, allowing "
            "for all models and languages that were compared."
        )
    if evaluation.texts:
        lines.append(policy_said(evaluation))
    if about.routing:
        lines.append(f"Experts were routed by `{about.routing}`.")
    token = f"the token `{about.first}`" if about.first else "nothing"
    but = "" if about.prompted else ", but nothing before the prompts of tasks"
    lines.append(f"Before every text stood {token}{but}.")
    lines += [with_stop(line) for line in evaluation.left_out]
    return " ".join(lines)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return [f"| {' | '.join(cells)} |" for cells in lines]
