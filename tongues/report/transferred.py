"""What continuing saves at equal loss through training: compute, and data it stands in for."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from tongues.laws.observed import size_order
from tongues.report.charts import COUNT, Figure, data, log_axis, log_scale, panel
from tongues.report.findings import Findings, Transfer

__all__ = ["ranked", "saved_through_training", "sized"]

Row = dict[str, Any]


def saved_through_training(findings: Findings) -> Figure | None:
    """The compute saved at equal loss and the data transferred, as the twin trains on."""
    transfers = [t for t in findings.transfers if not t.replay and t.saved]
    rows = [row for t in transfers for row in _savings(t)]
    if not rows:
        return None
    sizes = size_order(p.cpt for t in transfers for p in t.pairs)
    tint = sized(sizes)
    panels: list[alt.LayerChart] = []
    for transfer in transfers:
        own = ranked((row for row in rows if row["target"] == transfer.target), sizes)
        if own:
            panels.append(_saved(transfer.target, own, rows, tint))
            panels.append(_transferred(transfer.target, own, rows, tint))
    caption = (
        "For each loss on the way, by model size, a line a run: how much less compute CPT needed "
        "than its twin from scratch (above 0 it saves; 100 % is a loss that the source model had "
        "before its first step), and how many tokens of training from scratch that is: the data "
        "effectively transferred. Dashed: as if all had been known."
    )
    title = "Compute saved and data transferred, through training"
    return Figure("saved-through-training", title, caption, tuple(panels), tuple(rows))


def sized(sizes: Sequence[str], symbol: str = "stroke") -> alt.Color:
    """A colour for each size, from pale for the smallest to dark for the largest."""
    legend = alt.Legend(
        type="symbol",
        values=list(range(len(sizes))),
        labelExpr=f"{json.dumps(list(sizes))}[datum.value]",
        symbolType=symbol,
        symbolSize=200 if symbol == "stroke" else 70,
        columns=4 if len(sizes) > 5 else 0,  # wider ones leave a narrow page
    )
    least = 0 if len(sizes) > 1 else -1  # one alone is dark
    scale = alt.Scale(domain=[least, len(sizes) - 1], range="ramp")
    return alt.Color("rank:Q", scale=scale, legend=legend)


def ranked(rows: Iterable[Row], sizes: Sequence[str]) -> list[Row]:
    """Rows with the place of their size among all, which `sized` colours."""
    return [row | {"rank": sizes.index(row["shape"])} for row in rows]


def _saved(target: str, own: Sequence[Row], rows: Sequence[Row], tint: alt.Color) -> alt.LayerChart:
    needed, saved = [row["tokens"] for row in rows], [row["saved"] for row in rows]
    lowest, highest = max(-100.0, min(0.0, *saved)), min(100.0, max(10.0, 1.15 * max(saved)))
    x = alt.X(
        "tokens:Q",
        title="Tokens the twin from scratch had seen",
        scale=log_scale(needed),
        axis=log_axis(needed, grid=False),
    )
    scale = alt.Scale(domain=[lowest, highest], clamp=True)
    y = alt.Y("saved:Q", title="Compute saved (%)", scale=scale, axis=alt.Axis(tickCount=6))
    nothing = alt.Chart(data([{"saved": 0}])).mark_rule(strokeWidth=1.2, style="quiet")
    return panel(f"{target}, compute saved", nothing.encode(y), *_lines(own, x, y, tint))


def _transferred(
    target: str, own: Sequence[Row], rows: Sequence[Row], tint: alt.Color
) -> alt.LayerChart:
    most = max(row["tokens"] for row in rows)
    least = max(-most, min(0.0, *(row["tokens_transferred"] for row in rows)))
    counted = alt.Axis(tickCount=5, labelExpr=COUNT, grid=False)
    x = alt.X("tokens:Q", title="Tokens the twin from scratch had seen", axis=counted)
    x = x.scale(alt.Scale(domain=[0.0, 1.03 * most], nice=False))
    scale = alt.Scale(domain=[least, most], nice=False, clamp=True)
    y = alt.Y("tokens_transferred:Q", title="Tokens transferred", scale=scale)
    y = y.axis(alt.Axis(tickCount=5, labelExpr=COUNT))
    ends = [
        {"tokens": 0.0, "tokens_transferred": 0.0},
        {"tokens": most, "tokens_transferred": most},
    ]
    everything = alt.Chart(data(ends)).mark_line(strokeDash=[4, 4], strokeWidth=1.2, style="quiet")
    return panel(f"{target}, data transferred", everything.encode(x, y), *_lines(own, x, y, tint))


def _lines(own: Sequence[Row], x: alt.X, y: alt.Y, tint: alt.Color) -> tuple[alt.Chart, alt.Chart]:
    base = alt.Chart(data(own))
    return (
        base.mark_line(strokeWidth=1.6).encode(x, y, tint, alt.Detail("run:N")),
        base.mark_circle(size=24, opacity=1).encode(x, y, tint, tooltip=_TIPS),
    )


_TIPS = [
    alt.Tooltip("run:N"),
    alt.Tooltip("shape:N", title="size"),
    alt.Tooltip("loss:Q", title="at loss", format=".3f"),
    alt.Tooltip("tokens:Q", title="tokens from scratch", format=".3s"),
    alt.Tooltip("tokens_cpt:Q", title="tokens of CPT", format=".3s"),
    alt.Tooltip("saved:Q", title="saved (%)", format=".1f"),
]


def _savings(transfer: Transfer) -> list[Row]:
    return [
        {
            "target": transfer.target,
            "run": pair.cpt.name,
            "shape": pair.cpt.shape,
            "seed": pair.cpt.seed,
            "loss": point.loss,
            "tokens": point.tokens_scratch,
            "tokens_cpt": point.tokens_cpt,
            "tokens_transferred": point.transferred,
            "saved": 100 * point.share,
        }
        for pair in transfer.pairs
        for point in pair.points
        if point.tokens_scratch >= pair.scratch.learned.tokens[1]  # earlier is a guess
    ]
