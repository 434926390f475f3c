"""The tables of experts: settings, languages, what was forgotten, what was added."""

from html import escape

from tongues.report.experts.correlation import correlate
from tongues.report.experts.numbers import (
    between,
    nats,
    perplexity,
    setting_name,
    sign,
)
from tongues.report.experts.outcome import (
    Found,
    Setting,
    best,
    best_of_each,
    dense_setting,
    expert_divisions,
    expert_settings,
    grown,
    lowest,
    models,
    references,
    rise_by_language,
    seed_setting,
    spread,
    worse,
)
from tongues.report.experts.words import forgotten_share, rises
from tongues.report.html import table, word

__all__ = ["added_table", "forgetting_table", "language_table", "routings_said", "setting_table"]

_ROUTINGS = {
    "language": "the one expert of the text's language, which must be told",
    "text": "the one expert nearest to the beginning of the text",
    "tfidf:m": "the m nearest to the text so far, anew at every token; only they run",
    "tfidf": "all experts, weighted at every token by how near the text so far is to each",
    "posterior": "all experts, weighted by how likely each found the text so far",
    "uniform": "all experts with equal weights, to compare with",
    "random": "one expert by lot, to compare with",
}


def setting_table(found: Found) -> str:
    """A row per division and routing: losses in the mean over languages, and what they cost."""
    top = best(expert_settings(found))
    names = references(found)
    rows = []
    for one in found["settings"]:
        mean = one["mean"]
        first = "" if one["division"] in ("seed", "dense") else escape(one["routing"])
        cells = [word(_strong(escape(one["division"]), one is top)), word(first), str(one["k"])]
        if mean is None:
            cells += [f"{one['experts_run']:.2f}", "", "", "", *("" for _ in names)]
        else:
            cells += [
                f"{one['experts_run']:.2f}",
                _strong(nats(mean["loss"]), one is top),
                perplexity(mean["perplexity"]),
                nats(mean["bits_per_byte"]),
                *(_less(mean.get(f"less_than_{name}")) for name in names),
            ]
        rows.append(cells)
    head = [word("division"), word("routing"), "k", "experts run", "loss", "perplexity"]
    lower = [f"lower than {'the seed' if name == 'seed' else name}" for name in names]
    return table([*head, "bits per byte", *lower], rows)


def routings_said(found: Found) -> str:
    """What the routings of the table are, and what its numbers mean, in a few sentences."""
    names = (one["routing"] for one in found["settings"] if one["k"] > 1)
    kinds = dict.fromkeys("tfidf:m" if ":" in name else name for name in names)
    said = "; ".join(f"`{kind}`: {_ROUTINGS[kind]}" for kind in kinds)
    gaps = any(one["mean"] is None for one in found["settings"])
    return (
        "Held-out text, the mean over languages; loss and differences in nats per token, experts "
        "run for a token. After a difference stands its 95 % interval. "
        + ("Where a language has no expert, the mean is left out. " if gaps else "")
        + (f"Routings: {said}." if said else "")
    )


def language_table(found: Found) -> str:
    """A row per language: losses of seed, dense and the best setting of every division."""
    columns = {"seed": seed_setting(found)}
    if dense := dense_setting(found):
        columns["dense"] = dense
    columns |= best_of_each(found)
    name = references(found)[-1]
    rows = []
    for lang in found["text"]:
        losses = {key: one["languages"][lang]["loss"] for key, one in columns.items()}
        least = min(losses.values())
        top = lowest(found, lang, models(found))
        experts = lowest(found, lang, expert_divisions(found))
        rows.append(
            [
                word(escape(lang)),
                *(_strong(nats(loss), loss == least) for loss in losses.values()),
                word(_best_k(top)),
                word(escape(setting_name(experts)) if experts else ""),
                _less(experts["languages"][lang][f"less_than_{name}"] if experts else None),
            ]
        )
    lower = f"lower than {'the seed' if name == 'seed' else name}"
    head = [word("language"), *_heads(columns), word("best k"), word("best experts"), lower]
    return table(head, rows)


def forgetting_table(found: Found) -> str:
    """A row per division: how many pairs of expert and language became worse, and by how much."""
    amounts = found["train"]
    rows = []
    for name in [*(["dense"] if dense_setting(found) else []), *expert_divisions(found)]:
        cells, count = worse(found, name)
        if not count:
            continue
        by_perplexity, by_loss = rises(cells)
        rise = rise_by_language(found, name)
        related = correlate([amounts[lang] for lang in rise], list(rise.values()))
        rows.append(
            [
                word(escape(name)),
                *reversed(forgotten_share(found, name)),
                perplexity(by_perplexity) if cells else "",
                nats(by_loss) if cells else "",
                *([str(related) if related else ""] if spread(found) else []),
            ]
        )
    head = [word("division"), "became worse", "share", "mean rise of perplexity"]
    last = ["against amount of text"] if spread(found) else []
    return table([*head, "mean rise of loss", *last], rows)


def added_table(found: Found) -> str:
    """A row per added language and donor: the seed, the ensemble before and after."""
    made = grown(found)
    if made is None:
        return ""
    donors = dict.fromkeys(donor for given in made.donors.values() for donor in given)
    rows = []
    for lang in [*made.donors, *donors]:
        given = ", ".join(made.donors.get(lang, ()))
        others = ", ".join(new for new, of in made.donors.items() if lang in of)
        rows.append(
            [
                word(escape(lang)),
                word(
                    escape(f"added, from {given}" if lang in made.donors else f"donor of {others}")
                ),
                nats(seed_setting(found)["languages"][lang]["loss"]),
                *(
                    _loss(found, division, routing, lang)
                    for division in ("before", "grown")
                    for routing in ("language", "text", "tfidf")
                ),
                nats(made.alone[lang]) if lang in made.alone else "",
            ]
        )
    head = [word("language"), word(""), "seed", "before: language", "text", "tfidf"]
    return table([*head, "grown: language", "text", "tfidf", "the new expert alone"], rows)


def _loss(found: Found, division: str, routing: str, lang: str) -> str:
    """Of a division by a routing; a dense model has but one way to be used."""
    for one in found["settings"]:
        if one["division"] == division and (one["routing"] == routing or one["k"] == 1):
            return nats(one["languages"][lang]["loss"]) if lang in one["languages"] else ""
    return ""


def _heads(columns: dict[str, Setting]) -> list[str]:
    return [
        escape(key) + ("" if one["k"] == 1 else f"<br><small>{escape(one['routing'])}</small>")
        for key, one in columns.items()
    ]


def _less(less: dict[str, float] | None) -> str:
    """A difference and its interval, quiet where that holds 0."""
    if less is None:
        return ""
    mean = nats(less["mean"]).replace("-", "−")
    mean = mean if sign(less) else f'<span class="quiet">{mean}</span>'
    return f'{mean}<small class="beside">{between(less)}</small>'


def _best_k(top: Setting | None) -> str:
    """The number of parts that serves a language best, and how they were divided."""
    return f'{top["k"]}<small class="beside">{escape(top["division"])}</small>' if top else ""


def _strong(cell: str, is_so: bool) -> str:
    return f"<strong>{cell}</strong>" if is_so else cell
