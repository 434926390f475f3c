"""What growing did: added languages and their donors, before and after."""

import math
from html import escape

from tongues.estimate import Estimate
from tongues.report.experts.numbers import compared, difference, nats, perplexity
from tongues.report.experts.outcome import Experts, Grown, Setting, grown, seed_setting
from tongues.report.html import table, word

__all__ = ["added_said", "added_table"]


def added_table(found: Experts) -> str:
    """A row per added language and donor: the seed, the ensemble before and after."""
    made = grown(found)
    if made is None:
        return ""
    rows = []
    for lang in [*made.donors, *_donors(made)]:
        given = ", ".join(made.donors.get(lang, ()))
        others = ", ".join(new for new, of in made.donors.items() if lang in of)
        rows.append(
            [
                word(escape(lang)),
                word(
                    escape(f"added, from {given}" if lang in made.donors else f"donor of {others}")
                ),
                nats(seed_setting(found).loss(lang)),
                *(
                    _loss(found, division, routing, lang)
                    for division in ("before", "grown")
                    for routing in ("language", "text", "tfidf")
                ),
                nats(made.alone[lang]) if lang in made.alone else "",
                compared(after.lower("before", lang) if (after := _after(found, lang)) else None),
            ]
        )
    head = [word("language"), word(""), "seed", "before: language", "text", "tfidf"]
    return table(
        [*head, "grown: language", "text", "tfidf", "new expert alone", "lower than before"], rows
    )


def _loss(found: Experts, division: str, routing: str, lang: str) -> str:
    """Of a division by a routing; a dense model has but one way to be used."""
    for one in found.settings:
        if one.division == division and (one.routing == routing or one.k == 1):
            return nats(one.loss(lang)) if lang in one.losses else ""
    return ""


def added_said(found: Experts) -> list[str]:
    """How much lower the losses on added languages are now, and what became of the donors."""
    made = grown(found)
    if made is None:
        return []
    said = []
    for lang, donors in made.donors.items():
        after = _after(found, lang)
        if after is None:
            continue
        less, way = after.lower("before", lang), after.versus["before"].others.get(lang)
        other = (way or after.versus["before"].other).partition("@")[2]
        before = perplexity(math.exp(after.loss(lang) + less.value))
        given = " and ".join(f"`{donor}`" for donor in donors)
        said.append(
            f"`{lang}`, added from {given}: perplexity {before} before ({other}), "
            f"{perplexity(after.losses[lang].perplexity)} after; its loss is now {_side(less)} "
            f"than before and {_side(after.lower('seed', lang))} than the seed's, nats per token."
        )
    each = [after.lower("before", lang) for lang in _donors(made) if (after := _after(found, lang))]
    if told := [less.significant for less in each if less.low is not None]:
        said.append(
            f"Donors: {told.count(1)} became better than before, {told.count(-1)} worse, and "
            f"{told.count(0)} stayed as they were or cannot be told apart from it."
        )
    return said


def _after(found: Experts, lang: str) -> Setting | None:
    """The ensemble that grew, used for a language by its own expert where that has one."""
    by = {
        one.routing or "uniform": one
        for one in found.settings
        if one.division == "grown" and lang in one.losses
    }
    return next((by[way] for way in ("language", "text", "uniform") if way in by), None)


def _donors(made: Grown) -> list[str]:
    return list(dict.fromkeys(donor for given in made.donors.values() for donor in given))


def _side(less: Estimate) -> str:
    """`lower by 0.040 [0.035, 0.047]`."""
    return f"lower by {difference(less)}" if less.value >= 0 else f"higher by {difference(-less)}"
