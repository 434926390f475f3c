"""Laws over compute: the lowest loss it buys, and what continuing saves of it."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from tongues.laws import allocate, envelope, implied_saving, implied_saving_interval, saved_at_size
from tongues.pages import Figure, compact, minus
from tongues.pages.axes import (
    COUNT,
    PLAIN,
    SCIENTIFIC,
    Axis,
    Row,
    colour,
    linear,
    logs,
    shade,
    tips,
)
from tongues.pages.plots import alt, area, band, beyond, dots, formula, line, panel, rule
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
_SIZES = 4
_FLOOR = -100.0  # percent; how far a saving falls below is said in words
_USUAL = {"N": (1e8, 5e9), "D": (1e9, 1e11)}  # drawn where the range is unknown
_RUN_TIPS = ("run", "compute:.2e=FLOPs", "loss:.3f")


def power_laws(fitted: Sequence[LawSeries], names: Sequence[str]) -> Figure | None:
    """Loss against compute by the power laws, over the points they were fitted on."""
    targets = by_target(each for each in fitted if each.of_compute)
    if not targets:
        return None
    drawn = {target: _power_rows(own) for target, own in targets.items()}
    rows = [row for own in drawn.values() for row in own]
    panels = tuple(_power_panel(own, drawn[t], rows, names) for t, own in targets.items())
    kinds = {row["kind"] for row in rows}
    caption = "Small dots are all points, large ones those that no cheaper point beats. "
    caption = caption if "point" in kinds else ""
    caption += f"The line is the law of these{', the band its 95 % interval' * ('band' in kinds)}."
    if "predicted" in kinds:
        caption += (
            " Rings are the points with most compute; the dashed line is the law fitted without "
            "them, which had to predict them."
        )
    return Figure("power-laws", "The lowest loss that compute buys", caption, panels, tuple(rows))


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


def _power_panel(
    fitted: Sequence[LawSeries], rows: Sequence[Row], every: Sequence[Row], names: Sequence[str]
) -> alt.LayerChart:
    compute, loss = ([row[name] for row in every] for name in ("compute", "loss"))
    title = "Training compute (FLOPs)"
    x = logs("compute", title, compute, SCIENTIFIC, margin=0.0, grid=False)
    y = logs("loss", LOSS, loss, PLAIN)
    tint = colour(names, [row["series"] for row in rows])
    known = compute_known(fitted)
    formulas: list[alt.Chart] = []
    for i, each in enumerate(fitted):
        E, A, gamma = (each.law.params[name] for name in ("E", "A", "gamma"))
        power = f"{f'{A:.3g}' if A < 1e3 else compact(A, 3)} · C^−{gamma:.3f}"
        text = f"L = {E:.3g} + {power}" if E else f"L = {power}"
        place = Row(align="left", baseline="bottom", dx=8, dy=19 * (i + 1 - len(fitted)) - 8)
        formulas.append(formula(text, each.series, 0, "height", tint, **place))
    dashed = Row(width=2.2, strokeDash=[6, 4])
    return panel(
        fitted[0].title("Lowest loss by compute"),
        *beyond(x, known and known[1]),
        band(of_kind(rows, "band"), x, y, "loss_high", tint),
        dots(of_kind(rows, "point"), x, y, tint, size=14, opacity=0.4, said=_RUN_TIPS),
        line(of_kind(rows, "law"), x, y, tint),
        line(of_kind(rows, "predicted"), x, y, tint, **dashed),
        dots(of_kind(rows, "envelope"), x, y, tint, size=40, opacity=0.9, said=_RUN_TIPS),
        dots(of_kind(rows, "held out"), x, y, tint, size=48, ring=True, said=_RUN_TIPS),
        *formulas,
        height=320,
    )


def saved_by_laws(fitted: Sequence[LawSeries]) -> Figure | None:
    """The share of compute that CPT's law saves, and the tokens it replaces at each size."""
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
        if inverse:
            tokens, drawn = _tokens_transferred(scratch, cpt)
            panels.append(drawn)
            rows += tokens
    if not panels:
        return None
    ranged = any(name.endswith("_low") for row in rows for name in row)
    caption = (
        f"At equal loss, by inverting both laws{'; bands are 95 % intervals' if ranged else ''}. "
        "In the red, continuing costs more than training from scratch; a line that leaves the "
        "panel goes on below it, and one that ends comes to losses that continuing never reaches."
    )
    title = "What continuing saves, by the laws"
    return Figure("saved-by-laws", title, caption, tuple(panels), tuple(rows))


def _costs_more(y: Axis) -> tuple[alt.Chart | None, ...]:
    """What is below zero, where continuing costs more."""
    return area(y=(y, "height"), style="loss", **Row({y.field: 0.0})), rule(y=y, dash=())


def _compute_saved(scratch: LawSeries, cpt: LawSeries) -> tuple[list[Row], alt.LayerChart]:
    """The share saved, percent, along the compute of training from scratch."""
    known = compute_known((scratch, cpt))
    ends = (known[0], known[1] * BEYOND) if known else UNKNOWN
    C = np.geomspace(*ends, _POINTS)
    columns = {"saved": implied_saving(scratch.law, cpt.law, C)}
    if scratch.law.draws and cpt.law.draws:
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
    x = logs("compute", title, ends, SCIENTIFIC, margin=0.0, grid=False)
    bottom = 3.0 * floor - 100.0  # below the panel, which cuts
    bounded = [
        row | {name: max(row[name], bottom) for name in columns if np.isfinite(row[name])}
        for row in finite
    ]
    title = "Compute saved (%)"
    y = linear("saved", title, low=floor - 0.04 * (100 - floor), high=100.0, tickCount=6)
    near = [min(rows, key=lambda row: abs(np.log(row["compute"] / C))) for C in known or UNKNOWN]
    said = ", ".join(
        (minus(f"{row['saved']:.0f}") + " %" if np.isfinite(row["saved"]) else "never as low")
        + minus(f" at {compact(row['compute'])}")
        for row in near
    )
    where = "Envelopes" if scratch.of_compute else "Best sizes"
    quiet = Row(style="quiet", opacity=0.22)
    ranged = "saved_low" in columns
    low_axis = replace(y.of("saved_low"), title="")
    curve = line(bounded, x, y, style="step", clip=True)
    drawn = panel(
        scratch.title(f"{where} save {said}"),
        *_costs_more(y),
        *beyond(x, known and known[1]),
        band(bounded, x, low_axis, "saved_high", **quiet) if ranged else None,
        curve.encode(tooltip=tips("compute:.2e=FLOPs", "saved:.1f=saved (%)")),
    )
    return rows, drawn


def _tokens_transferred(scratch: LawSeries, cpt: LawSeries) -> tuple[list[Row], alt.LayerChart]:
    """Effectively transferred tokens of some sizes, along the tokens of training from scratch."""
    known = scratch.range or _USUAL
    sizes = np.geomspace(*known["N"], _SIZES)
    if scratch.rows is not None:
        measured = np.unique(scratch.rows.variables["N"])
        sizes = np.unique(measured[np.linspace(0, len(measured) - 1, _SIZES).round().astype(int)])
    D = np.linspace(*known["D"], _POINTS)
    values = saved_at_size(scratch.law, cpt.law, sizes[:, None], D)["transferred"]
    names = ("transferred", "transferred_low", "transferred_high")
    rows: list[Row] = []
    for i, N in enumerate(sizes.tolist()):
        columns = {name: of_size[i] for name, of_size in zip(names, values, strict=True)}
        own = points({"target": scratch.law.target, "size": N}, tokens=D, **columns)
        rows += [{k: v for k, v in row.items() if k == "target" or np.isfinite(v)} for row in own]
    most = max(row["tokens"] for row in rows)
    shown = [row for row in rows if "transferred" in row]
    low = max(-most, min([0.0, *(row["transferred"] for row in shown)]))
    x = linear("tokens", "Tokens from scratch", low=0.0, high=most, labelExpr=COUNT, grid=False)
    title = "Tokens that continuing replaces"
    y = linear("transferred", title, low=low - 0.03 * most, high=most, labelExpr=COUNT)
    tint = shade("size", "Parameters", sizes.tolist(), "stroke")
    ranged = [row for row in rows if "transferred_low" in row]
    below = replace(y.of("transferred_low"), title="")
    ends = band(ranged, x, below, "transferred_high", tint, opacity=0.13).encode(detail="size:Q")
    drawn = panel(
        scratch.title("Effectively transferred data, by size"),
        *_costs_more(y),
        ends if ranged else None,
        line(shown, x, y, tint, "size", width=2.2, clip=True),
    )
    return rows, drawn
