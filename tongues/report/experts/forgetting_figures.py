"""The figures of forgetting: every expert on every language, and whose text each one learned."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import altair as alt

from tongues.report.charts import COUNT, Figure, colour, data, label, log_axis, log_scale, panel
from tongues.report.experts.correlation import correlate
from tongues.report.experts.named import apart
from tongues.report.experts.outcome import (
    Cell,
    Experts,
    averaged,
    expert_divisions,
    frequencies,
    models,
    rise_by_language,
    spread,
)

__all__ = ["forgetting", "shares", "unlearned"]

_ROW = 30  # pixels of an expert
_WRITTEN = 9  # languages up to which a cell says its number
_WIDE = 0.09  # share from which a piece has room for its number
_SEEN = 0.0005  # shares below it are not drawn
_KINDS = ["worse", "better"]


def forgetting(found: Experts) -> Figure | None:
    """A heat map for each division: the loss of its experts less the seed's."""
    cells = averaged(found)
    if not cells:
        return None
    most = max(abs(cell.rise) for cell in cells)
    divisions = list(dict.fromkeys(cell.division for cell in cells))
    panels = [
        _heat([cell for cell in cells if cell.division == name], name, most, list(found.text))
        for name in divisions
    ]
    caption = (
        "Every expert (row) on every language (column): its loss less the seed's, nats per token. "
        "Orange became worse, blue better, the stronger the more; outlined are the languages of "
        "which it learned at least half the text."
        f" The strongest colour stands for {most:.2f}."
    )
    rows = tuple(asdict(cell) for cell in cells)
    return Figure("forgetting", "What each expert forgot", caption, tuple(panels), rows)


def _heat(cells: Sequence[Cell], title: str, most: float, langs: list[str]) -> alt.LayerChart:
    written = len(langs) <= _WRITTEN
    rows = [
        asdict(cell)
        | {
            "kind": _KINDS[cell.rise <= 0],
            "size": abs(cell.rise),
            "text": f"{cell.rise:+.{1 if abs(cell.rise) >= 0.95 else 2}f}".replace("-", "−"),
        }
        for cell in cells
    ]
    order = list(dict.fromkeys(cell.expert for cell in cells))
    axis = alt.Axis(
        labelAngle=0 if written else -90,
        orient="top",
        domain=False,
        ticks=False,
        labelOverlap=False,
    )
    base = alt.Chart(data(rows)).encode(
        x=alt.X("lang:N", title=None, sort=langs, axis=axis),
        y=alt.Y("expert:N", title=None, sort=order, axis=_names()),
    )
    depth = alt.Opacity(
        "size:Q", scale=alt.Scale(type="sqrt", domain=[0, most], range=[0.06, 0.9]), legend=None
    )
    tint = alt.Color("kind:N", scale=alt.Scale(domain=_KINDS), legend=None)
    tips = [
        alt.Tooltip("expert:N"),
        alt.Tooltip("lang:N", title="language"),
        alt.Tooltip("rise:Q", title="loss less the seed's", format="+.3f"),
    ]
    layers = [base.mark_rect().encode(opacity=depth, color=tint, tooltip=tips)]
    learned = base.transform_filter("datum.learned")
    layers.append(learned.mark_rect(filled=False, strokeWidth=1.8, style="step"))
    if written:
        layers.append(base.mark_text(style="ink", fontSize=11).encode(text="text:N"))
    return panel(title, *layers, height=_ROW * len(order) + 20)


def unlearned(found: Experts) -> Figure | None:
    """What became of languages that an expert did not learn, against how frequent they were."""
    frequency, rows, said = frequencies(found), [], []
    for name in expert_divisions(found):
        rise = rise_by_language(found, name)
        rows += [
            {"series": name, "language": lang, "frequency": float(frequency[lang]), "rise": value}
            for lang, value in rise.items()
        ]
        related = correlate([frequency[lang] for lang in rise], list(rise.values()))
        if related:
            said.append(f"{name}, {related}")
    if not spread(frequency) or not said:
        return None
    names, known = models(found), bool(found.scores.base_shares)
    title = "share of the seed's training" if known else "training tokens of the language"
    x = _frequency([row["frequency"] for row in rows], title, known=known)
    scale = alt.Scale(padding=8)
    y = alt.Y(
        "rise:Q", title="rise of loss (nats per token)", scale=scale, axis=alt.Axis(tickCount=5)
    )
    seen = alt.Tooltip("frequency:Q", title=title, format=".2%" if known else ".3~s")
    tips = ["language:N", "series:N", seen, alt.Tooltip("rise:Q", format="+.3f")]
    base = alt.Chart(data(rows)).encode(x=x, y=y)
    tint = colour(names, (row["series"] for row in rows), "circle")
    layers = [base.mark_circle(size=70, opacity=0.9).encode(color=tint, tooltip=tips)]
    along = math.sqrt if known else math.log
    at = alt.Chart(data(apart(rows, "frequency", "rise", along=along))).encode(x=x, y=y)
    layers += label(at, "language:N", "ink", align="left", dx=7, dy=-2)
    caption = (
        "The loss on a language less the seed's, mean over the experts that did not learn it, "
        "against "
        + (
            "its share of the text that the seed was trained on"
            if known
            else "its training tokens in the experts' text (how frequent it was when the seed was "
            "trained is not known)"
        )
        + f". Spearman's rank correlation: {'; '.join(said)}."
    )
    called = "Forgetting by what the seed read" if known else "Forgetting by amount of text"
    chart = panel("Rise of loss where it was not learned", *layers)
    return Figure("unlearned", called, caption, (chart,), tuple(rows))


def _frequency(values: Sequence[float], title: str, *, known: bool) -> alt.X:
    """Shares of what the seed read, of which some may be none; or tokens."""
    if known:
        scale, axis = alt.Scale(type="sqrt", padding=12), alt.Axis(format="~%", grid=False)
        return alt.X("frequency:Q", title=title, scale=scale, axis=axis)
    return alt.X(
        "frequency:Q",
        title=title,
        scale=log_scale(values, 0.08),
        axis=log_axis(values, COUNT, grid=False),
    )


def shares(found: Experts) -> Figure | None:
    """How every partition that puts languages together spreads their text over its experts."""
    divided = {
        name: partition.shares
        for name, partition in found.scores.partitions.items()
        if len(partition.shares) > 1
        and any(sum(part >= _SEEN for part in of.values()) > 1 for of in partition.shares)
    }
    if not divided:
        return None
    rows = [
        {"division": name, "expert": number, "language": lang, "share": part}
        for name, each in divided.items()
        for number, of in enumerate(each)
        for lang, part in of.items()
        if part >= _SEEN
    ]
    panels = [
        _bars([row for row in rows if row["division"] == name], name, len(each))
        for name, each in divided.items()
    ]
    caption = (
        "The share of each language's text that goes to each expert, a colour and a number for "
        "each. One colour from end to end is a language that one expert learned alone."
    )
    return Figure("shares", "Whose text each expert learned", caption, tuple(panels), tuple(rows))


def _bars(rows: Sequence[dict[str, Any]], title: str, k: int) -> alt.LayerChart:
    langs = list(dict.fromkeys(row["language"] for row in rows))
    reached = dict.fromkeys(langs, 0.0)
    drawn = []
    for row in rows:
        start, end = reached[row["language"]], reached[row["language"]] + row["share"]
        reached[row["language"]] = end
        name = str(row["expert"])
        drawn.append(row | {"from": start, "to": end, "middle": (start + end) / 2, "series": name})
        drawn[-1]["name"] = name if row["share"] >= _WIDE else ""
    domain = [str(number) for number in range(k)]
    tint = alt.Color("series:N", scale=alt.Scale(domain=domain), legend=None)
    x = alt.X(
        "from:Q",
        title="share of the language's text",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format="~%", tickCount=5),
    )
    tips = ["language:N", "expert:Q", alt.Tooltip("share:Q", format=".1%")]
    y = alt.Y("language:N", title=None, sort=langs, axis=_names())
    base = alt.Chart(data(drawn)).encode(y=y)
    bars = base.mark_bar(height={"band": 0.75}, style="halo", strokeWidth=1)
    names = base.mark_text(style="within").encode(x=alt.X("middle:Q"), text="name:N")
    return panel(
        title,
        bars.encode(x=x, x2="to:Q", color=tint, tooltip=tips),
        names,
        height=24 * len(langs) + 20,
    )


def _names() -> alt.Axis:
    return alt.Axis(
        labelFontSize=13, domain=False, ticks=False, labelPadding=8, grid=False, labelLimit=120
    )
