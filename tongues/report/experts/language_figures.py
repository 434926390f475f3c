"""The figures of languages: their losses, what each gained with its text, what was added."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from tongues.report.charts import COUNT, Figure, colour, data, label, log_axis, log_scale, panel
from tongues.report.experts.correlation import correlate
from tongues.report.experts.named import apart
from tongues.report.experts.numbers import drawn, setting_name
from tongues.report.experts.outcome import (
    Experts,
    Setting,
    best,
    best_of_each,
    dense_setting,
    expert_settings,
    grown,
    models,
    references,
    seed_setting,
    spread,
)

__all__ = ["added", "gains", "languages"]


def languages(found: Experts) -> Figure | None:
    """Losses by language, and how much lower than the reference they are."""
    tops, dense = best_of_each(found), dense_setting(found)
    if not tops and not dense:
        return None
    shown = {"seed": seed_setting(found), **({"dense": dense} if dense else {}), **tops}
    name = references(found)[-1]
    rows = [
        {
            "language": lang,
            "series": key,
            "setting": setting_name(one),
            "loss": one.loss(lang),
            **(drawn(one.lower(name, lang)) if name in one.versus else {}),
        }
        for key, one in shown.items()
        for lang in found.text
        if lang in one.losses
    ]
    tint, langs = colour(models(found), shown, "circle"), list(found.text)
    compared = [row for row in rows if row["series"] in tops or ("mean" in row and name == "seed")]
    panels = [_losses(rows, tint, langs, len(tops))]
    if compared:
        tint = colour(models(found), (row["series"] for row in compared), "circle")
        panels.append(_lower(compared, tint, langs, len(tops), name))
    reference = "the seed" if name == "seed" else "the dense model"
    caption = (
        "Left, the loss of each language under the seed"
        + (", the dense model" if dense else "")
        + (" and every division by its best routing" if tops else "")
        + f". Right, how much lower than that of {reference}, with 95 % intervals over held-out "
        "documents: right of the line at 0 it is better."
    )
    return Figure("languages", "Language by language", caption, tuple(panels), tuple(rows))


def _losses(
    rows: Sequence[Mapping[str, Any]], tint: alt.Color, langs: list[str], beside: int = 1
) -> alt.LayerChart:
    x = alt.X(
        "loss:Q",
        title="loss (nats per token)",
        scale=alt.Scale(zero=False, padding=12),
        axis=alt.Axis(tickCount=5),
    )
    tips = ["language:N", "series:N", alt.Tooltip("loss:Q", format=".3f")]
    base = alt.Chart(data(rows)).encode(x=x, y=_y(langs))
    dots = base.mark_circle(size=75, opacity=0.9).encode(color=tint, tooltip=tips)
    height = _height(langs, beside)
    return panel("Loss", dots, height=height)


def _lower(
    rows: Sequence[Mapping[str, Any]], tint: alt.Color, langs: list[str], beside: int, name: str
) -> alt.LayerChart:
    x = alt.X(
        "mean:Q", title="nats per token", scale=alt.Scale(padding=8), axis=alt.Axis(tickCount=5)
    )
    offset = alt.YOffset(
        "series:N",
        scale=alt.Scale(paddingOuter=0.8),
        sort=list(dict.fromkeys(row["series"] for row in rows)),
    )
    tips = [
        alt.Tooltip("language:N"),
        alt.Tooltip("setting:N"),
        *(alt.Tooltip(f"{end}:Q", format=".3f") for end in ("mean", "low", "high")),
    ]
    base = alt.Chart(data(rows)).encode(y=_y(langs), yOffset=offset, color=tint, tooltip=tips)
    told = base.transform_filter("isValid(datum.low)")
    zero = alt.Chart(data([{"mean": 0.0}])).mark_rule(strokeDash=[4, 4], style="quiet")
    return panel(
        f"Lower than {'the seed' if name == 'seed' else name}",
        zero.encode(x=x),
        told.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q"),
        base.mark_circle(size=45, opacity=1).encode(x=x),
        height=_height(langs, beside),
    )


def gains(found: Experts) -> Figure | None:
    """What each language gained, against its amount of text."""
    top, dense = best(expert_settings(found)), dense_setting(found)
    if top is None or not spread(found.scores.train_tokens):
        return None
    panels, rows, said = [], [], []
    for name in references(found):
        shown = [top, *([dense] if dense and name == "seed" else [])]
        own = [row for one in shown for row in _gained(one, name, found)]
        against = "the seed" if name == "seed" else "dense"
        panels.append(_against_text(own, f"Gain over {against}", top.division, models(found)))
        rows += own
        for one in shown:
            of_one = [row for row in own if row["series"] == one.division]
            related = correlate([row["tokens"] for row in of_one], [row["mean"] for row in of_one])
            if related:
                said.append(f"{setting_name(one)} over {against}: {related}")
    caption = (
        "How much lower a language's loss became, against its training tokens in the experts' "
        "text, with 95 % intervals over held-out documents. "
        + (f"Spearman's rank correlation of {'; '.join(said)}." if said else "")
    )
    title = "Gain by amount of text"
    return Figure("gains", title, caption.strip(), tuple(panels), tuple(rows))


def _gained(one: Setting, name: str, found: Experts) -> list[dict[str, Any]]:
    return [
        {
            "language": lang,
            "series": one.division,
            "setting": setting_name(one),
            "over": name,
            "tokens": float(found.scores.train_tokens[lang]),
            **drawn(one.lower(name, lang)),
        }
        for lang in one.losses
    ]


def _against_text(
    rows: Sequence[Mapping[str, Any]], title: str, first: str, names: list[str]
) -> alt.LayerChart:
    amounts = [row["tokens"] for row in rows]
    x = alt.X(
        "tokens:Q",
        title="training tokens of the language",
        scale=log_scale(amounts, 0.08),
        axis=log_axis(amounts, COUNT, grid=False),
    )
    scale = alt.Scale(zero=False, padding=8)
    y = alt.Y(
        "mean:Q", title="loss lower by (nats per token)", scale=scale, axis=alt.Axis(tickCount=5)
    )
    tint = colour(names, (row["series"] for row in rows), "circle")
    tips = [
        alt.Tooltip("language:N"),
        alt.Tooltip("series:N"),
        alt.Tooltip("tokens:Q", format=".3~s"),
        *(alt.Tooltip(f"{end}:Q", format=".3f") for end in ("mean", "low", "high")),
    ]
    base = alt.Chart(data(rows)).encode(x=x, color=tint, tooltip=tips)
    none = (
        [{"mean": 0.0}] if any(row["low"] is not None and not row["told"] for row in rows) else []
    )
    told = base.transform_filter("isValid(datum.low)")
    zero = alt.Chart(data(none)).mark_rule(strokeDash=[4, 4], style="quiet")
    layers = [
        zero.encode(y=y),
        told.mark_rule(strokeWidth=1.5, opacity=0.6).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_circle(size=70, opacity=1).encode(y=y),
    ]
    named = [row for row in apart(rows, "tokens", "mean") if row["series"] == first]
    at = alt.Chart(data(named)).encode(x=x, y=y)
    return panel(title, *layers, *label(at, "language:N", "ink", align="left", dx=7, dy=-2))


def added(found: Experts) -> Figure | None:
    """Added languages and their donors, before and after."""
    made = grown(found)
    if made is None:
        return None
    donors = dict.fromkeys(donor for given in made.donors.values() for donor in given)
    called = {lang: f"{lang}, added" for lang in made.donors}
    called |= {lang: f"{lang}, donor" for lang in donors}
    rows = [
        {"language": name, "series": series, "loss": loss}
        for lang, name in called.items()
        for series, loss in _through(found, lang).items()
    ]
    rows += [
        {"language": called[lang], "series": "new expert alone", "loss": loss}
        for lang, loss in made.alone.items()
    ]
    names = list(dict.fromkeys(row["series"] for row in rows))
    chart = _losses(rows, colour(names, names, "circle"), list(called.values()))
    caption = (
        "The loss of each added language and its donors: under the seed, the ensemble before and "
        "after, and the new expert alone. A language goes to its own expert; one that has none, "
        "to the expert that the text is nearest to."
    )
    return Figure("added", "Languages added", caption, (chart,), tuple(rows))


def _through(found: Experts, lang: str) -> dict[str, float]:
    """Losses on a language: of the seed, then by its own expert or else the nearest."""
    losses = {"seed": seed_setting(found).loss(lang)}
    for division in ("before", "grown"):
        of = {
            one.routing or "uniform": one.loss(lang)
            for one in found.settings
            if one.division == division and lang in one.losses
        }
        for routing in ("language", "text", "uniform"):
            if routing in of:
                losses[division] = of[routing]
                break
    return losses


def _y(langs: list[str]) -> alt.Y:
    axis = alt.Axis(labelFontSize=13, domain=False, ticks=False, labelPadding=8, grid=True)
    return alt.Y("language:N", title=None, sort=langs, axis=axis)


def _height(langs: Sequence[str], beside: int) -> int:
    """Room for a row of dots, or for so many one below the other."""
    return max(28, 9 * beside + 12) * len(langs) + 20
