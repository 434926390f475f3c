"""The figure over compute: the losses it buys, with and without a model to continue from."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from tongues.laws.targets import TargetLaws
from tongues.report.charts import (
    HEIGHT,
    LOSS,
    PLAIN,
    SCIENTIFIC,
    Figure,
    colour,
    data,
    label,
    log_axis,
    log_scale,
    panel,
    points,
    tips,
)
from tongues.report.findings import Findings, Pair
from tongues.report.theme import domain, series

__all__ = ["loss_against_compute"]

_COMPUTE = "Training compute (FLOPs)"


def loss_against_compute(findings: Findings) -> Figure | None:
    """Every run of both strategies on log-log axes, their envelopes, and one size alone."""
    rows = [
        row
        for target in findings.targets
        for strategy in ("scratch", "cpt")
        for run in findings.of(target, strategy)
        for row in points(run)
    ]
    if not rows:
        return None
    x, y = _axes(rows)
    names = domain(findings.ratios)
    panels = [
        _all_runs(fitted, [row for row in rows if row["target"] == fitted.target], x, y, names)
        for fitted in findings.laws
    ]
    ended = any("laws" in fitted.by_ends for fitted in findings.laws)
    caption = (
        "Each thin line is a run, larger sizes further right; dashed, the power law along the "
        f"lowest {'final ' if ended else ''}losses of all sizes."
    )
    alone = _clearest_pair(findings)
    if alone:
        panels.append(_one_size(alone, names))
        caption += " Last panel: one size alone, with what CPT saved at the same loss."
    laws = [row for fitted in findings.laws for row in _law_rows(fitted)]
    title = "Loss against compute"
    return Figure("loss-against-compute", title, caption, tuple(panels), (*rows, *laws))


def _axes(rows: Sequence[dict[str, Any]]) -> tuple[alt.X, alt.Y]:
    compute, loss = [row["compute"] for row in rows], [row["loss"] for row in rows]
    x_axis = log_axis(compute, SCIENTIFIC, grid=False)
    return (
        alt.X("compute:Q", title=_COMPUTE, scale=log_scale(compute), axis=x_axis),
        alt.Y("loss:Q", title=LOSS, scale=log_scale(loss), axis=log_axis(loss, PLAIN)),
    )


def _all_runs(
    fitted: TargetLaws, rows: Sequence[dict[str, Any]], x: alt.X, y: alt.Y, names: Sequence[str]
) -> alt.LayerChart:
    tint = colour(names, (row["series"] for row in rows))
    base, law = alt.Chart(data(rows)), alt.Chart(data(_law_rows(fitted)))
    formulas = [
        alt.Chart(data([{"series": series(strategy, 0.0), "text": _formula(power.params)}]))
        .mark_text(align="right", baseline="top", fontSize=12.5, fontWeight=600)
        .encode(
            x=alt.value("width"),
            y=alt.value(2 + 19 * index),
            text="text:N",
            color=tint,
        )
        for index, (strategy, power) in enumerate(fitted.powers.items())
    ]
    return panel(
        fitted.target,
        base.mark_line(strokeWidth=1.1, opacity=0.5).encode(x, y, tint, alt.Detail("run:N")),
        law.mark_line(strokeWidth=2.5, strokeDash=[7, 4]).encode(x, y, tint),
        base.mark_circle(size=60, opacity=0).encode(x, y, tooltip=tips()),
        *formulas,
    )


def _formula(params: dict[str, float]) -> str:
    return f"L = {params['A']:.3g} · C^−{params['gamma']:.3f}"


def _law_rows(fitted: TargetLaws) -> list[dict[str, Any]]:
    """The two ends of each envelope law; it is straight on log-log axes."""
    return [
        {
            "series": series(strategy, 0.0),
            "target": fitted.target,
            "run": "power law of the envelope",
            "compute": compute,
            "loss": float(power.loss(C=compute)),
        }
        for strategy, power in fitted.powers.items()
        for compute in power.range["C"]
    ]


def _clearest_pair(findings: Findings) -> Pair | None:
    """The largest size on the target where most was saved, where CPT got to the twin's loss."""
    pairs = [p for t in findings.transfers if not t.replay for p in t.pairs]
    usable = [pair for pair in pairs if pair.reached and pair.saved and pair.saved > 0]
    return max(usable, key=lambda pair: (pair.cpt.params, pair.saved), default=None)


def _one_size(pair: Pair, names: Sequence[str]) -> alt.LayerChart:
    """The two runs of a pair, and the step between them at the loss of scratch's end."""
    rows = [row for run in (pair.scratch, pair.cpt) for row in points(run)]
    x, y = _axes(rows)
    tint = colour(names, (row["series"] for row in rows))
    base = alt.Chart(data(rows))
    last = pair.points[-1]
    ends = [{"compute": c, "loss": last.loss} for c in (last.compute_cpt, last.compute_scratch)]
    step = alt.Chart(data(ends))
    note = alt.Chart(data([ends[0] | {"text": f"{100 * (pair.saved or 0):.0f} % saved"}]))
    return panel(
        f"{pair.cpt.target}, {pair.cpt.shape} alone",
        base.mark_line(strokeWidth=2.5).encode(x, y, tint),
        base.mark_circle(size=30, opacity=1).encode(x, y, tint, tooltip=tips()),
        step.mark_line(strokeWidth=2.2, style="step").encode(x, y),
        step.mark_circle(size=36, opacity=1, style="step").encode(x, y),
        *label(note.encode(x, y), "text:N", align="right", dx=-6, dy=13),
        height=HEIGHT,
    )
