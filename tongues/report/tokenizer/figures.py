"""The figures of tokenizers: what they make of each language, what more pieces bring, scripts."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from tongues.report.charts import COUNT, Figure, data, label, log_scale, panel
from tongues.report.shares import percent, share
from tongues.report.tokenizer.measured import Measured
from tongues.tokens.fertility import BYTEWISE

__all__ = ["tokenizer_figures"]

_SCRIPTS = 14  # shown
_ROW = 22  # pixels of a dot


def tokenizer_figures(measured: Sequence[Measured]) -> list[Figure]:
    """Every figure that there is something to show in."""
    drawn = (_fertility(measured), _extensions(measured), _scripts(measured))
    return [figure for figure in drawn if figure]


def _fertility(measured: Sequence[Measured]) -> Figure | None:
    """Bytes per token, tokens per word and what a language costs, a dot per tokenizer."""
    rows = [
        {
            "tokenizer": each.name,
            "series": each.name,
            "language": lang,
            "bytes per token": found.bytes_per_token,
            "tokens per word": found.tokens_per_word,
            "multiplier": found.multiplier,
        }
        for each in measured
        for lang, found in each.languages.items()
    ]
    if not rows:
        return None
    home = measured[0].home
    names = [each.name for each in measured]
    panels = [
        _dots(rows, "bytes per token", "Bytes per token", names, BYTEWISE),
        _dots(rows, "tokens per word", "Tokens per word", names, None),
    ]
    caption = (
        f"Left of the upright mark at {BYTEWISE} bytes per token a language is spelt rather than "
        "read. In scripts that write no spaces, a word is a character."
    )
    beside = [row for row in rows if row["multiplier"] is not None]
    if any(row["language"] != home for row in beside):
        title = f"Tokens beside {home}, for the same text"
        panels.append(_dots(beside, "multiplier", title, names, 1.0))
        caption += (
            f" The last panel compares documents of the same groups: at 2, a text costs twice the "
            f"tokens that it costs in {home}."
        )
    rows = [{k: v for k, v in row.items() if k != "series"} for row in rows]
    title = "What a tokenizer makes of each language"
    return Figure("fertility", title, caption, tuple(panels), tuple(rows))


def _dots(
    rows: Sequence[Mapping[str, Any]],
    field: str,
    title: str,
    names: list[str],
    mark: float | None,
) -> alt.LayerChart:
    langs = list(dict.fromkeys(row["language"] for row in rows))
    most = max([mark or 0.0, *(row[field] for row in rows)])
    scale = alt.Scale(domain=[0, most * 1.12], nice=False)
    x = alt.X("value:Q", title=None, scale=scale, axis=alt.Axis(tickCount=5))
    axis = alt.Axis(labelFontSize=13, domain=False, ticks=False, labelPadding=8, grid=False)
    y = alt.Y("language:N", title=None, sort=langs, axis=axis)
    several = len(names) > 1
    tint = alt.Color(
        "series:N",
        scale=alt.Scale(domain=names),
        legend=alt.Legend(symbolType="circle", symbolSize=70, columns=1) if several else None,
    )
    values = [
        {k: row[k] for k in ("series", "language")}
        | {"value": row[field], "text": f"{row[field]:.2f}"}
        for row in rows
    ]
    chart = alt.Chart(data(values)).encode(x=x, y=y)
    if several:
        chart = chart.encode(yOffset=alt.YOffset("series:N", sort=names))
    tips = [alt.Tooltip("series:N", title="tokenizer"), alt.Tooltip("language:N")]
    tips.append(alt.Tooltip("text:N", title=field))
    stems = chart.mark_rule(strokeWidth=2, opacity=0.35).encode(x2=alt.datum(0), color=tint)
    dots = chart.mark_circle(size=90, opacity=1).encode(color=tint, tooltip=tips)
    layers: list[alt.Chart] = [stems, dots]
    if mark is not None:
        line = alt.Chart(data([{"value": mark}])).mark_rule(strokeDash=[4, 3], style="quiet")
        layers.insert(0, line.encode(x=x))
    if not several:
        layers += label(chart, "text:N", align="left", dx=9)
    return panel(title, *layers, height=(8 + _ROW * len(names)) * len(langs) + 20)


def _extensions(measured: Sequence[Measured]) -> Figure | None:
    """Tokens saved by more pieces, as far as it was tried; a panel per tokenizer."""
    rows = [
        {
            "tokenizer": each.name,
            "language": lang,
            "series": lang,
            "pieces": count,
            "saved": 1 - advice.curve[0] / ratio,
            "bytes per token": ratio,
            "advised": count == advice.pieces,
            "text": lang if count == max(advice.curve) else "",
        }
        for each in measured
        for lang, advice in each.advice.items()
        for count, ratio in advice.curve.items()
        if count
    ]
    if not rows:
        return None
    langs = list(dict.fromkeys(row["language"] for row in rows))
    panels = [
        _curves([row for row in rows if row["tokenizer"] == name], name, rows, langs)
        for name in dict.fromkeys(row["tokenizer"] for row in rows)
    ]
    caption = (
        "Pieces that continue the tokenizer's own merges on a language's text, tried on text they "
        "were not made from. A ring marks the number advised, where there is one."
    )
    home = measured[0].home
    if home not in langs:
        caption += f" They are such that the text of {home} keeps its segmentation."
    rows = [{k: v for k, v in row.items() if k not in ("series", "text")} for row in rows]
    return Figure("extensions", "What more pieces bring", caption, tuple(panels), tuple(rows))


def _curves(
    rows: Sequence[Mapping[str, Any]],
    name: str,
    shown: Sequence[Mapping[str, Any]],
    langs: list[str],
) -> alt.LayerChart:
    counts = [row["pieces"] for row in shown]
    most = max(row["saved"] for row in shown)
    x = alt.X(
        "pieces:Q",
        title="pieces added",
        scale=log_scale(counts, 0.1),
        axis=alt.Axis(values=sorted(set(counts)), labelExpr=COUNT, grid=False),
    )
    y = alt.Y(
        "saved:Q",
        title="tokens saved",
        scale=alt.Scale(domain=[min(0.0, *(r["saved"] for r in shown)), most * 1.1], nice=False),
        axis=alt.Axis(format="~%", tickCount=5),
    )
    few = len(langs) <= 7  # as many as there are colours
    tint = alt.Color(
        "series:N", scale=alt.Scale(domain=langs), legend=alt.Legend(symbolType="stroke", columns=5)
    )
    chart = alt.Chart(data(rows)).encode(x=x, y=y)
    tips = [
        alt.Tooltip("language:N"),
        alt.Tooltip("pieces:Q", format=","),
        alt.Tooltip("saved:Q", title="tokens saved", format=".1%"),
        alt.Tooltip("bytes per token:Q", format=".2f"),
    ]
    coloured = chart.encode(color=tint) if few else chart.encode(detail="series:N")
    layers: list[alt.Chart] = [
        coloured.mark_line(strokeWidth=2, opacity=1 if few else 0.5),
        coloured.mark_circle(size=36, opacity=1).encode(tooltip=tips),
        coloured.transform_filter("datum.advised").mark_point(
            size=190, filled=False, strokeWidth=2
        ),
    ]
    if not few:
        layers += label(chart, "text:N", align="left", dx=8)
    return panel(name, *layers)


def _scripts(measured: Sequence[Measured]) -> Figure | None:
    """The vocabulary by script."""
    totals: dict[str, int] = {}
    for each in measured:
        for script, count in each.scripts.items():
            totals[script] = totals.get(script, 0) + count
    shown = sorted(totals, key=lambda script: (-totals[script], script))[:_SCRIPTS]
    rows = [
        {"tokenizer": each.name, "script": script, "pieces": each.scripts.get(script, 0)}
        for each in measured
        for script in shown
    ]
    names = [each.name for each in measured]
    panels = []
    for each in measured:
        own = [
            row | {"share": share(row["pieces"], each.size)}
            for row in rows
            if row["tokenizer"] == each.name and row["pieces"]
        ]
        own = [row | {"text": percent(row["share"])} for row in own]
        panels.append(_script_bars(own, each.name, shown, names))
    caption = (
        "By the script of most of their letters; `Zyyy` are pieces without letters, and `bytes` "
        "those that are parts of characters."
    )
    return Figure("scripts", "Pieces by script", caption, tuple(panels), tuple(rows))


def _script_bars(
    rows: Sequence[Mapping[str, Any]], name: str, shown: list[str], names: list[str]
) -> alt.LayerChart:
    axis = alt.Axis(labelFontSize=13, domain=False, ticks=False, labelPadding=8, grid=False)
    most = max(row["share"] for row in rows)
    chart = alt.Chart(data(rows)).encode(
        x=alt.X(
            "share:Q",
            title=None,
            scale=alt.Scale(domain=[0, most * 1.2], nice=False),
            axis=alt.Axis(format="~%", tickCount=5),
        ),
        y=alt.Y("script:N", title=None, scale=alt.Scale(domain=shown), axis=axis),
    )
    tips = [alt.Tooltip("script:N"), alt.Tooltip("pieces:Q", format=",")]
    bars = chart.mark_bar(height={"band": 0.6}).encode(
        color=alt.Color("tokenizer:N", scale=alt.Scale(domain=names), legend=None), tooltip=tips
    )
    shares = label(chart, "text:N", align="left", dx=6)
    return panel(name, bars, *shares, height=_ROW * len(shown) + 20)
