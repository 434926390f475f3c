"""The law of forgetting: the source language's loss through continued training, by replay."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from tongues.report.charts import (
    LOSS,
    PLAIN,
    Figure,
    data,
    label,
    log_axis,
    log_scale,
    panel,
)
from tongues.report.law_series import LawSeries

__all__ = ["forgetting_law"]

_POINTS = 80
_PANELS = 3  # starting losses shown: the lowest, the highest, and between
_LIKE = 1e-6  # starting losses nearer than this are one
_SHARES = (0.0, 0.01, 0.05, 0.2)  # drawn for a law without rows
_ROOM = 0.22  # of the tokens' span, for the labels at the lines' ends
_APART = 0.05  # least distance between two labels, as a share of the panel's height

Row = dict[str, Any]


def forgetting_law(fitted: Sequence[LawSeries]) -> Figure | None:
    """Source loss against tokens, a line for each share of replay, over what was measured."""
    found = [one for one in fitted if one.law.equation.role == "forgetting"]
    drawn = [(one, S, _rows(one, S)) for one in found for S in _starts(one)]
    rows = [row for _, _, of_start in drawn for row in of_start]
    if not rows:
        return None
    shares = sorted({row["replay"] for row in rows})
    tokens = [row["tokens"] for row in rows]
    loss = [*(S for _, S, _ in drawn), *(row["loss"] for row in rows)]
    ends = [min(tokens), max(tokens) * (max(tokens) / min(tokens)) ** _ROOM]
    x = alt.X("tokens:Q", title="Tokens trained on, all languages", scale=log_scale(ends))
    x = x.axis(log_axis(tokens, grid=False))
    scale = log_scale(loss)
    y = alt.Y("loss:Q", title=LOSS, scale=scale, axis=log_axis(loss, PLAIN))
    panels = [
        _panel(
            one.title(f"From a source loss of {S:.2f}"),
            S,
            of_start,
            shares,
            max(loss) / min(loss),
            x,
            y,
        )
        for one, S, of_start in drawn
    ]
    caption = (
        "Loss on the source language while another is learned, a line for each share of replayed "
        "source text, named at its end. The dashed line is the loss before the first step: "
        "above it is forgotten."
    )
    if any(row["kind"] == "measured" for row in rows):
        caption += " Dots were measured, lines are the law."
    title = "What replay keeps, by the law of forgetting"
    return Figure("law-of-forgetting", title, caption, tuple(panels), tuple(rows))


def _starts(one: LawSeries) -> list[float]:
    """The losses before the first step that get a panel: those with the most shares of replay."""
    if one.rows is not None:
        known = one.rows.variables
        starts = np.unique(known["S"])
        shares = np.array([len(np.unique(known["r"][known["S"] == S])) for S in starts])
        found = starts[shares == shares.max()]
        chosen = np.linspace(0, len(found) - 1, min(_PANELS, len(found))).round().astype(int)
        return found[chosen].tolist()
    return [float(np.mean(one.range["S"]))] if one.range else []


def _rows(one: LawSeries, S: float) -> list[Row]:
    shared = {"target": one.law.target, "start": S}
    measured: list[Row] = []
    shares: Sequence[float] = _SHARES
    if one.rows is not None:
        values = one.rows.variables
        same = np.flatnonzero(np.abs(values["S"] / S - 1.0) < _LIKE)
        shares = np.unique(values["r"][same]).tolist()
        measured = [
            shared
            | {
                "kind": "measured",
                "run": one.rows.runs[one.rows.run[i]],
                "replay": float(values["r"][i]),
                "tokens": float(values["D"][i]),
                "loss": float(one.rows.loss[i]),
            }
            for i in same
        ]
    tokens = np.geomspace(*one.range["D"], _POINTS)
    return measured + [
        shared | {"kind": "law", "replay": r, "tokens": float(D), "loss": float(loss)}
        for r in shares
        for D, loss in zip(tokens, one.law.loss(D=tokens, r=r, S=S), strict=True)
    ]


def _panel(
    title: str,
    S: float,
    rows: Sequence[Row],
    shares: Sequence[float],
    span: float,
    x: alt.X,
    y: alt.Y,
) -> alt.LayerChart:
    scale = alt.Scale(domain=[0, max(len(shares) - 1, 1)], range="ramp")
    tint = alt.Color("rank:Q", scale=scale, legend=None)
    ranked = [row | {"rank": shares.index(row["replay"])} for row in rows]
    lines = [row for row in ranked if row["kind"] == "law"]
    dots = alt.Chart(data(row for row in ranked if row["kind"] == "measured"))
    before = alt.Chart(data([{"loss": S}]))
    names = alt.Chart(data(_names(lines, span)))
    tips = [
        alt.Tooltip("run:N"),
        alt.Tooltip("replay:Q", format=".3~%"),
        alt.Tooltip("tokens:Q", format=".3s"),
        alt.Tooltip("loss:Q", format=".3f"),
    ]
    return panel(
        title,
        before.mark_rule(strokeDash=[4, 4], strokeWidth=1.2, style="quiet").encode(y),
        dots.mark_circle(size=22, opacity=0.75).encode(x, y, tint, tooltip=tips),
        alt.Chart(data(lines)).mark_line(strokeWidth=2.2).encode(x, y, tint),
        *label(names.encode(x, y), "text:N", align="left", dx=6),
        height=320,
    )


def _names(lines: Sequence[Row], span: float) -> list[Row]:
    """Each line's share of replay beside its end, none upon another.

    span: the factor of loss that the panel is high.
    """
    ends = {row["replay"]: row for row in lines}  # the last of each
    names: list[Row] = []
    place = -math.inf
    for row in sorted(ends.values(), key=lambda row: row["loss"]):
        place = max(math.log(row["loss"]), place + _APART * math.log(span))
        names.append(row | {"loss": math.exp(place), "text": f"{row['replay'] * 100:.3g} %"})
    return names
