"""The figures of a corpus: what was dropped, what documents were found to be, and measured."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tongues.pages import Figure, percent, share
from tongues.pages.axes import Axis, Row, categories, colour, linear, tips
from tongues.pages.plots import alt, bars, chart, heat, panel
from tongues.report.corpus.summary import Language, Summary
from tongues.text.signals import LIMIT, SIGNALS, same_language

__all__ = ["corpus_figures"]

# Groups of reasons to drop a document, a colour for each; those of other packages come after.
_GROUPS = ("copy", "language or script", "repetitive", "symbols, digits", "short", "benchmark")
_COLUMNS = 24  # of a matrix, at most
_WRITTEN = 9  # columns, up to which a matrix says its shares in words
_SEEN = 0.0005  # shares below it are not drawn
_ROW = 30  # pixels of a language

_RIDGE, _LOW_RIDGE, _FEW = 46, 30, 10  # pixels of a language, and where there are more than a few
_HALF = 0.42  # of a row, for the highest bar
_TICKS = 7  # on an axis, at most about
_SHARES = (0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1)

Histogram = Mapping[str, Sequence[float]]  # edges, kept, dropped


def corpus_figures(summary: Summary) -> list[Figure]:
    """Every figure that there is something to show in."""
    drawn = (_dropped(summary), _identified(summary), _signals(summary["languages"]))
    return [figure for figure in drawn if figure]


def _dropped(summary: Summary) -> Figure | None:
    """Of what was read of each language, the share that went, by reason."""
    rows: list[Row] = [
        {"language": lang, "reason": why, **amount}
        | {f"of {u}": share(amount[u], about["read"][u]) for u in ("documents", "bytes")}
        for lang, about in summary["languages"].items()
        for why, amount in about["dropped"].items()
    ]
    if not rows:
        return None
    reasons = [str(row["reason"]) for row in rows]
    rules = [signal.rule for signal in SIGNALS if signal.rule]
    groups = {rule.reason: rule.group or rule.reason for rule in rules} | {LIMIT: "limit"}
    kinds = {why: groups.get(why, why) for why in reasons}
    order = list(dict.fromkeys([*_GROUPS, "limit", *sorted(kinds.values())]))
    drawn = [
        {**row, "series": kind, "order": order.index(kind)}
        for row in rows
        for kind in (kinds[row["reason"]],)
    ]
    tint = colour(order, kinds.values(), "square", symbolSize=90).sort(order)
    langs = list(summary["languages"])
    panels = [
        bars(
            f"Of the {unit}",
            drawn,
            linear(f"of {unit}", "share dropped", format="~%"),
            categories("language", langs),
            tint,
            height=_ROW * len(langs) + 20,
            said=("language", "reason", "documents:,", f"of {unit}:.1%"),
            order="order",
        )
        for unit in ("documents", "bytes")
    ]
    caption = (
        "Every document goes for the first reason that applies, in the order of the tables below. "
        "What is not drawn was kept."
    )
    return Figure("dropped", "What was dropped, and why", caption, tuple(panels), tuple(rows))


def _identified(summary: Summary) -> Figure | None:
    """What the documents of each language were found to be, and the bytes of those kept."""
    about = summary["languages"]
    documents = {
        lang: {label: share(n, sum(each["labels"].values())) for label, n in each["labels"].items()}
        for lang, each in about.items()
    }
    inside = {lang: each["found"] for lang, each in about.items()}
    if not any(documents.values()):
        return None
    panels, rows = [], []
    for name, shares in (("documents read", documents), ("bytes kept", inside)):
        cells = _matrix(shares)
        panels.append(_heat(cells, f"Of the {name}", list(about)))
        rows += [{"share of": name} | row for row in cells]
    caption = (
        "Left, the language that most of each document was identified as; right, the languages "
        "found inside the text that was kept, passage by passage. A row is a language of the "
        f"corpus, a column what was found there. Shares below {percent(2 * _SEEN)} are left out"
    )
    left_out = len({label for found in inside.values() for label in found}) > _COLUMNS
    caption += ", and labels beyond the most frequent ones." if left_out else "."
    return Figure("identified", "Languages found", caption, tuple(panels), tuple(rows))


def _matrix(shares: Mapping[str, Mapping[str, float]]) -> list[Row]:
    """A row per language and label; the corpus's own languages first, then the most frequent."""
    largest: dict[str, float] = {}
    for parts in shares.values():
        for label, part in parts.items():
            largest[label] = max(largest.get(label, 0.0), part)
    own = [lang for lang in shares if lang in largest]
    others = sorted((x for x in largest if x not in own), key=lambda x: (-largest[x], x))
    columns = [*own, *(label for label in others if largest[label] >= _SEEN)][:_COLUMNS]
    return [
        {"language": lang, "found": label, "share": part, "text": percent(part)}
        | {"kind": "own" if same_language(lang, label) else "other"}
        for lang, parts in shares.items()
        for label in columns
        if (part := parts.get(label, 0.0)) >= _SEEN
    ]


def _heat(rows: Sequence[Row], title: str, langs: list[str]) -> alt.LayerChart:
    labels = list(dict.fromkeys(row["found"] for row in rows))
    columns = [lang for lang in langs if lang in labels]
    columns += [label for label in labels if label not in columns]
    written = len(columns) <= _WRITTEN
    across = {"labelAngle": 0 if written else -90, "orient": "top", "title": "found to be"}
    return heat(
        f"{title}, %" if written else title,
        rows,
        categories("found", columns, size=12, **across),
        categories("language", langs),
        colour(["other", "own"], field="kind"),
        "share",
        {"type": "sqrt", "domain": [0, 1], "range": [0.1, 0.75]},
        height=_ROW * len(langs) + 20,
        said=("language", "found", "text=share"),
        written="datum.share > 0.995 ? '100' : format(datum.share * 100, '.1f')" if written else "",
    )


def _signals(languages: Mapping[str, Language]) -> Figure | None:
    """A panel per signal, a row per language: kept documents above its line, dropped below."""
    panels, rows = [], []
    known = {signal.name: signal for signal in SIGNALS}
    for name in dict.fromkeys(name for each in languages.values() for name in each["signals"]):
        all_of_them = {x: each["signals"].get(name) for x, each in languages.items()}
        histograms = {lang: each for lang, each in all_of_them.items() if each and each["edges"]}
        if not histograms:
            continue
        signal = known.get(name)  # none where its package is no longer installed
        key, axis = (signal.key, signal.axis) if signal else ("", None)
        limits = {x: each["thresholds"].get(key) for x, each in languages.items()}
        panels.append(_ridges(axis.title if axis else name, histograms, limits, list(languages)))
        rows += [
            {
                "signal": name,
                "language": lang,
                "from": low,
                "to": high,
                "kept": kept,
                "dropped": gone,
            }
            for lang, each in histograms.items()
            for low, high, kept, gone in zip(
                each["edges"], each["edges"][1:], each["kept"], each["dropped"], strict=False
            )
        ]
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
    histograms: Mapping[str, Histogram],
    limits: Mapping[str, float | None],
    langs: Sequence[str],
) -> alt.LayerChart:
    rows = [bar for x, each in histograms.items() for bar in _bars(x, langs.index(x), each)]
    low, high = min(bar["from"] for bar in rows), max(bar["to"] for bar in rows)
    marks = [
        {
            "language": lang,
            "from": at,
            "top": row - 0.5,
            "foot": row + 0.5,
            "threshold": _text(limit),
        }
        for lang, each in histograms.items()
        if (limit := limits[lang]) is not None
        and low <= (at := _place(limit, each["edges"])) <= high
        for row in (langs.index(lang),)
    ]
    ticks = _ticks(max((each["edges"] for each in histograms.values()), key=len), low, high)
    places = [at for at, _ in ticks]
    labels = f"{[text for _, text in ticks]}[indexof({places}, datum.value)]"
    x = linear("from", None, low=low, high=high, values=places, labelExpr=labels)
    names = f"{json.dumps(list(langs))}[datum.value]"
    y = _rows_of(len(langs), labelExpr=names)
    tint = colour(["dropped", "kept"], ("dropped", "kept"), "square", symbolSize=90)
    bar = chart(rows).encode(x.channel(alt.X), y.channel(alt.Y), tint, x2="to:Q", y2="foot:Q")
    layers = [
        bar.mark_rect().encode(
            tooltip=tips("language", "range=value", "documents:,", "series=fate")
        )
    ]
    if marks:
        mark = chart(marks).encode(x.channel(alt.X), y.channel(alt.Y), y2="foot:Q")
        rules = mark.mark_rule(style="step", strokeWidth=1.5)
        layers.append(rules.encode(tooltip=tips("language", "threshold")))
    height = (_RIDGE if len(langs) <= _FEW else _LOW_RIDGE) * len(langs) + 10
    return panel(title, *layers, height=height)


def _rows_of(count: int, **axis: Any) -> Axis:
    """Rows from above to below by their number."""
    drawn = {"values": list(range(count)), "labelFontSize": 13, "domain": False, "ticks": False}
    down = alt.Scale(domain=[count - 0.5, -0.5], nice=False)
    return Axis("top", None, down, alt.Axis(**dict[str, Any](drawn | axis)))


def _bars(lang: str, row: int, histogram: Histogram) -> list[Row]:
    edges, bars = histogram["edges"], []
    for fate, up in (("kept", True), ("dropped", False)):
        most = max(histogram[fate], default=0)
        for step, count in enumerate(histogram[fate]):
            if not count:
                continue
            height = _HALF * count / most
            ends = {"top": row - height, "foot": row} if up else {"top": row, "foot": row + height}
            span = f"{_text(edges[step])} to {_text(edges[step + 1])}"
            bar = {"language": lang, "series": fate, "documents": count, "range": span}
            bars.append(bar | {"from": step, "to": step + 1} | ends)
    return bars


def _place(value: float, edges: Sequence[float]) -> float:
    """Where a value lies, counted in bins."""
    return float(np.interp(value, edges, np.arange(len(edges))))


def _text(value: float) -> str:
    return f"{value:,.0f}" if value > 1 else f"{value:.3g}"


def _ticks(edges: Sequence[float], low: float, high: float) -> list[tuple[float, str]]:
    """Round values that are far enough apart, each with its place in bins."""
    shares = edges[-1] <= 1
    ticks: list[tuple[float, str]] = []
    for value in _SHARES if shares else edges:
        at = _place(value, edges)
        if low <= at <= high and (not ticks or at - ticks[-1][0] >= (high - low) / _TICKS):
            counted = f"{value:.0f}" if value < 1000 else f"{value / 1000:.0f}k"
            ticks.append((at, f"{value * 100:g}" if shares else counted))
    return ticks
