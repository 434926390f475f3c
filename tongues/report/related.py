"""How saving and forgetting go with what the source model knows: of the target, and in all."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import altair as alt

from tongues.laws.observed import size_order
from tongues.report.charts import COUNT, Figure, data, label, log_axis, log_scale, panel
from tongues.report.findings import Findings, Pair
from tongues.report.transferred import ranked, sized

__all__ = ["bases", "relatedness"]

Row = dict[str, Any]


def relatedness(findings: Findings) -> Figure | None:
    """Saved and forgotten against the source model's loss on the target before the first step."""
    pairs = [p for t in findings.transfers if not t.replay for p in t.pairs]
    rows = [
        _row(pair, findings) | {"apart": 100.0 * pair.apart}
        for pair in pairs
        if pair.apart is not None
    ]
    if len({row["target"] for row in rows}) < 2:
        return None
    values = [100.0, *(row["apart"] for row in rows)]
    room = 0.08 * (max(values) - min(values) or 1.0)
    scale = alt.Scale(domain=[min(values) - room, max(values) + 2.0 * room], nice=False)
    title = "Loss on the target before the first step (%)"
    x = alt.X("apart:Q", title=title, scale=scale, axis=alt.Axis(tickCount=5))
    sizes = size_order(pair.cpt for pair in pairs)
    panels = _panels(rows, x, sizes, findings.base_languages)
    caption = (
        "Each dot is a pair of runs, without replay. The source model's loss on the target, before "
        "its first step, is given in per cent of that of random weights: the lower, the nearer the "
        "target; at 100 % it knows no more than random weights, and beyond it is surer than it "
        "should be."
    )
    said = "The nearer the target: saved and forgotten"
    return Figure("relatedness", said, caption, tuple(panels), tuple(rows))


def bases(findings: Findings) -> Figure | None:
    """Saved and forgotten against how long the source model was trained."""
    rows = [
        _row(pair, findings) | {"base": pair.cpt.base_tokens / pair.cpt.params}
        for pair in findings.bases
        if pair.cpt.base_tokens
    ]
    if not rows:
        return None
    values = [row["base"] for row in rows]
    x = alt.X("base:Q", title="Tokens a parameter that the source model was trained on")
    x = x.scale(log_scale(values, 0.08)).axis(log_axis(values, COUNT, grid=False))
    sizes = size_order(pair.cpt for pair in findings.bases)
    panels: list[alt.LayerChart] = []
    for target in findings.targets:
        own = [row for row in rows if row["target"] == target]
        panels += _panels(own, x, sizes, findings.base_languages, f"{target}, ")
    caption = (
        "Each dot is a pair of runs, without replay, whose source models differ in how long they "
        "were trained. What that training cost is not counted."
    )
    title = "The longer the source model was trained"
    return Figure("bases", title, caption, tuple(panels), tuple(rows))


def _row(pair: Pair, findings: Findings) -> Row:
    rises = {
        f"rise on {lang}": float(curve.loss[-1] - curve.loss[0])
        for lang in findings.base_languages
        if (curve := pair.cpt.curves.get(lang)) and curve.tokens[0] == 0
    }
    return {
        "target": pair.cpt.target,
        "run": pair.cpt.name,
        "shape": pair.cpt.shape,
        "seed": pair.cpt.seed,
        "saved": None if pair.saved is None else 100.0 * pair.saved,
        "ahead": pair.ahead,
        **rises,
    }


def _panels(
    rows: Sequence[Row], x: alt.X, sizes: Sequence[str], known: Sequence[str], start: str = ""
) -> list[alt.LayerChart]:
    """What was saved, and what was forgotten where that is known."""
    drawn: list[alt.LayerChart] = []
    for field, title, unit in (
        ("saved", "compute saved", "Compute saved (%)"),
        *((f"rise on {lang}", f"rise of the loss on {lang}", "Nats per token") for lang in known),
    ):
        own = [row for row in rows if row.get(field) is not None]
        if own:
            y = _axis(own, field, unit)
            nothing = alt.Chart(data([{field: 0}])).mark_rule(strokeWidth=1.2, style="quiet")
            dots = alt.Chart(data(ranked(own, sizes))).mark_circle(size=60, opacity=0.9)
            dots = dots.encode(x, y, sized(sizes, "circle"), tooltip=_TIPS)
            names = () if start else _names(own, field, x, y)
            title = f"{start}{title}" if start else title[0].upper() + title[1:]
            drawn.append(panel(title, nothing.encode(y), dots, *names))
    return drawn


def _axis(rows: Sequence[Row], field: str, unit: str) -> alt.Y:
    values = [row[field] for row in rows]
    low, high = min(0.0, *values), max(0.0, *values)
    room = 0.12 * (high - low or 1.0)
    scale = alt.Scale(domain=[low - (room if low < 0 else 0.0), high + room], nice=False)
    return alt.Y(f"{field}:Q", title=unit, scale=scale, axis=alt.Axis(tickCount=5))


def _names(rows: Sequence[Row], field: str, x: alt.X, y: alt.Y) -> tuple[alt.Chart, ...]:
    """Each target's name above its dots."""
    tops: list[Row] = []
    for target in dict.fromkeys(row["target"] for row in rows):
        own = [row for row in rows if row["target"] == target]
        middle = fmean(row["apart"] for row in own)
        tops.append({"text": target, "apart": middle, field: max(row[field] for row in own)})
    return label(alt.Chart(data(tops)).encode(x, y), "text:N", dy=-13)


_TIPS = [
    alt.Tooltip("run:N"),
    alt.Tooltip("shape:N", title="size"),
    alt.Tooltip("saved:Q", title="saved (%)", format=".1f"),
]
