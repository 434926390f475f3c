"""What laws promise that continuing saves: compute at equal loss, and tokens at each size."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from tongues.laws import (
    Law,
    allocate,
    implied_saving,
    implied_saving_interval,
    saved_at_size,
)
from tongues.report.charts import (
    COUNT,
    SCIENTIFIC,
    Figure,
    beyond,
    compact,
    data,
    log_axis,
    log_scale,
    minus,
    panel,
    shade,
)
from tongues.report.law_series import BEYOND, UNKNOWN, LawSeries, compute_known, pairs

__all__ = ["saved_by_laws"]

_POINTS = 61
_SIZES = 4
_FLOOR = -100.0  # percent; how far a saving falls below is told in words
_USUAL_SIZES = (1e8, 5e9)  # drawn where the range is unknown
_USUAL_TOKENS = (1e9, 1e11)

Row = dict[str, Any]


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
    x = alt.X("compute:Q", title="Training compute from scratch (FLOPs)")
    x = x.scale(log_scale(compute, 0.0)).axis(log_axis(compute, SCIENTIFIC, grid=False))
    low = _floor(rows)
    scale = alt.Scale(domain=[low - 0.04 * (100.0 - low), 100.0], nice=False)
    y = alt.Y("saved:Q", title="Compute saved (%)", scale=scale, axis=alt.Axis(tickCount=6))
    where = "Envelopes" if _is_power(scratch.law) else "Best sizes"
    bottom = 3.0 * low - 100.0  # below the panel, which cuts
    base = alt.Chart(data(_bounded(row, bottom) for row in rows if np.isfinite(row["saved"])))
    band = []
    if "saved_low" in rows[0]:
        ends = alt.Y("saved_low:Q", title="", scale=scale), alt.Y2("saved_high")
        band = [base.mark_area(style="quiet", opacity=0.22, clip=True).encode(x, *ends)]
    return panel(
        scratch.title(f"{where} save {_told(rows, known or UNKNOWN)}"),
        *_loss_zone(y, "saved"),
        *(beyond(x, "compute", known[1]) if known else ()),
        *band,
        base.mark_line(strokeWidth=2.5, style="step", clip=True).encode(x, y, tooltip=_TIPS),
    )


_TIPS = [
    alt.Tooltip("compute:Q", title="FLOPs", format=".2e"),
    alt.Tooltip("saved:Q", title="saved (%)", format=".1f"),
]


def _floor(rows: Sequence[Row]) -> float:
    """Where the axis ends: at most at `_FLOOR`, unless everything lies below that."""
    line = [row["saved"] for row in rows if np.isfinite(row["saved"])]
    if line and max(line) < _FLOOR:
        return min(line)
    ends = [row[name] for row in rows for name in ("saved", "saved_low") if name in row]
    return max(_FLOOR, min(0.0, *ends))


def _bounded(row: Row, bottom: float) -> Row:
    return {k: max(v, bottom) if k.startswith("saved") else v for k, v in row.items()}


def _told(rows: Sequence[Row], ends: tuple[float, float]) -> str:
    """The saving at both ends of what is known."""
    near = [min(rows, key=lambda row: abs(np.log(row["compute"] / C))) for C in ends]
    said = [
        (f"{row['saved']:.0f} %" if np.isfinite(row["saved"]) else "never as low")
        + f" at {compact(row['compute'])}"
        for row in near
    ]
    return minus(", ".join(said))


def _loss_zone(y: alt.Y, field: str) -> tuple[alt.Chart, ...]:
    """What lies below zero, where continuing costs more."""
    zero = alt.Chart(data([{field: 0.0}]))
    return (
        zero.mark_rect(style="loss").encode(
            x=alt.value(0), x2=alt.value("width"), y=y, y2=alt.value("height")
        ),
        zero.mark_rule(strokeWidth=1.2, style="quiet").encode(y),
    )


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
    values = [row["transferred"] for row in rows if "transferred" in row]
    low = max(-most, min(0.0, *values, 0.0))
    counted = alt.Axis(tickCount=5, labelExpr=COUNT, grid=False)
    x = alt.X("tokens:Q", title="Tokens trained on from scratch", axis=counted)
    x = x.scale(alt.Scale(domain=[0.0, most], nice=False))
    scale = alt.Scale(domain=[low - 0.03 * most, most], nice=False)
    y = alt.Y("transferred:Q", title="Tokens that continuing stands in for", scale=scale)
    y = y.axis(alt.Axis(tickCount=5, labelExpr=COUNT))
    base = alt.Chart(data(row for row in rows if "transferred" in row))
    tint = shade("size", "Parameters", [row["size"] for row in rows], "stroke")
    band = []
    if any("transferred_low" in row for row in rows):
        ranged = alt.Chart(data(row for row in rows if "transferred_low" in row))
        low_y = alt.Y("transferred_low:Q", title="", scale=scale)
        band = [
            ranged.mark_area(opacity=0.13, clip=True).encode(
                x, low_y, alt.Y2("transferred_high"), tint, alt.Detail("size:Q")
            )
        ]
    return panel(
        scratch.title("Effectively transferred data, by size"),
        *_loss_zone(y, "transferred"),
        *band,
        base.mark_line(strokeWidth=2.2, clip=True).encode(x, y, tint, alt.Detail("size:Q")),
    )
