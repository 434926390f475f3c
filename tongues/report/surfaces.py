"""The figures of the laws: the losses they promise over size and compute, and how well they fit."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from tongues.laws import Law, allocate
from tongues.laws.targets import SETTLED, TargetLaws, settled
from tongues.report.charts import (
    SCIENTIFIC,
    Figure,
    colour,
    data,
    label,
    log_axis,
    log_scale,
    panel,
)
from tongues.report.findings import Findings
from tongues.report.theme import domain, series

__all__ = ["iso_loss", "residuals"]

_LEVELS = 4
_BEYOND = 10.0  # how far past the runs' compute the contours are drawn


def iso_loss(findings: Findings) -> Figure | None:
    """Contours of equal loss over compute and size, with each law's compute-optimal size.

    Only for laws that the runs pin down.
    """
    rows = [row for fitted in findings.laws for row in _surface(fitted, findings)]
    if not rows:
        return None
    names = domain(findings.ratios)
    compute = [row["compute"] for row in rows if row["kind"] != "contour"]
    size = [row["size"] for row in rows]
    x_axis = log_axis(compute, SCIENTIFIC, grid=False)
    x = alt.X("compute:Q", title="Training compute 6·N·D (FLOPs)", scale=log_scale(compute, 0.02))
    x = x.axis(x_axis)
    y = alt.Y("size:Q", title="Parameters", scale=log_scale(size), axis=log_axis(size))
    panels = []
    for fitted in findings.laws:
        own = [row for row in rows if row["target"] == fitted.target]
        if own:
            panels.append(_contours(fitted.target, own, x, y, names))
    caption = (
        "Along a thin line the law promises the same loss, in nats per token; the thick line is "
        "the size that reaches each loss with the least compute. Dots are where runs ended: away "
        "from them the law extrapolates. The numbers are at the lines of training from scratch."
    )
    return Figure("equal-loss", "The laws: equal loss", caption, tuple(panels), tuple(rows))


def residuals(findings: Findings) -> Figure | None:
    """How far each measured loss lies from its law."""
    rows = [row for fitted in findings.laws for row in _residuals(fitted, findings)]
    if not rows:
        return None
    names = domain(findings.ratios)
    tokens, off = [row["tokens"] for row in rows], [row["off"] for row in rows]
    reach = max(1.0, *(abs(value) for value in off)) * 1.08
    x = alt.X("tokens:Q", title="Tokens trained on", scale=log_scale(tokens))
    x = x.axis(log_axis(tokens, grid=False))
    y = alt.Y(
        "off:Q",
        title="Measured beside law (%)",
        scale=alt.Scale(domain=[-reach, reach], nice=False),
        axis=alt.Axis(tickCount=5, format="+~r"),
    )
    panels = []
    for fitted in findings.laws:
        own = [row for row in rows if row["target"] == fitted.target]
        if not own:
            continue
        nothing = alt.Chart(data([{"off": 0}])).mark_rule(strokeWidth=1.2, style="quiet")
        tint = colour(names, (row["series"] for row in own), "circle")
        dots = alt.Chart(data(own)).mark_circle(size=38, opacity=0.65)
        dots = dots.encode(x, y, tint, tooltip=_TIPS)
        panels.append(panel(fitted.target, nothing.encode(y), dots, height=220))
    caption = (
        "Each dot is an evaluation a law was fitted on (those after the first "
        f"{SETTLED * 100:.0f} % of a run), by how much its loss lies above or below that law. A "
        "trend along the tokens would mean that the law has the wrong shape."
    )
    return Figure("residuals", "The laws beside the runs", caption, tuple(panels), tuple(rows))


_TIPS = [
    alt.Tooltip("run:N"),
    alt.Tooltip("loss:Q", title="measured", format=".3f"),
    alt.Tooltip("law:Q", title="law", format=".3f"),
    alt.Tooltip("off:Q", title="difference (%)", format="+.2f"),
]


def _residuals(fitted: TargetLaws, findings: Findings) -> list[dict[str, Any]]:
    rows = []
    for strategy, law in fitted.laws.items():
        N, D, _, loss, runs = settled(findings.of(fitted.target, strategy))
        promised = law.loss(N, D)
        rows += [
            {
                "series": series(strategy, 0.0),
                "target": fitted.target,
                "run": runs[i],
                "size": float(N[i]),
                "tokens": float(D[i]),
                "loss": float(loss[i]),
                "law": float(promised[i]),
                "off": 100 * float(loss[i] / promised[i] - 1),
            }
            for i in range(len(runs))
        ]
    return rows


def _surface(fitted: TargetLaws, findings: Findings) -> list[dict[str, Any]]:
    """Contours, frontiers and the ends of runs, within a frame around the runs."""
    laws = {strategy: law for strategy, law in fitted.laws.items() if not fitted.loose(strategy)}
    if not laws:
        return []
    ends = [
        (6.0 * run.params * run.tokens, float(run.params), series(strategy, 0.0))
        for strategy in laws
        for run in findings.of(fitted.target, strategy)
    ]
    sizes = [size for _, size, _ in ends]
    least = min(compute for compute, _, _ in ends) * SETTLED
    most = max(compute for compute, _, _ in ends) * _BEYOND
    N = np.geomspace(min(sizes) / 2, max(sizes) * 4, 60)
    law = laws["scratch"]
    high = float(law.loss(np.median(sizes), least / 6 / np.median(sizes)))
    low = float(law.loss(max(sizes), most / 6 / max(sizes)))
    rows = []
    for strategy, law in laws.items():
        shared = {"target": fitted.target, "series": series(strategy, 0.0)}
        for level in np.geomspace(high, low, _LEVELS + 2)[1:-1]:
            rows += [
                shared
                | {"kind": "contour", "loss": round(float(level), 2), "compute": C, "size": n}
                for C, n in _contour(law, round(float(level), 2), N)
                if least / _BEYOND <= C <= most * _BEYOND  # the frame cuts what is outside
            ]
        best = allocate(law)
        if best:
            rows += [
                shared | {"kind": "frontier", "compute": float(C), "size": float(n)}
                for C in np.geomspace(least, most, 40)
                if N[0] <= (n := best.sizes(C)[0]) <= N[-1]
            ]
    rows += [
        {"target": fitted.target, "series": name, "kind": "run", "compute": C, "size": size}
        for C, size, name in ends
    ]
    return rows


def _contour(law: Law, loss: float, N: np.ndarray) -> list[tuple[float, float]]:
    """Compute and size where the law promises that loss; none where no tokens would do."""
    p = law.params
    left = loss - p["E"] - p["A"] / N ** p["alpha"]
    inside = left > 0
    D = (p["B"] / (N[inside] ** p.get("gamma", 0.0) * left[inside])) ** (1.0 / p["beta"])
    return [(float(6.0 * n * d), float(n)) for n, d in zip(N[inside], D, strict=True)]


def _contours(
    target: str, rows: Sequence[dict[str, Any]], x: alt.X, y: alt.Y, names: Sequence[str]
) -> alt.LayerChart:
    tint = colour(names, (row["series"] for row in rows))
    framed = [row["compute"] for row in rows if row["kind"] != "contour"]
    # each level is written once, where training from scratch has its largest size in the frame
    tops = {
        row["loss"]: row | {"text": f"{row['loss']:.2f}"}
        for row in rows
        if row["kind"] == "contour" and row["series"] == names[0]
        if min(framed) <= row["compute"] <= max(framed)
    }
    levels = alt.Chart(data(tops.values()))
    kinds = {
        kind: alt.Chart(data(row for row in rows if row["kind"] == kind))
        for kind in ("contour", "frontier", "run")
    }
    return panel(
        target,
        kinds["contour"]
        .mark_line(strokeWidth=1.1, opacity=0.7, clip=True)
        .encode(x, y, tint, alt.Detail("loss:N"), order="size:Q"),
        kinds["frontier"].mark_line(strokeWidth=3).encode(x, y, tint),
        kinds["run"].mark_circle(size=34, style="quiet", opacity=0.9).encode(x, y),
        *label(levels.encode(x, y), "text:N", dy=-2),
        height=320,
    )
