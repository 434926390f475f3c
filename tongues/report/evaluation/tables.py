"""The tables of an evaluation: a row per language, a column per model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from statistics import fmean

from tongues.estimate import Estimate
from tongues.evaluate.evaluation import Comparison, Evaluation, TaskScores, TextScores, Trained
from tongues.evaluate.numbers import bits, hundredths
from tongues.quantities import show_count
from tongues.report.evaluation.cells import (
    chance_cell,
    difference_cell,
    measured_cell,
    signs_cell,
    strong,
)
from tongues.report.evaluation.names import labels
from tongues.report.experts.numbers import perplexity
from tongues.report.html import table, word

__all__ = [
    "accuracy_table",
    "comparison_table",
    "loss_table",
    "model_table",
    "perplexity_table",
    "segment_table",
]


def loss_table(evaluation: Evaluation, text: str) -> str:
    """Bits per byte with their intervals; last in how many languages a model is the best."""
    scores = evaluation.texts[text]
    losses, names = scores.losses, labels(evaluation)
    rows = [
        [
            word(escape(language)),
            *(
                strong(
                    measured_cell(by[language].bits_per_byte, bits),
                    _leads(scores, language, model),
                )
                for model, by in losses.items()
            ),
            f"{next(iter(losses.values()))[language].documents:,}",
        ]
        for language in evaluation.texts[text].languages
    ]
    head = [word("language"), *_heads(names[model] for model in losses), "documents"]
    return table(head, [*rows, *_won(scores, rows, "")])


def perplexity_table(evaluation: Evaluation, text: str, models: Sequence[str]) -> str:
    """Perplexities of models that read the same tokens, and their mean."""
    losses, names = evaluation.texts[text].losses, labels(evaluation)
    by_model = {
        model: [of.perplexity for of in losses[model].values()]
        for model in losses
        if model in models
    }
    languages = evaluation.texts[text].languages
    rows = [
        [word(escape(language)), *(perplexity(of[place]) for of in by_model.values())]
        for place, language in enumerate(languages)
    ]
    if len(languages) > 1:
        known = ([value for value in of if value is not None] for of in by_model.values())
        means = (fmean(of) if len(of) == len(languages) else None for of in known)
        rows.append([word("mean"), *map(perplexity, means)])
    return table([word("language"), *_heads(names[model] for model in by_model)], rows)


def segment_table(evaluation: Evaluation, text: str) -> str:
    """Bits of the same segments, which compare between languages too."""
    aligned, names = evaluation.texts[text].bits_per_segment, labels(evaluation)
    rows = [
        [word(escape(language)), *(f"{by[language]:,.1f}" for by in aligned.values())]
        for language in next(iter(aligned.values()))
    ]
    return table([word("language"), *_heads(names[model] for model in aligned)], rows)


def comparison_table(
    evaluation: Evaluation,
    comparisons: Sequence[Comparison],
    show: Callable[[float], str],
    values: Mapping[str, Mapping[str, Estimate]],
) -> str:
    """Differences by language, a column per comparison; last their mean, and languages ahead.

    values: of every model by language, shown beside the difference where there is but one.
    """
    names, only = labels(evaluation), comparisons[0] if len(comparisons) == 1 else None
    alone = [only.other, only.model] if only else []
    languages = list(comparisons[0].languages)
    rows = [
        [
            word(escape(language)),
            *(show(values[model][language].value) for model in alone),
            *(difference_cell(one.languages[language], show) for one in comparisons),
        ]
        for language in languages
    ]
    if len(languages) > 1:
        blank = ["" for _ in alone]
        means = (difference_cell(one.overall, show) for one in comparisons)
        ahead = (signs_cell(one.signs) for one in comparisons)
        rows += [[word("mean"), *blank, *means], [word("ahead in"), *blank, *ahead]]
    if only:
        heads = [*_heads(names[model] for model in alone), "difference"]
        return table([word("language"), *heads], rows)
    others = {one.other for one in comparisons}
    heads = _heads(names[one.model] for one in comparisons)
    if len(others) > 1:
        beside = (escape(names[one.other]) for one in comparisons)
        pairs = zip(heads, beside, strict=True)
        heads = [f"{head}<br><small>less {other}</small>" for head, other in pairs]
    return table([word("language"), *heads], rows)


def accuracy_table(evaluation: Evaluation, task: str) -> str:
    """Accuracies in hundredths, chance with its standard error, the mean, and win rates."""
    scores = evaluation.tasks[task]
    accuracies, names = scores.accuracies, labels(evaluation)
    several = len(accuracies) > 1
    rows = []
    for language in scores.languages:
        of_first = next(iter(accuracies.values()))[language]
        cells = [
            strong(
                measured_cell(by[language].share, hundredths),
                _leads(scores, language, model),
            )
            for model, by in accuracies.items()
        ]
        chance = chance_cell(of_first.chance)
        counts = sorted({by[language].items for by in accuracies.values()})
        items = "–".join(f"{count:,}" for count in dict.fromkeys([counts[0], counts[-1]]))
        rows.append([word(escape(language)), *cells, chance, items])
    if len(rows) > 1:
        means = (measured_cell(of, hundredths) for of in scores.mean.values())
        rows.append([word("mean"), *means, chance_cell(scores.chance), ""])
    head = [word("language"), *_heads(names[model] for model in accuracies), "chance", "items"]
    return table(head, [*rows, *(_won(scores, rows, "", "") if several else [])])


def model_table(evaluation: Evaluation) -> str:
    """What each model is, and how a run was trained."""
    tokenizers = list(dict.fromkeys(about.tokenizer for about in evaluation.models))
    several, names = len(tokenizers) > 1, labels(evaluation)
    rows = []
    for about in evaluation.models:
        made = about.trained
        kind = about.kind if about.experts == 1 else f"ensemble of {about.experts}"
        but = "" if about.prompted else "<small>of texts, not of prompts</small>"
        sees = "any" if about.context is None else f"{about.context:,}"
        rows.append(
            [
                word(escape(names[about.name])),
                word(escape(kind + (f", {about.routing}" if about.routing else ""))),
                word(escape(names.get(about.base or "", about.base or ""))),
                word(escape(_strategy(made))),
                f"{made.params:,}" if made else "",
                show_count(made.tokens) if made else "",
                sees,
                word(escape(about.first or "nothing") + but),
                *([str(tokenizers.index(about.tokenizer) + 1)] if several else []),
            ]
        )
    head = [word("model"), word("kind"), word("began with"), word("trained"), "parameters"]
    head += ["tokens", "sees tokens", word("stands in front")]
    return table([*head, *(["tokenizer"] if several else [])], rows)


def _strategy(made: Trained | None) -> str:
    if made is None:
        return ""
    return f"{made.strategy}, {made.roles}"


def _leads(scores: TextScores | TaskScores, language: str, model: str) -> bool:
    """Whether it is the best or cannot be told from it, where that is not so of every model."""
    leaders = scores.leaders[language]
    models = scores.losses if isinstance(scores, TextScores) else scores.accuracies
    return model in leaders and len(leaders) < len(models)


def _won(
    scores: TextScores | TaskScores, rows: Sequence[Sequence[str]], *after: str
) -> Iterable[list[str]]:
    """In how many languages a model is the best, and how often it shares the place."""
    if len(rows) < 2 or not scores.best:
        return []
    cells = [
        f"{of.alone + of.shared} of {of.languages}"
        + (f"<small>{of.shared} shared</small>" if of.shared else "")
        for of in scores.best.values()
    ]
    return [[word("best in"), *cells, *after]]


def _heads(names: Iterable[str]) -> list[str]:
    """Names as columns are headed, a routing below."""
    said = []
    for name in names:
        own, at, way = name.rpartition("@")
        said.append(f"{escape(own)}<br><small>{escape(way)}</small>" if at else escape(name))
    return said
