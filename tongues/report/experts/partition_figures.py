"""The figures of a partition: its tree, whose text lies where, and the distances behind it."""

import json
from collections.abc import Mapping
from typing import Any

import altair as alt

from tongues.experts.partition.partition import Partition, amounts
from tongues.experts.partition.shown import leaves
from tongues.report.charts import COUNT, Figure, data, label, panel
from tongues.report.shares import percent

__all__ = ["partition_figures"]

_ROW = 24  # pixels of a language or a part
_SEEN = 0.0005  # shares below it are not drawn
_NAMED = 0.035  # share of the widest bar from which a piece of it has room for a name
_WRITTEN = 12  # languages up to which a matrix says its distances


def partition_figures(partition: Partition, text: Mapping[str, float]) -> list[Figure]:
    """Every figure that there is something to show in; text: tokens of every language."""
    drawn = [_tree(partition)] if partition.merges else []
    drawn.append(_shares(partition, text))
    if partition.distances and len(partition.distances) > 1:
        drawn.append(_matrix(partition, partition.distances))
    return drawn


def _tree(partition: Partition) -> Figure:
    """The languages from above to below, the rounds from left to right."""
    rows = leaves(partition)
    part = {lang: i for i, cluster in enumerate(partition.clusters) for lang in cluster}
    places = {frozenset([lang]): (0.0, float(y)) for y, lang in enumerate(rows)}  # round and row
    lines, joints = [], []
    for merge in partition.merges:
        sides = frozenset(merge.left), frozenset(merge.right)
        (x1, y1), (x2, y2) = (places[side] for side in sides)
        inside = {part[lang] for lang in sides[0] | sides[1]}
        series = _part(inside.pop()) if len(inside) == 1 else None
        x, y = float(merge.round), (y1 + y2) / 2
        ways = [(x1, y1, x, y1), (x2, y2, x, y2), (x, y1, x, y2)]
        lines += [{"x": a, "y": b, "x2": c, "y2": d, "series": series} for a, b, c, d in ways]
        joints.append({"x": x, "y": y, "text": f"{merge.distance:.3f}", "distance": merge.distance})
        joints[-1] |= {"left": ", ".join(merge.left), "right": ", ".join(merge.right)}
        places[sides[0] | sides[1]] = x, y
    last = partition.merges[-1].round
    x = alt.X(
        "x:Q",
        title="round of merges",
        scale=alt.Scale(domain=[0, last + 0.35], nice=False),
        axis=alt.Axis(values=list(range(1, last + 1)), format="d", grid=False),
    )
    y = alt.Y(
        "y:Q",
        title=None,
        scale=alt.Scale(domain=[-0.6, len(rows) - 0.4], reverse=True, nice=False),
        axis=alt.Axis(
            values=list(range(len(rows))),
            labelExpr=f"{json.dumps(rows, ensure_ascii=False)}[datum.value]",
            labelFontSize=13,
            labelOverlap=False,
            domain=False,
            ticks=False,
            grid=False,
        ),
    )
    within = [line for line in lines if line["series"]]
    above = [line for line in lines if not line["series"]]
    tint = _tint(partition, legend=False)
    layers = []
    if above := [line for line in lines if not line["series"]]:
        layers.append(_rules(above, x, y).mark_rule(strokeWidth=2, opacity=0.5))
    if within := [line for line in lines if line["series"]]:
        layers.append(_rules(within, x, y).mark_rule(strokeWidth=2.5).encode(color=tint))
    tips = [alt.Tooltip("left:N"), alt.Tooltip("right:N", title="with"), alt.Tooltip("distance:Q")]
    at = alt.Chart(data(joints)).encode(x=x, y=y, tooltip=tips)
    layers += label(at, "text:N", "ink", align="left", baseline="bottom", dx=4, dy=-3)
    caption = (
        "Each joint shows the distance at which two clusters merged. Coloured lines lie within a "
        "part, grey ones above: they show which parts are near each other."
    )
    chart = panel("Balanced tree of languages", *layers, height=_ROW * len(rows) + 20)
    return Figure("tree", "The tree behind the parts", caption, (chart,), tuple(joints))


def _rules(lines: list[dict[str, Any]], x: alt.X, y: alt.Y) -> alt.Chart:
    return alt.Chart(data(lines)).encode(x=x, y=y, x2="x2:Q", y2="y2:Q")


def _shares(partition: Partition, text: Mapping[str, float]) -> Figure:
    """Whose text lies where, by language and by part."""
    sizes = amounts(partition, text)
    widest = max(sizes)
    rows = [
        {
            "part": number,
            "series": _part(number),
            "language": lang,
            "share": share,
            "tokens": share * text[lang],
            "said": percent(share),
            "name": lang if share * text[lang] >= _NAMED * widest else "",
        }
        for number, shares in enumerate(partition.shares)
        for lang, share in sorted(shares.items(), key=lambda item: -item[1] * text[item[0]])
        if share >= _SEEN
    ]
    order = leaves(partition)
    tips = [
        alt.Tooltip("language:N"),
        alt.Tooltip("series:N", title="part"),
        alt.Tooltip("said:N", title="of its text"),
        alt.Tooltip("tokens:Q", format=".3~s"),
    ]
    bars = alt.Chart(data(rows)).mark_bar(height={"band": 0.75})
    by_language = bars.encode(
        x=alt.X(
            "share:Q",
            title="share of its text",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(format="~%", tickCount=5),
        ),
        y=alt.Y("language:N", title=None, sort=order, axis=_names()),
        color=_tint(partition, legend=True),
        order="part:Q",
        tooltip=tips,
    )
    stacked = alt.Chart(data(_ends(rows))).encode(
        y=alt.Y("series:N", title=None, sort=_domain(partition), axis=_names())
    )
    x = alt.X("from:Q", title="tokens", axis=alt.Axis(labelExpr=COUNT, tickCount=5))
    by_part = stacked.mark_bar(height={"band": 0.75}, style="halo", strokeWidth=1).encode(
        x=x, x2="to:Q", color=_tint(partition, legend=False), tooltip=tips
    )
    names = stacked.mark_text(style="within").encode(x="middle:Q", text="name:N")
    panels = [panel("What each part holds", by_part, names, height=_ROW * partition.k + 20)]
    caption = "The text that each part holds, language by language."
    if any(row["share"] < 1 - _SEEN for row in rows):
        panels.insert(0, panel("Each language's text", by_language, height=_ROW * len(order) + 20))
        caption = (
            "Left, how the text of each language is spread over the parts; right, the text that "
            "each part holds, language by language."
        )
    said = ("part", "language", "share", "tokens")
    drawn = tuple({name: row[name] for name in said} for row in rows)
    return Figure("shares", "Whose text each expert learns", caption, tuple(panels), drawn)


def _ends(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with where each piece of a part's bar begins and ends."""
    reached: dict[int, float] = {}
    found = []
    for row in rows:
        start = reached.get(row["part"], 0.0)
        end = reached[row["part"]] = start + row["tokens"]
        found.append({**row, "from": start, "to": end, "middle": (start + end) / 2})
    return found


def _matrix(partition: Partition, distances: Mapping[str, Mapping[str, float]]) -> Figure:
    """Every distance, in the order of the tree."""
    order = leaves(partition)
    part = {lang: i for i, cluster in enumerate(partition.clusters) for lang in cluster}
    rows = [
        {
            "language": a,
            "other": b,
            "distance": distances[a][b],
            "kind": "one part" if part[a] == part[b] else "two parts",
        }
        for a in order
        for b in order
        if a != b
    ]
    values = [row["distance"] for row in rows]
    written = len(order) <= _WRITTEN
    axis = alt.Axis(labelAngle=0 if written else -90, orient="top", domain=False, ticks=False)
    cells = alt.Chart(data(rows)).encode(
        x=alt.X("other:N", title=None, sort=order, axis=axis),
        y=alt.Y("language:N", title=None, sort=order, axis=_names()),
        tooltip=[alt.Tooltip("language:N"), alt.Tooltip("other:N"), alt.Tooltip("distance:Q")],
    )
    depth = alt.Opacity(
        "distance:Q",
        scale=alt.Scale(domain=[min(values), max(values)], range=[0.9, 0.08]),
        legend=None,
    )
    tint = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=["one part", "two parts"]),
        legend=alt.Legend(symbolType="square", symbolSize=90),
    )
    layers = [cells.mark_rect().encode(opacity=depth, color=tint)]
    if written:
        numbers = cells.transform_calculate(short="format(datum.distance, '.2f')")
        layers.append(numbers.mark_text(style="ink", fontSize=11).encode(text="short:N"))
    chart = panel("Distances of languages", *layers, height=_ROW * len(order) + 20)
    caption = (
        "The darker, the nearer. The languages stand in the order of the tree; pairs in one part "
        "have a colour of their own."
    )
    return Figure("distances", "The distances behind it", caption, (chart,), tuple(rows))


def _part(number: int) -> str:
    return f"part {number}"


def _domain(partition: Partition) -> list[str]:
    return [_part(number) for number in range(partition.k)]


def _tint(partition: Partition, *, legend: bool) -> alt.Color:
    shown = alt.Legend(symbolType="square", symbolSize=90, columns=4) if legend else None
    return alt.Color("series:N", scale=alt.Scale(domain=_domain(partition)), legend=shown)


def _names() -> alt.Axis:
    return alt.Axis(
        labelFontSize=13, domain=False, ticks=False, labelPadding=8, grid=False, labelLimit=110
    )
