"""How well laws fit, the lowest loss by compute, and the law of forgetting over tokens."""

from collections.abc import Sequence

import numpy as np

from tongues.core.pages import Figure
from tongues.core.pages import axes as a
from tongues.core.pages.axes import Row
from tongues.core.pages.plots import alt, band, beyond, dots, line, panel, rule
from tongues.laws.rows import Rows
from tongues.report.laws.series import (
    BAND,
    BEYOND,
    UNKNOWN,
    LawSeries,
    by_target,
    compute_known,
    held_out,
    of_kind,
    points,
)
from tongues.report.words import SAID

_PANELS = 3  # starting losses shown: the lowest, the highest, and between
_LIKE = 1e-6  # starting losses nearer than this are one
_SHARES = (0.0, 0.01, 0.05, 0.2)  # of replay, drawn for a law without rows
_POINTS = 61  # of a curve; chosen: no corner is seen
_RUN_TIPS = ("run", "compute:.2e=FLOPs", "loss:.3f")
_OFF_TIPS = (
    "run",
    "size:.3s=parameters",
    "loss:.3f=measured",
    "law:.3f",
    "off:+.2f=difference (%)",
)


def residuals(fitted: Sequence[LawSeries]) -> Figure | None:
    """How far the losses that laws were fitted on are from them."""
    off = [(each, _off(each, each.rows)) for each in fitted if each.rows and each.by_size]
    rows = [row for _, own in off for row in own]
    if not rows:
        return None
    reach = max(1.0, *(abs(row["off"]) for row in rows)) * 1.08
    x = a.logs("tokens", "Tokens trained on", rows, grid=False)
    y = a.linear("off", "Measured versus law (%)", low=-reach, high=reach, format="+~r")
    tint = a.shade("size", "Parameters", [row["size"] for row in rows])
    panels: list[alt.LayerChart] = []
    for each, own in off:
        half = float(np.median([abs(row["off"]) for row in own]))
        heading = each.title(f"{each.series}, half within {half:.2g} %")
        shown = dots(own, x, y, tint, size=38, opacity=0.8, tooltip=_OFF_TIPS)
        panels.append(panel(heading, rule(y=y, dash=()), shown, height=240))
    return Figure.of("residuals", "The runs versus their laws", SAID["residuals"], panels, rows)


def _off(fitted: LawSeries, rows: Rows) -> list[Row]:
    N, D, predicted = rows.variables["N"], rows.variables["D"], fitted.law.loss(**rows.variables)
    shared: Row = {"series": fitted.series, "target": fitted.law.target}
    runs = np.array(rows.runs, object)[rows.run]
    off = 100.0 * (rows.loss / predicted - 1.0)
    return points(shared, run=runs, size=N, tokens=D, loss=rows.loss, law=predicted, off=off)


def forgetting_law(fitted: Sequence[LawSeries]) -> Figure | None:
    """Loss on a base language along the tokens, a line a share of replay, a panel a start."""
    laws = [each for each in fitted if each.law.equation.role == "forgetting" and each.range]
    drawn = [(each, S, _forgetting_rows(each, S)) for each in laws for S in _starts(each)]
    rows = [row for *_, own in drawn for row in own]
    if not rows:
        return None
    shares = sorted({row["replay"] for row in rows})
    x = a.logs("tokens", "Tokens trained on, all languages", rows, grid=False)
    tint = a.ranks([f"{share * 100:.3g} %" for share in shares])
    tips = ("run", "replay:.3~%", "tokens:.3s", "loss:.3f")
    panels: list[alt.LayerChart] = []
    for each, S, own in drawn:
        own = [row | {"rank": shares.index(row["replay"])} for row in own]
        loss = [S, *(row["loss"] for row in own)]
        y = a.logs("loss", a.LOSS, loss, a.PLAIN)
        lines = of_kind(own, "law")
        base = next((name for start, name in each.bases.items() if abs(start / S - 1) < _LIKE), "")
        start = f"from a base loss of {S:.2f}"
        shown = panel(
            each.title(f"{base}, {start}" if base else start.capitalize()),
            rule(y=y, at=S),
            dots(of_kind(own, "measured"), x, y, tint, size=22, opacity=0.75, tooltip=tips),
            line(lines, x, y, tint, width=2.2),
            height=320,
        )
        panels.append(shown)
    caption = SAID["by_replay"], SAID["dots_measured"] * bool(of_kind(rows, "measured"))
    title = "What replay keeps, by the law of forgetting"
    return Figure.of("law-of-forgetting", title, caption, panels, rows)


def _starts(fitted: LawSeries) -> list[float]:
    """The losses before the first step that get a panel: those with the most shares of replay."""
    if fitted.rows is None:
        return [float(np.mean(fitted.range["S"]))]
    known = fitted.rows.variables
    starts = np.unique(known["S"])
    shares = np.array([len(np.unique(known["r"][known["S"] == S])) for S in starts])
    most = starts[shares == shares.max()]
    return most[np.linspace(0, len(most) - 1, min(_PANELS, len(most))).round().astype(int)].tolist()


def _forgetting_rows(fitted: LawSeries, S: float) -> list[Row]:
    shared: Row = {"target": fitted.law.target, "start": S}
    rows: list[Row] = []
    shares: Sequence[float] = _SHARES
    if fitted.rows is not None:
        values = fitted.rows.variables
        same = np.flatnonzero(np.abs(values["S"] / S - 1.0) < _LIKE)
        shares = np.unique(values["r"][same]).tolist()
        runs = np.array(fitted.rows.runs, object)[fitted.rows.run[same]]
        columns = {"run": runs, "replay": values["r"][same], "tokens": values["D"][same]}
        rows = points(shared | {"kind": "measured"}, **columns, loss=fitted.rows.loss[same])
    D = np.geomspace(*fitted.range["D"], 80)
    for r in shares:
        law = shared | {"kind": "law", "replay": r}
        rows += points(law, tokens=D, loss=fitted.law.loss(D=D, r=r, S=S))
    return rows


def power_laws(fitted: Sequence[LawSeries], names: Sequence[str]) -> Figure | None:
    """Loss against compute by the power laws, over the points they were fitted on."""
    targets = by_target(each for each in fitted if each.law.equation.role == "compute")
    if not targets:
        return None
    drawn = {target: _power_rows(own) for target, own in targets.items()}
    rows = [row for own in drawn.values() for row in own]
    title, tips = "Training compute (FLOPs)", Row(tooltip=_RUN_TIPS)
    x = a.logs("compute", title, rows, a.SCIENTIFIC, margin=0.0, grid=False)
    y = a.logs("loss", a.LOSS, rows, a.PLAIN)
    panels: list[alt.LayerChart] = []
    for target, of_target in targets.items():
        own, known = drawn[target], compute_known(of_target)
        tint = a.colour(names, own)
        layers = (
            *beyond(x, known and known[1]),
            band(of_kind(own, "band"), x, y, "loss_high", tint),
            line(of_kind(own, "law"), x, y, tint),
            line(of_kind(own, "predicted"), x, y, tint, width=2.2, strokeDash=[6, 4]),
            dots(of_kind(own, "envelope"), x, y, tint, size=40, opacity=0.9, **tips),
            dots(of_kind(own, "held out"), x, y, tint, size=48, ring=True, **tips),
        )
        panels.append(panel(of_target[0].title("Lowest loss by compute"), *layers, height=320))
    kinds = {row["kind"] for row in rows}
    caption = (
        SAID["envelope"] if "envelope" in kinds else "",
        "The line is the law of these.",
        BAND if "band" in kinds else "",
        SAID["rings"] if "predicted" in kinds else "",
    )
    return Figure.of("power-laws", "The lowest loss that compute buys", caption, panels, rows)


def _power_rows(fitted: Sequence[LawSeries]) -> list[Row]:
    known = compute_known(fitted)
    C = np.geomspace(*((known[0], known[1] * BEYOND) if known else UNKNOWN), _POINTS)
    rows: list[Row] = []
    for each in fitted:
        shared: Row = {"target": each.law.target, "series": each.series}
        if each.rows is not None:
            compute, loss = each.rows.variables["C"], each.rows.loss
            runs = np.array(each.rows.runs, object)[each.rows.run]
            late = compute > (each.law.holdout.above if each.law.holdout else np.inf)
            kinds = np.where(late, "held out", "envelope")
            rows += points(shared, kind=kinds, run=runs, compute=compute, loss=loss)
        rows += points(shared | {"kind": "law"}, compute=C, loss=each.law.loss(C=C))
        if each.law.draws:
            low, high = each.law.loss_interval(C=C)
            rows += points(shared | {"kind": "band"}, compute=C, loss=low, loss_high=high)
        if held := held_out(each):
            late = np.geomspace(held[1].variables["C"].min(), C[-1], _POINTS)
            rows += points(shared | {"kind": "predicted"}, compute=late, loss=held[0].loss(C=late))
    return rows
