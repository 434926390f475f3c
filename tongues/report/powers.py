"""Power laws of compute: the envelope of the lowest losses, its law, and the points held out."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from tongues.laws import Law, envelope
from tongues.report.charts import (
    LOSS,
    PLAIN,
    SCIENTIFIC,
    Figure,
    beyond,
    colour,
    compact,
    data,
    log_axis,
    log_scale,
    panel,
)
from tongues.report.law_series import BEYOND, UNKNOWN, LawSeries, by_target, compute_known, held_out

__all__ = ["power_laws"]

_POINTS = 60

Row = dict[str, Any]


def power_laws(fitted: Sequence[LawSeries], names: Sequence[str]) -> Figure | None:
    """Loss against compute by the power laws, over the points they were fitted on."""
    targets = by_target(one for one in fitted if one.law.equation.role == "compute")
    if not targets:
        return None
    rows = [row for of_target in targets.values() for row in _rows(of_target)]
    compute, loss = [row["compute"] for row in rows], [row["loss"] for row in rows]
    x = alt.X("compute:Q", title="Training compute (FLOPs)", scale=log_scale(compute, 0.0))
    x = x.axis(log_axis(compute, SCIENTIFIC, grid=False))
    y = alt.Y("loss:Q", title=LOSS, scale=log_scale(loss), axis=log_axis(loss, PLAIN))
    panels = []
    for target, of_target in targets.items():
        own = [row for row in rows if row["target"] == target]
        panels.append(_panel(of_target, own, x, y, names))
    caption = _caption({row["kind"] for row in rows})
    title = "The lowest loss that compute buys"
    return Figure("power-laws", title, caption, tuple(panels), tuple(rows))


def _caption(kinds: set[str]) -> str:
    said = []
    if "point" in kinds:
        said.append("Small dots are all points, large ones those that no cheaper point beats.")
    said.append(
        "The line is the law of these"
        + (", the band its 95 % interval." if "band" in kinds else ".")
    )
    if "foretold" in kinds:
        said.append(
            "Rings are the points with most compute; the dashed line is the law fitted without "
            "them, which had to foretell them."
        )
    return " ".join(said)


def _rows(fitted: Sequence[LawSeries]) -> list[Row]:
    known = compute_known(fitted)
    ends = (known[0], known[1] * BEYOND) if known else UNKNOWN
    rows: list[Row] = []
    for one in fitted:
        shared = {"target": one.law.target, "series": one.series}
        rows += [shared | row for row in _points(one)]
        rows += [shared | row for row in _line(one.law, "law", *ends)]
        held = held_out(one)
        if held:
            first = float(held[1].variables["C"].min())
            rows += [shared | row for row in _line(held[0], "foretold", first, ends[1])]
    return rows


def _points(one: LawSeries) -> list[Row]:
    if one.rows is None:
        return []
    C, loss = one.rows.variables["C"], one.rows.loss
    lowest = set(envelope(C, loss).tolist())
    above = one.law.holdout.above if one.law.holdout else np.inf
    kind = {True: "held out", False: "envelope"}
    return [
        {
            "kind": kind[bool(C[i] > above)] if i in lowest else "point",
            "run": one.rows.runs[one.rows.run[i]],
            "compute": float(C[i]),
            "loss": float(loss[i]),
        }
        for i in range(len(loss))
    ]


def _line(law: Law, kind: str, least: float, most: float) -> list[Row]:
    """The law along compute, and its interval where it has draws."""
    compute = np.geomspace(least, most, _POINTS)
    rows: list[Row] = [
        {"kind": kind, "compute": float(C), "loss": float(loss)}
        for C, loss in zip(compute, law.loss(C=compute), strict=True)
    ]
    if law.draws:
        low, high = law.loss_interval(C=compute)
        rows += [
            {
                "kind": "band",
                "compute": float(C),
                "loss": float(low[i]),
                "loss_high": float(high[i]),
            }
            for i, C in enumerate(compute)
        ]
    return rows


def _formula(one: LawSeries) -> str:
    E, A, gamma = (one.law.params[name] for name in ("E", "A", "gamma"))
    power = f"{A:.3g}" if A < 1e3 else compact(A, 3)
    power += f" · C^−{gamma:.3f}"
    return f"L = {E:.3g} + {power}" if E else f"L = {power}"


def _panel(
    fitted: Sequence[LawSeries], rows: Sequence[Row], x: alt.X, y: alt.Y, names: Sequence[str]
) -> alt.LayerChart:
    tint = colour(names, (row["series"] for row in rows))
    kinds = {
        kind: alt.Chart(data(row for row in rows if row["kind"] == kind))
        for kind in ("point", "envelope", "held out", "law", "foretold", "band")
    }
    known = compute_known(fitted)
    tips = [
        alt.Tooltip("run:N"),
        alt.Tooltip("compute:Q", title="FLOPs", format=".2e"),
        alt.Tooltip("loss:Q", format=".3f"),
    ]
    formulas = [
        alt.Chart(data([{"series": one.series, "text": _formula(one)}]))
        .mark_text(
            align="left",
            baseline="bottom",
            fontSize=12.5,
            fontWeight=600,
            dx=8,
            dy=19 * (index + 1 - len(fitted)) - 8,
        )
        .encode(x=alt.value(0), y=alt.value("height"), text="text:N", color=tint)
        for index, one in enumerate(fitted)
    ]
    return panel(
        fitted[0].title("Lowest loss by compute"),
        *(beyond(x, "compute", known[1]) if known else ()),
        kinds["band"].mark_area(opacity=0.2, clip=True).encode(x, y, alt.Y2("loss_high"), tint),
        kinds["point"].mark_circle(size=14, opacity=0.4).encode(x, y, tint, tooltip=tips),
        kinds["law"].mark_line(strokeWidth=2.5).encode(x, y, tint),
        kinds["foretold"].mark_line(strokeWidth=2.2, strokeDash=[6, 4]).encode(x, y, tint),
        kinds["envelope"].mark_circle(size=40, opacity=0.9).encode(x, y, tint, tooltip=tips),
        kinds["held out"]
        .mark_point(size=48, filled=False, strokeWidth=2, opacity=1)
        .encode(x, y, tint, tooltip=tips),
        *formulas,
        height=320,
    )
