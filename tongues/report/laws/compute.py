"""Laws over compute: the lowest loss it buys, and what continuing saves of it."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from tongues.laws import allocate, envelope, implied_saving, implied_saving_interval
from tongues.pages import Figure, compact, minus
from tongues.pages import axes as a
from tongues.pages.axes import Row
from tongues.pages.plots import alt, area, band, beyond, dots, line, panel, rule
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

__all__ = ["power_laws", "saved_by_laws"]

_POINTS = 61
_FLOOR = -100.0  # percent; how far a saving falls below is said in words
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


def saved_by_laws(fitted: Sequence[LawSeries]) -> Figure | None:
    """The share of compute that CPT's law saves."""
    rows: list[Row] = []
    panels: list[alt.LayerChart] = []
    for scratch, cpt in product(fitted, fitted):
        strategies = scratch.strategy, cpt.strategy
        alike = (scratch.law.target, scratch.of_compute) == (cpt.law.target, cpt.of_compute)
        if strategies != ("scratch", "cpt") or not alike:
            continue
        inverse = scratch.law.equation.inverse and cpt.law.equation.inverse
        if scratch.of_compute or (inverse and allocate(scratch.law) and allocate(cpt.law)):
            share, drawn = _compute_saved(scratch, cpt)
            panels.append(drawn)
            rows += share
    if not panels:
        return None
    ranged = any(name.endswith("_low") for row in rows for name in row)
    caption = (
        f"At equal loss, by inverting both laws{'; bands are 95 % intervals' if ranged else ''}. "
        "In the red, continuing costs more than training from scratch; a line that leaves the "
        "panel continues below it, and one that ends comes to losses that continuing never reaches."
    )
    title = "What continuing saves, by the laws"
    return Figure("saved-by-laws", title, caption, tuple(panels), tuple(rows))


def _compute_saved(scratch: LawSeries, cpt: LawSeries) -> tuple[list[Row], alt.LayerChart]:
    """The share saved, percent, along the compute of training from scratch."""
    known = compute_known((scratch, cpt))
    ends = (known[0], known[1] * BEYOND) if known else UNKNOWN
    C = np.geomspace(*ends, _POINTS)
    columns = {"saved": implied_saving(scratch.law, cpt.law, C)}
    if ranged := bool(scratch.law.draws and cpt.law.draws):
        low, high = implied_saving_interval(scratch.law, cpt.law, C)
        columns |= {"saved_low": low, "saved_high": high}
    shared: Row = {"target": scratch.law.target, "laws": f"{scratch.law.form}, {cpt.law.form}"}
    percents = {name: 100.0 * np.asarray(values) for name, values in columns.items()}
    rows = points(shared, compute=C, **percents)
    finite = [row for row in rows if np.isfinite(row["saved"])]
    least = [row[name] for row in finite for name in columns if name != "saved_high"]
    floor = max(_FLOOR, min(0.0, *least)) if least else 0.0
    if finite and max(row["saved"] for row in finite) < _FLOOR:
        floor = min(row["saved"] for row in finite)
    title = "Training compute from scratch (FLOPs)"
    x = a.logs("compute", title, ends, a.SCIENTIFIC, margin=0.0, grid=False)
    low = floor - 0.04 * (100 - floor)
    y = a.linear("saved", "Compute saved (%)", low=low, high=100.0, tickCount=6)
    bottom = 3.0 * floor - 100.0  # below the panel, which cuts
    bounded = [
        row | {name: max(row[name], bottom) for name in columns if np.isfinite(row[name])}
        for row in finite
    ]
    near = [min(rows, key=lambda row: abs(np.log(row["compute"] / C))) for C in known or UNKNOWN]
    ends_at = ", ".join(
        (minus(f"{row['saved']:.0f}") + " %" if np.isfinite(row["saved"]) else "never as low")
        + minus(f" at {compact(row['compute'])}")
        for row in near
    )
    quiet, below = Row(style="quiet", opacity=0.22), replace(y.of("saved_low"), title="")
    curve = line(bounded, x, y, style="step", clip=True)
    drawn = panel(
        scratch.title(f"{'Envelopes' if scratch.of_compute else 'Best sizes'} save {ends_at}"),
        area(y=(y, "height"), style="loss", **Row(saved=0.0)),  # where continuing costs more
        rule(y=y, dash=()),
        *beyond(x, known and known[1]),
        band(bounded, x, below, "saved_high", **quiet) if ranged else None,
        curve.encode(tooltip=a.tips("compute:.2e=FLOPs", "saved:.1f=saved (%)")),
    )
    return rows, drawn
