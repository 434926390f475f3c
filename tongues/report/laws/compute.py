"""Laws over compute: the lowest loss it buys, and what continuing saves of it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tongues.laws import (
    Law,
    allocate,
    envelope,
    implied_saving,
    implied_saving_interval,
    saved_at_size,
)
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
from tongues.report.laws.series import (
    BEYOND,
    UNKNOWN,
    LawSeries,
    by_target,
    compute_known,
    held_out,
    pairs,
)
from tongues.report.theme import LOSS

__all__ = ["power_laws", "saved_by_laws"]

_POINTS = 61
_SIZES = 4
_FLOOR = -100.0  # percent; how far a saving falls below is told in words
_USUAL_SIZES = (1e8, 5e9)  # drawn where the range is unknown
_USUAL_TOKENS = (1e9, 1e11)


def power_laws(fitted: Sequence[LawSeries], names: Sequence[str]) -> Figure | None:
    """Loss against compute by the power laws, over the points they were fitted on."""
    targets = by_target(one for one in fitted if one.law.equation.role == "compute")
    if not targets:
        return None
    drawn = {target: _power_rows(own) for target, own in targets.items()}
    rows = [row for own in drawn.values() for row in own]
    panels = tuple(_power_panel(targets[t], drawn[t], rows, names) for t in targets)
    kinds, caption = {row["kind"] for row in rows}, ""
    if "point" in kinds:
        caption += "Small dots are all points, large ones those that no cheaper point beats. "
    ranged = ", the band its 95 % interval." if "band" in kinds else "."
    caption += f"The line is the law of these{ranged}"
    if "foretold" in kinds:
        caption += (
            " Rings are the points with most compute; the dashed line is the law fitted without "
            "them, which had to foretell them."
        )
    return Figure("power-laws", "The lowest loss that compute buys", caption, panels, tuple(rows))


def _power_rows(fitted: Sequence[LawSeries]) -> list[Row]:
    known = compute_known(fitted)
    least, most = (known[0], known[1] * BEYOND) if known else UNKNOWN
    rows: list[Row] = []
    for one in fitted:
        shared = {"target": one.law.target, "series": one.series}
        rows += [shared | row for row in _power_points(one)]
        rows += [shared | row for row in _along_compute(one.law, "law", least, most)]
        if held := held_out(one):
            first = float(held[1].variables["C"].min())
            rows += [shared | row for row in _along_compute(held[0], "foretold", first, most)]
    return rows


def _power_points(one: LawSeries) -> list[Row]:
    if one.rows is None:
        return []
    C, loss = one.rows.variables["C"], one.rows.loss
    lowest = set(envelope(C, loss).tolist())
    above = one.law.holdout.above if one.law.holdout else np.inf
    kinds = [
        ("held out" if C[i] > above else "envelope") if i in lowest else "point"
        for i in range(len(C))
    ]
    runs = [one.rows.runs[run] for run in one.rows.run]
    return [
        {"kind": kind, "run": run, "compute": c, "loss": value}
        for kind, run, c, value in zip(kinds, runs, C.tolist(), loss.tolist(), strict=True)
    ]


def _along_compute(law: Law, kind: str, least: float, most: float) -> list[Row]:
    """The law along compute, and its interval where it has draws."""
    compute = np.geomspace(least, most, _POINTS - 1)
    curve = zip(compute.tolist(), law.loss(C=compute).tolist(), strict=True)
    rows: list[Row] = [{"kind": kind, "compute": C, "loss": loss} for C, loss in curve]
    if law.draws:
        low, high = (end.tolist() for end in law.loss_interval(C=compute))
        rows += [
            {"kind": "band", "compute": C, "loss": bottom, "loss_high": top}
            for C, bottom, top in zip(compute.tolist(), low, high, strict=True)
        ]
    return rows


def _power_formula(law: Law) -> str:
    E, A, gamma = (law.params[name] for name in ("E", "A", "gamma"))
    power = f"{f'{A:.3g}' if A < 1e3 else compact(A, 3)} · C^−{gamma:.3f}"
    return f"L = {E:.3g} + {power}" if E else f"L = {power}"


def _power_panel(
    fitted: Sequence[LawSeries], rows: Sequence[Row], every: Sequence[Row], names: Sequence[str]
) -> alt.LayerChart:
    compute, loss = ([row[name] for row in every] for name in ("compute", "loss"))
    title = "Training compute (FLOPs)"
    x = logs("compute", title, compute, SCIENTIFIC, margin=0.0, grid=False)
    y = logs("loss", LOSS, loss, PLAIN)
    tint = colour(names, [row["series"] for row in rows])
    known = compute_known(fitted)
    said = ("run", "compute:.2e=FLOPs", "loss:.3f")

    def of(kind: str) -> list[Row]:
        return [row for row in rows if row["kind"] == kind]

    place = {"align": "left", "baseline": "bottom", "dx": 8}
    formulas = [
        formula(
            _power_formula(one.law),
            one.series,
            0,
            "height",
            tint,
            dy=19 * (i + 1 - len(fitted)) - 8,
            **place,
        )
        for i, one in enumerate(fitted)
    ]
    return panel(
        fitted[0].title("Lowest loss by compute"),
        *beyond(x, known and known[1]),
        band(of("band"), x, y, "loss_high", tint),
        dots(of("point"), x, y, tint, size=14, opacity=0.4, said=said),
        line(of("law"), x, y, tint),
        line(of("foretold"), x, y, tint, width=2.2, strokeDash=[6, 4]),
        dots(of("envelope"), x, y, tint, size=40, opacity=0.9, said=said),
        dots(of("held out"), x, y, tint, size=48, ring=True, said=said),
        *formulas,
        height=320,
    )


def saved_by_laws(fitted: Sequence[LawSeries]) -> Figure | None:
    """The share of compute that CPT's law saves, and the tokens it stands in for at each size."""
    rows: list[Row] = []
    panels: list[alt.LayerChart] = []
    for scratch, cpt in pairs(fitted):
        if _has_frontier(scratch.law) and _has_frontier(cpt.law):
            known = compute_known((scratch, cpt))
            drawn = (known[0], known[1] * BEYOND) if known else UNKNOWN
            share = _share_rows(scratch, cpt, drawn)
            panels.append(_share_panel(scratch, share, known))
            rows += share
        if scratch.law.equation.inverse and cpt.law.equation.inverse:
            tokens = _token_rows(scratch, cpt)
            panels.append(_token_panel(scratch, tokens))
            rows += tokens
    if not panels:
        return None
    ranged = any(name.endswith("_low") for row in rows for name in row)
    bands = "; bands are 95 % intervals" if ranged else ""
    caption = (
        f"At equal loss, by inverting both laws{bands}. In the red, continuing costs more "
        "than training from scratch; a line that leaves the panel goes on below it, and "
        "one that ends comes to losses that continuing never reaches."
    )
    title = "What continuing saves, by the laws"
    return Figure("saved-by-laws", title, caption, tuple(panels), tuple(rows))


def _has_frontier(law: Law) -> bool:
    return _is_power(law) or (law.equation.inverse is not None and allocate(law) is not None)


def _is_power(law: Law) -> bool:
    return law.equation.role == "compute"


def _share_rows(scratch: LawSeries, cpt: LawSeries, ends: tuple[float, float]) -> list[Row]:
    """The share saved, percent, along the compute of training from scratch."""
    compute = np.geomspace(*ends, _POINTS)
    columns = {"saved": implied_saving(scratch.law, cpt.law, compute)}
    if scratch.law.draws and cpt.law.draws:
        low, high = implied_saving_interval(scratch.law, cpt.law, compute)
        columns |= {"saved_low": low, "saved_high": high}
    shared = {"target": scratch.law.target, "laws": f"{scratch.law.form}, {cpt.law.form}"}
    return [
        shared
        | {"compute": float(C)}
        | {name: 100.0 * float(values[i]) for name, values in columns.items()}
        for i, C in enumerate(compute)
    ]


def _share_panel(
    scratch: LawSeries, rows: Sequence[Row], known: tuple[float, float] | None
) -> alt.LayerChart:
    compute = [row["compute"] for row in rows]
    title = "Training compute from scratch (FLOPs)"
    x = logs("compute", title, compute, SCIENTIFIC, margin=0.0, grid=False)
    low = _floor(rows)
    y = linear("saved", "Compute saved (%)", low=low - 0.04 * (100 - low), high=100.0, tickCount=6)
    where = "Envelopes" if _is_power(scratch.law) else "Best sizes"
    bottom = 3.0 * low - 100.0  # below the panel, which cuts
    bounded = [
        {
            name: max(value, bottom) if name.startswith("saved") else value
            for name, value in row.items()
        }
        for row in rows
        if np.isfinite(row["saved"])
    ]
    ends = replace(y.of("saved_low"), title="")
    said = ("compute:.2e=FLOPs", "saved:.1f=saved (%)")
    quiet = {"style": "quiet", "opacity": 0.22}
    return panel(
        scratch.title(f"{where} save {_ends(rows, known or UNKNOWN)}"),
        *_costs_more(y),
        *beyond(x, known and known[1]),
        band(bounded, x, ends, "saved_high", **quiet) if "saved_low" in rows[0] else None,
        line(bounded, x, y, style="step", clip=True).encode(tooltip=tips(*said)),
    )


def _floor(rows: Sequence[Row]) -> float:
    """Where the axis ends: at most at `_FLOOR`, unless everything lies below that."""
    curve = [row["saved"] for row in rows if np.isfinite(row["saved"])]
    if curve and max(curve) < _FLOOR:
        return min(curve)
    ends = [row[name] for row in rows for name in ("saved", "saved_low") if name in row]
    return max(_FLOOR, min(0.0, *ends))


def _ends(rows: Sequence[Row], ends: tuple[float, float]) -> str:
    """The saving at both ends of what is known."""
    near = [min(rows, key=lambda row: abs(np.log(row["compute"] / C))) for C in ends]
    return ", ".join(
        (minus(f"{row['saved']:.0f}") + " %" if np.isfinite(row["saved"]) else "never as low")
        + minus(f" at {compact(row['compute'])}")
        for row in near
    )


def _costs_more(y: Axis) -> tuple[alt.Chart | None, ...]:
    """What lies below zero, where continuing costs more."""
    zero: Row = {y.field: 0.0}
    return area(y=(y, "height"), style="loss", **zero), rule(y=y, dash=())


def _token_rows(scratch: LawSeries, cpt: LawSeries) -> list[Row]:
    """Effectively transferred tokens of some sizes, along the tokens of training from scratch."""
    known = scratch.range or {"N": _USUAL_SIZES, "D": _USUAL_TOKENS}
    sizes = np.geomspace(*known["N"], _SIZES)
    if scratch.rows is not None:
        measured = np.unique(scratch.rows.variables["N"])
        sizes = np.unique(measured[np.linspace(0, len(measured) - 1, _SIZES).round().astype(int)])
    tokens = np.linspace(*known["D"], _POINTS)
    found = saved_at_size(scratch.law, cpt.law, sizes[:, None], tokens)["transferred"]
    names = ("transferred", "transferred_low", "transferred_high")
    return [
        {"target": scratch.law.target, "size": float(N), "tokens": float(D)}
        | {
            name: float(values[i, j])
            for name, values in zip(names, found, strict=True)
            if np.isfinite(values[i, j])
        }
        for i, N in enumerate(sizes)
        for j, D in enumerate(tokens)
    ]


def _token_panel(scratch: LawSeries, rows: Sequence[Row]) -> alt.LayerChart:
    most = max(row["tokens"] for row in rows)
    known = [row for row in rows if "transferred" in row]
    low = max(-most, min([0.0, *(row["transferred"] for row in known)]))
    title = "Tokens trained on from scratch"
    x = linear("tokens", title, low=0.0, high=most, labelExpr=COUNT, grid=False)
    title = "Tokens that continuing stands in for"
    y = linear("transferred", title, low=low - 0.03 * most, high=most, labelExpr=COUNT)
    tint = shade("size", "Parameters", [row["size"] for row in rows], "stroke")
    ranged = [row for row in rows if "transferred_low" in row]
    ends = band(
        ranged,
        x,
        replace(y.of("transferred_low"), title=""),
        "transferred_high",
        tint,
        opacity=0.13,
    )
    return panel(
        scratch.title("Effectively transferred data, by size"),
        *_costs_more(y),
        ends.encode(detail="size:Q") if ranged else None,
        line(known, x, y, tint, "size", width=2.2, clip=True),
    )
