"""What growing did: added languages and their donors, before and after."""

import math
from collections.abc import Mapping
from html import escape
from typing import Any

from tongues.report.experts.numbers import (
    Interval,
    compared,
    difference,
    is_told,
    nats,
    perplexity,
    sign,
)
from tongues.report.experts.outcome import Found, Grown, grown, seed_setting
from tongues.report.html import table, word

__all__ = ["added_said", "added_table"]


def added_table(found: Found) -> str:
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
                nats(seed_setting(found)["languages"][lang]["loss"]),
                *(
                    _loss(found, division, routing, lang)
                    for division in ("before", "grown")
                    for routing in ("language", "text", "tfidf")
                ),
                nats(made.alone[lang]) if lang in made.alone else "",
                compared(after["less_than_before"] if (after := _after(found, lang)) else None),
            ]
        )
    head = [word("language"), word(""), "seed", "before: language", "text", "tfidf"]
    return table(
        [*head, "grown: language", "text", "tfidf", "new expert alone", "lower than before"], rows
    )


def _loss(found: Found, division: str, routing: str, lang: str) -> str:
    """Of a division by a routing; a dense model has but one way to be used."""
    for one in found["settings"]:
        if one["division"] == division and (one["routing"] == routing or one["k"] == 1):
            return nats(one["languages"][lang]["loss"]) if lang in one["languages"] else ""
    return ""


def added_said(found: Found) -> list[str]:
    """How much lower the losses on added languages are now, and what became of the donors."""
    made = grown(found)
    if made is None:
        return []
    said = []
    for lang, donors in made.donors.items():
        after = _after(found, lang)
        if after is None:
            continue
        less = after["less_than_before"]
        before = perplexity(math.exp(after["loss"] + less["mean"]))
        given = " and ".join(f"`{donor}`" for donor in donors)
        said.append(
            f"`{lang}`, added from {given}: perplexity {before} before ({less['routing']}), "
            f"{perplexity(after['perplexity'])} after; its loss is now {_side(less)} than before "
            f"and {_side(after['less_than_seed'])} than the seed's, nats per token."
        )
    each = [after["less_than_before"] for lang in _donors(made) if (after := _after(found, lang))]
    if told := [sign(less) for less in each if is_told(less)]:
        said.append(
            f"Donors: {told.count(1)} became better than before, {told.count(-1)} worse, and "
            f"{told.count(0)} stayed as they were or cannot be told apart from it."
        )
    return said


def _after(found: Found, lang: str) -> Mapping[str, Any] | None:
    """A language in the ensemble that grew, by its own expert where it has one."""
    by = {
        one["routing"]: one["languages"] for one in found["settings"] if one["division"] == "grown"
    }
    ways = (by[way] for way in ("language", "text", "uniform") if lang in by.get(way, {}))
    return next((languages[lang] for languages in ways), None)


def _donors(made: Grown) -> list[str]:
    return list(dict.fromkeys(donor for given in made.donors.values() for donor in given))


def _side(less: Interval) -> str:
    """`lower by 0.040 [0.035, 0.047]`."""
    lower = less["mean"] >= 0
    return f"{'lower' if lower else 'higher'} by {difference(less, turned=not lower)}"
