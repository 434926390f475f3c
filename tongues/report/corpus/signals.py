"""The figure of what was measured: how each signal lies among kept and dropped documents."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from tongues.report.charts import Figure, data, panel
from tongues.report.corpus.summary import Language

__all__ = ["signals"]

# Signal, what it is called, the recipe's word for its threshold.
_SHOWN = (
    ("characters", "Characters", "characters"),
    ("line_length", "Characters a line", ""),
    ("repetition", "Said before in the document (%)", "repetition"),
    ("repeated_lines", "In lines said before (%)", "repeated_lines"),
    ("symbols", "Symbols and punctuation (%)", "symbols"),
    ("digits", "Digits (%)", "digits"),
    ("language_share", "Identified as the language (%)", "language"),
)
_ROW, _LOW_ROW, _FEW = 46, 30, 10  # pixels of a language, and where there are more than a few
_HALF = 0.42  # of a row, for the highest bar
_TICKS = 7  # on an axis, at most about
_SHARES = (0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1)


def signals(languages: Mapping[str, Language]) -> Figure | None:
    """A panel per signal, a row per language: kept documents above its line, dropped below."""
    panels, rows = [], []
    for name, title, word in _SHOWN:
        found = {lang: each["signals"][name] for lang, each in languages.items()}
        found = {lang: histogram for lang, histogram in found.items() if histogram["edges"]}
        if not found:
            continue
        limits = {
            lang: each["thresholds"][word]
            for lang, each in languages.items()
            if word in each["thresholds"]
        }
        panels.append(_ridges(title, found, limits, list(languages)))
        rows += [{"signal": name} | row for lang in found for row in _counts(lang, found[lang])]
    if not panels:
        return None
    caption = (
        "A row is a language: kept documents stand above its line, dropped ones hang below it, "
        "each scaled to its own highest bar. The upright mark is the threshold. Bins of counts "
        "double in width."
    )
    title = "What was measured of the documents"
    return Figure("signals", title, caption, tuple(panels), tuple(rows))


def _ridges(
    title: str,
    found: Mapping[str, Mapping[str, Sequence[float]]],
    limits: Mapping[str, float],
    langs: Sequence[str],
) -> alt.LayerChart:
    rows = [
        bar
        for lang, histogram in found.items()
        for bar in _bars(lang, langs.index(lang), histogram)
    ]
    low, high = min(bar["from"] for bar in rows), max(bar["to"] for bar in rows)
    marks = [
        {"language": lang, "from": at, "row": langs.index(lang), "threshold": _said(limits[lang])}
        for lang in found
        if lang in limits and low <= (at := _place(limits[lang], found[lang]["edges"])) <= high
    ]
    ticks = _ticks(max((each["edges"] for each in found.values()), key=len), low, high)
    axis = alt.Axis(
        values=[at for at, _ in ticks],
        labelExpr=f"{[text for _, text in ticks]}[indexof({[at for at, _ in ticks]}, datum.value)]",
    )
    scale = alt.Scale(domain=[low, high], nice=False)
    x = alt.X("from:Q", title=None, scale=scale, axis=axis)
    names = alt.Axis(
        values=list(range(len(langs))),
        labelExpr=f"{json.dumps(list(langs))}[datum.value]",
        labelFontSize=13,
        domain=False,
        ticks=False,
    )
    y = alt.Y(
        "top:Q",
        title=None,
        scale=alt.Scale(domain=[len(langs) - 0.5, -0.5], nice=False),
        axis=names,
    )
    tint = alt.Color(
        "series:N",
        scale=alt.Scale(domain=["dropped", "kept"]),
        legend=alt.Legend(symbolType="square", symbolSize=90),
    )
    tips = [
        alt.Tooltip("language:N"),
        alt.Tooltip("range:N", title="value"),
        alt.Tooltip("documents:Q", format=","),
        alt.Tooltip("series:N", title="fate"),
    ]
    bars = (
        alt.Chart(data(rows))
        .mark_rect()
        .encode(x=x, x2="to:Q", y=y, y2="foot:Q", color=tint, tooltip=tips)
    )
    layers = [bars]
    if marks:
        ends = [mark | {"top": mark["row"] - 0.5, "foot": mark["row"] + 0.5} for mark in marks]
        tip = [alt.Tooltip("language:N"), alt.Tooltip("threshold:N")]
        rules = alt.Chart(data(ends)).mark_rule(style="step", strokeWidth=1.5)
        layers.append(rules.encode(x=x.copy(), y=y, y2="foot:Q", tooltip=tip))
    return panel(
        title, *layers, height=(_ROW if len(langs) <= _FEW else _LOW_ROW) * len(langs) + 10
    )


def _bars(lang: str, row: int, histogram: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    edges, bars = histogram["edges"], []
    for fate, up in (("kept", True), ("dropped", False)):
        most = max(histogram[fate], default=0)
        for step, count in enumerate(histogram[fate]):
            if not count:
                continue
            height = _HALF * count / most
            ends = {"top": row - height, "foot": row} if up else {"top": row, "foot": row + height}
            span = f"{_said(edges[step])} to {_said(edges[step + 1])}"
            bar = {"language": lang, "series": fate, "documents": count, "range": span}
            bars.append(bar | {"from": step, "to": step + 1} | ends)
    return bars


def _counts(lang: str, histogram: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    edges = histogram["edges"]
    bins = zip(edges, edges[1:], histogram["kept"], histogram["dropped"], strict=False)
    return [
        {"language": lang, "from": low, "to": high, "kept": kept, "dropped": dropped}
        for low, high, kept, dropped in bins
    ]


def _place(value: float, edges: Sequence[float]) -> float:
    """Where a value lies, counted in bins."""
    return float(np.interp(value, edges, np.arange(len(edges))))


def _said(value: float) -> str:
    return f"{value:,.0f}" if value > 1 else f"{value:.3g}"


def _ticks(edges: Sequence[float], low: float, high: float) -> list[tuple[float, str]]:
    """Round values that are far enough apart, each with its place in bins."""
    shares = edges[-1] <= 1
    ticks: list[tuple[float, str]] = []
    for value in _SHARES if shares else edges:
        at = _place(value, edges)
        if low <= at <= high and (not ticks or at - ticks[-1][0] >= (high - low) / _TICKS):
            ticks.append((at, _tick(value, shares)))
    return ticks


def _tick(value: float, share: bool) -> str:
    if share:
        return f"{value * 100:g}"
    return f"{value:.0f}" if value < 1000 else f"{value / 1000:.0f}k"
