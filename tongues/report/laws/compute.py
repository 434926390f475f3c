"""Laws over compute: the lowest loss it buys."""

from collections.abc import Sequence

import numpy as np

from tongues.laws import envelope
from tongues.pages import Figure
from tongues.pages import axes as a
from tongues.pages.axes import Row
from tongues.pages.plots import alt, band, beyond, dots, line, panel
from tongues.pages.series import LOSS
from tongues.report.laws.series import (
    BEYOND,
    UNKNOWN,
    LawSeries,
    by_target,
    compute_known,
    held_out,
    of_kind,
    points,
)

__all__ = ["power_laws"]

_POINTS = 61
_RUN_TIPS = ("run", "compute:.2e=FLOPs", "loss:.3f")


def power_laws(fitted: Sequence[LawSeries], names: Sequence[str]) -> Figure | None:
    """Loss against compute by the power laws, over the points they were fitted on."""
    targets = by_target(each for each in fitted if each.of_compute)
    if not targets:
        return None
    drawn = {target: _power_rows(own) for target, own in targets.items()}
    rows = [row for own in drawn.values() for row in own]
    compute, loss = ([row[name] for row in rows] for name in ("compute", "loss"))
    title = "Training compute (FLOPs)"
    x = a.logs("compute", title, compute, a.SCIENTIFIC, margin=0.0, grid=False)
    y = a.logs("loss", LOSS, loss, a.PLAIN)
    panels: list[alt.LayerChart] = []
    for target, of_target in targets.items():
        own, known = drawn[target], compute_known(of_target)
        tint = a.colour(names, [row["series"] for row in own])
        tips = Row(tooltip=_RUN_TIPS)
        predicted = line(of_kind(own, "predicted"), x, y, tint, width=2.2, strokeDash=[6, 4])
        layers = (
            *beyond(x, known and known[1]),
            band(of_kind(own, "band"), x, y, "loss_high", tint),
            dots(of_kind(own, "point"), x, y, tint, size=14, opacity=0.4, **tips),
            line(of_kind(own, "law"), x, y, tint),
            predicted,
            dots(of_kind(own, "envelope"), x, y, tint, size=40, opacity=0.9, **tips),
            dots(of_kind(own, "held out"), x, y, tint, size=48, ring=True, **tips),
        )
        panels.append(panel(of_target[0].title("Lowest loss by compute"), *layers, height=320))
    kinds = {row["kind"] for row in rows}
    caption = "Small dots are all points, large ones those that no cheaper point beats. "
    caption = caption if "point" in kinds else ""
    caption += f"The line is the law of these{', the band its 95 % interval' * ('band' in kinds)}."
    if "predicted" in kinds:
        caption += (
            " Rings are the points with most compute; the dashed line is the law fitted without "
            "them, which had to predict them."
        )
    title = "The lowest loss that compute buys"
    return Figure("power-laws", title, caption, tuple(panels), tuple(rows))


def _power_rows(fitted: Sequence[LawSeries]) -> list[Row]:
    known = compute_known(fitted)
    C = np.geomspace(*((known[0], known[1] * BEYOND) if known else UNKNOWN), _POINTS)
    rows: list[Row] = []
    for each in fitted:
        shared: Row = {"target": each.law.target, "series": each.series}
        if each.rows is not None:
            compute, loss = each.rows.variables["C"], each.rows.loss
            lowest = set(envelope(compute, loss).tolist())
            above = each.law.holdout.above if each.law.holdout else np.inf
            for i, run in enumerate(each.rows.run):
                kind = "held out" if compute[i] > above else "envelope"
                row = shared | {"kind": kind if i in lowest else "point"}
                row |= {"run": each.rows.runs[run], "compute": float(compute[i])}
                rows.append(row | {"loss": float(loss[i])})
        rows += points(shared | {"kind": "law"}, compute=C, loss=each.law.loss(C=C))
        if each.law.draws:
            low, high = each.law.loss_interval(C=C)
            rows += points(shared | {"kind": "band"}, compute=C, loss=low, loss_high=high)
        if held := held_out(each):
            late = np.geomspace(held[1].variables["C"].min(), C[-1], _POINTS)
            rows += points(shared | {"kind": "predicted"}, compute=late, loss=held[0].loss(C=late))
    return rows
