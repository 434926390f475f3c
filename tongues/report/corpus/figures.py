"""The figures of a corpus: what was dropped, and what the documents were identified as."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from tongues.report.charts import Figure, data, panel
from tongues.report.corpus.signals import signals
from tongues.report.corpus.summary import Summary
from tongues.report.shares import percent, share
from tongues.text.signals import same_language

__all__ = ["corpus_figures"]

# Reasons to drop a document that one colour stands for.
_KINDS = {
    "beyond the limit": "limit",
    "other language": "language or script",
    "other script": "language or script",
    "short": "short",
    "repetitive": "repetitive",
    "repeated lines": "repetitive",
    "symbols": "symbols, digits",
    "digits": "symbols, digits",
    "benchmark": "benchmark",
    "copy": "copy",
    "near copy": "copy",
}
_ORDER = ["copy", "language or script", "repetitive", "symbols, digits", "short", "benchmark"]
_ORDER += ["limit"]
_COLUMNS = 24  # of a matrix, at most
_WRITTEN = 9  # columns, up to which a matrix says its shares in words
_SEEN = 0.0005  # shares below it are not drawn
_ROW = 30  # pixels of a language


def corpus_figures(summary: Summary) -> list[Figure]:
    """Every figure that there is something to show in."""
    drawn = (_dropped(summary), _identified(summary), signals(summary["languages"]))
    return [figure for figure in drawn if figure]


def _dropped(summary: Summary) -> Figure | None:
    """Of what was read of each language, the share that went, by reason."""
    rows = [
        {
            "language": lang,
            "reason": why,
            "series": _KINDS.get(why, why),
            "order": _ORDER.index(_KINDS[why]) if why in _KINDS else len(_ORDER),
            **amount,
            "of documents": share(amount["documents"], about["read"]["documents"]),
            "of bytes": share(amount["bytes"], about["read"]["bytes"]),
        }
        for lang, about in summary["languages"].items()
        for why, amount in about["dropped"].items()
    ]
    if not rows:
        return None
    caption = (
        "Every document goes for the first reason that applies, in the order of the tables below. "
        "What is not drawn was kept."
    )
    langs = list(summary["languages"])
    panels = [
        _bars(rows, "of documents", "Of the documents", langs),
        _bars(rows, "of bytes", "Of the bytes", langs),
    ]
    rows = [{k: v for k, v in row.items() if k not in ("series", "order")} for row in rows]
    return Figure("dropped", "What was dropped, and why", caption, tuple(panels), tuple(rows))


def _bars(
    rows: Sequence[Mapping[str, Any]], field: str, title: str, langs: list[str]
) -> alt.LayerChart:
    shown = {row["series"] for row in rows}
    tint = alt.Color(
        "series:N",
        scale=alt.Scale(domain=_ORDER),
        sort=_ORDER,
        legend=alt.Legend(
            values=[kind for kind in _ORDER if kind in shown],
            columns=2 if len(shown) > 3 else 0,
            symbolType="square",
            symbolSize=90,
        ),
    )
    tips = [
        alt.Tooltip("language:N"),
        alt.Tooltip("reason:N"),
        alt.Tooltip("documents:Q", format=","),
        alt.Tooltip(f"{field}:Q", format=".1%"),
    ]
    bars = alt.Chart(data(rows)).mark_bar(height={"band": 0.7})
    return panel(
        title,
        bars.encode(
            x=alt.X(f"{field}:Q", title="share dropped", axis=alt.Axis(format="~%", tickCount=5)),
            y=alt.Y("language:N", title=None, sort=langs, axis=_names()),
            color=tint,
            order="order:Q",
            tooltip=tips,
        ),
        height=_ROW * len(langs) + 20,
    )


def _identified(summary: Summary) -> Figure | None:
    """What the documents of each language were found to be, and the bytes of those kept."""
    about = summary["languages"]
    documents = {
        lang: {
            label: share(count, sum(each["labels"].values()))
            for label, count in each["labels"].items()
        }
        for lang, each in about.items()
    }
    inside = {lang: each["found"] for lang, each in about.items()}
    if not any(documents.values()):
        return None
    panels, rows = [], []
    for name, shares in (("documents read", documents), ("bytes kept", inside)):
        found = _matrix(shares)
        panels.append(_heat(found, f"Of the {name}", list(about)))
        rows += [{"share of": name} | row for row in found]
    caption = (
        "Left, the language that most of each document was identified as; right, the languages "
        "found inside the text that was kept, passage by passage. A row is a language of the "
        f"corpus, a column what was found there. Shares below {percent(2 * _SEEN)} are left out"
    )
    left_out = len({label for found in inside.values() for label in found}) > _COLUMNS
    caption += ", and labels beyond the most frequent ones." if left_out else "."
    return Figure("identified", "Languages found", caption, tuple(panels), tuple(rows))


def _matrix(shares: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    """A row per language and label; the corpus's own languages first, then the most frequent."""
    largest: dict[str, float] = {}
    for found in shares.values():
        for label, part in found.items():
            largest[label] = max(largest.get(label, 0.0), part)
    own = [lang for lang in shares if lang in largest]
    others = sorted((x for x in largest if x not in own), key=lambda x: (-largest[x], x))
    columns = [*own, *(label for label in others if largest[label] >= _SEEN)][:_COLUMNS]
    return [
        {"language": lang, "found": label, "share": part, "text": percent(part)}
        | {"kind": "own" if same_language(lang, label) else "other"}
        for lang, found in shares.items()
        for label in columns
        if (part := found.get(label, 0.0)) >= _SEEN
    ]


def _heat(rows: Sequence[Mapping[str, Any]], title: str, langs: list[str]) -> alt.LayerChart:
    columns = list(dict.fromkeys(lang for lang in langs if any(r["found"] == lang for r in rows)))
    columns += [x for x in dict.fromkeys(row["found"] for row in rows) if x not in columns]
    written = len(columns) <= _WRITTEN
    cells = alt.Chart(data(rows)).encode(
        x=alt.X(
            "found:N",
            title="found to be",
            sort=columns,
            axis=alt.Axis(
                labelAngle=0 if written else -90, orient="top", domain=False, ticks=False
            ),
        ),
        y=alt.Y("language:N", title=None, sort=langs, axis=_names()),
    )
    tips = [alt.Tooltip("language:N"), alt.Tooltip("found:N"), alt.Tooltip("text:N", title="share")]
    depth = alt.Opacity(
        "share:Q", scale=alt.Scale(type="sqrt", domain=[0, 1], range=[0.1, 0.75]), legend=None
    )
    tint = alt.Color("kind:N", scale=alt.Scale(domain=["other", "own"]), legend=None)
    layers = [cells.mark_rect().encode(opacity=depth, color=tint, tooltip=tips)]
    if written:
        short = "datum.share > 0.995 ? '100' : format(datum.share * 100, '.1f')"
        numbers = cells.transform_calculate(short=short)
        layers.append(numbers.mark_text(style="ink", fontSize=11).encode(text="short:N"))
    return panel(f"{title}, %" if written else title, *layers, height=_ROW * len(langs) + 20)


def _names() -> alt.Axis:
    return alt.Axis(
        labelFontSize=13, domain=False, ticks=False, labelPadding=8, grid=False, labelLimit=110
    )
