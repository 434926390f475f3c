"""The tables of an evaluation: a row per language, a column per model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from tongues.evaluate.numbers import bits, hundredths
from tongues.quantities import show_count
from tongues.report.evaluation.cells import (
    chance_cell,
    difference_cell,
    measured_cell,
    signs_cell,
    strong,
)
from tongues.report.evaluation.found import Found, difference, labels, languages_of, measured
from tongues.report.experts.numbers import perplexity
from tongues.report.html import table, word
from tongues.roles import Roles
from tongues.significance import Chance, Signs

__all__ = [
    "accuracy_table",
    "comparison_table",
    "loss_table",
    "model_table",
    "perplexity_table",
    "segment_table",
]


def loss_table(found: Found, text: str) -> str:
    """Bits per byte with their intervals; last in how many languages a model is the best."""
    scores = found["texts"][text]
    losses, names = scores["losses"], labels(found)
    rows = [
        [
            word(escape(language)),
            *(
                strong(
                    measured_cell(measured(by[language]["bits_per_byte"]), bits),
                    _leads(scores, language, model),
                )
                for model, by in losses.items()
            ),
            f"{next(iter(losses.values()))[language]['documents']:,}",
        ]
        for language in languages_of(losses)
    ]
    head = [word("language"), *_heads(names[model] for model in losses), "documents"]
    return table(head, [*rows, *_won(scores, rows, "")])


def perplexity_table(found: Found, text: str, models: Sequence[str]) -> str:
    """Perplexities of models that read the same tokens, and their mean."""
    losses, names = found["texts"][text]["losses"], labels(found)
    by_model = {
        model: [of["perplexity"] for of in losses[model].values()]
        for model in losses
        if model in models
    }
    languages = languages_of(losses)
    rows = [
        [word(escape(language)), *(perplexity(of[place]) for of in by_model.values())]
        for place, language in enumerate(languages)
    ]
    if len(languages) > 1:
        means = (None if None in of else sum(of) / len(of) for of in by_model.values())
        rows.append([word("mean"), *map(perplexity, means)])
    return table([word("language"), *_heads(names[model] for model in by_model)], rows)


def segment_table(found: Found, text: str) -> str:
    """Bits of the same segments, which compare between languages too."""
    aligned, names = found["texts"][text]["bits_per_segment"], labels(found)
    rows = [
        [word(escape(language)), *(f"{by[language]:,.1f}" for by in aligned.values())]
        for language in languages_of(aligned)
    ]
    return table([word("language"), *_heads(names[model] for model in aligned)], rows)


def comparison_table(
    found: Found,
    comparisons: Sequence[Mapping[str, Any]],
    show: Callable[[float], str],
    values: Mapping[str, Mapping[str, Any]],
) -> str:
    """Differences by language, a column per comparison; last their mean, and languages ahead.

    values: of every model by language, shown beside the difference where there is but one.
    """
    names, only = labels(found), comparisons[0] if len(comparisons) == 1 else None
    alone = [only["other"], only["model"]] if only else []
    languages = list(comparisons[0]["languages"])
    rows = [
        [
            word(escape(language)),
            *(show(values[model][language]["value"]) for model in alone),
            *(difference_cell(difference(one["languages"][language]), show) for one in comparisons),
        ]
        for language in languages
    ]
    if len(languages) > 1:
        blank = ["" for _ in alone]
        means = (difference_cell(difference(one["mean"]), show) for one in comparisons)
        ahead = (signs_cell(Signs(**one["signs"])) for one in comparisons)
        rows += [[word("mean"), *blank, *means], [word("ahead in"), *blank, *ahead]]
    if only:
        heads = [*_heads(names[model] for model in alone), "difference"]
        return table([word("language"), *heads], rows)
    others = {one["other"] for one in comparisons}
    heads = _heads(names[one["model"]] for one in comparisons)
    if len(others) > 1:
        beside = (escape(names[one["other"]]) for one in comparisons)
        pairs = zip(heads, beside, strict=True)
        heads = [f"{head}<br><small>less {other}</small>" for head, other in pairs]
    return table([word("language"), *heads], rows)


def accuracy_table(found: Found, task: str) -> str:
    """Accuracies in hundredths, chance with its standard error, the mean, and win rates."""
    scores = found["tasks"][task]
    accuracies, names = scores["accuracies"], labels(found)
    several = len(accuracies) > 1
    rows = []
    for language in languages_of(accuracies):
        of_first = next(iter(accuracies.values()))[language]
        cells = [
            strong(
                measured_cell(measured(by[language]["measured"]), hundredths),
                _leads(scores, language, model),
            )
            for model, by in accuracies.items()
        ]
        chance = chance_cell(Chance(**of_first["chance"]))
        counts = sorted({by[language]["items"] for by in accuracies.values()})
        items = "–".join(f"{count:,}" for count in dict.fromkeys([counts[0], counts[-1]]))
        rows.append([word(escape(language)), *cells, chance, items])
    if len(rows) > 1:
        means = (measured_cell(measured(of), hundredths) for of in scores["mean"].values())
        rows.append([word("mean"), *means, chance_cell(Chance(**scores["chance"])), ""])
    head = [word("language"), *_heads(names[model] for model in accuracies), "chance", "items"]
    return table(head, [*rows, *(_won(scores, rows, "", "") if several else [])])


def model_table(found: Found) -> str:
    """What each model is, and how a run was trained."""
    tokenizers = list(dict.fromkeys(about["tokenizer"] for about in found["models"]))
    several, names = len(tokenizers) > 1, labels(found)
    rows = []
    for about in found["models"]:
        made = about["trained"]
        kind = about["kind"] if about["experts"] == 1 else f"ensemble of {about['experts']}"
        but = "" if about["prompted"] else "<small>of texts, not of prompts</small>"
        sees = "any" if about["context"] is None else f"{about['context']:,}"
        rows.append(
            [
                word(escape(names[about["name"]])),
                word(escape(kind + (f", {about['routing']}" if about["routing"] else ""))),
                word(escape(names.get(about["seed"], about["seed"] or ""))),
                word(escape(_strategy(made))),
                f"{made['params']:,}" if made else "",
                show_count(made["tokens"]) if made else "",
                sees,
                word(escape(about["first"] or "nothing") + but),
                *([str(tokenizers.index(about["tokenizer"]) + 1)] if several else []),
            ]
        )
    head = [word("model"), word("kind"), word("began with"), word("trained"), "parameters"]
    head += ["tokens", "sees tokens", word("stands in front")]
    return table([*head, *(["tokenizer"] if several else [])], rows)


def _strategy(made: Mapping[str, Any] | None) -> str:
    if made is None:
        return ""
    return f"{made['strategy']}, {Roles.from_json(made['roles'])}"


def _leads(scores: Mapping[str, Any], language: str, model: str) -> bool:
    """Whether it is the best or cannot be told from it, where that is not so of every model."""
    leaders = scores["leaders"][language]
    models = scores["losses" if "losses" in scores else "accuracies"]
    return model in leaders and len(leaders) < len(models)


def _won(
    scores: Mapping[str, Any], rows: Sequence[Sequence[str]], *after: str
) -> Iterable[list[str]]:
    """In how many languages a model is the best, and how often it shares the place."""
    if len(rows) < 2 or not scores["best"]:
        return []
    cells = [
        f"{of['alone'] + of['shared']} of {of['languages']}"
        + (f"<small>{of['shared']} shared</small>" if of["shared"] else "")
        for of in scores["best"].values()
    ]
    return [[word("best in"), *cells, *after]]


def _heads(names: Iterable[str]) -> list[str]:
    """Names as columns are headed, a routing below."""
    said = []
    for name in names:
        own, at, way = name.rpartition("@")
        said.append(f"{escape(own)}<br><small>{escape(way)}</small>" if at else escape(name))
    return said
