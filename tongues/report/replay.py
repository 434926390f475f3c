"""The figure of what is forgotten: both languages' losses through CPT, by replay ratio."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

import altair as alt

from tongues.laws.observed import size_order
from tongues.report.charts import (
    LOSS,
    Figure,
    colour,
    data,
    log_axis,
    log_scale,
    panel,
    points,
    tips,
)
from tongues.report.findings import Findings
from tongues.report.theme import domain

__all__ = ["forgetting"]


def forgetting(findings: Findings) -> Figure | None:
    """The losses on source and target language through CPT, with replay and without."""
    source = findings.source
    continued = [run for f in findings.forgetting for run in f.runs]
    if not source or not continued:
        return None
    largest = size_order(continued)[-1]
    shown = [run for run in continued if run.shape == largest]
    rows = [row for run in shown for lang in (source, run.target) for row in points(run, lang)]
    tokens = [row["tokens"] for row in rows]
    x = alt.X(
        "tokens:Q",
        title="Tokens trained on, all languages",
        scale=log_scale(tokens),
        axis=log_axis(tokens, grid=False),
    )
    panels = []
    for target in dict.fromkeys(run.target for run in shown):
        own = [row for row in rows if row["target"] == target]
        starts = [run.curves[source].loss[0] for run in shown if run.target == target]
        on_source, on_target = ([r for r in own if r["lang"] == lang] for lang in (source, target))
        start = fmean(float(loss) for loss in starts)
        names = domain(findings.ratios)
        title = f"Loss on {source}, while learning {target}"
        panels.append(_through_training(title, on_source, x, names, start))
        panels.append(_through_training(f"Loss on {target}", on_target, x, names))
    caption = (
        f"CPT of the largest size, {largest}; thin lines are seeds, thick ones their mean. The "
        f"dashed line is the source model before the first step: what lies above it on {source} "
        "is forgotten."
    )
    return Figure(
        "forgetting", "What replay keeps, and what it costs", caption, tuple(panels), tuple(rows)
    )


def _through_training(
    title: str,
    rows: Sequence[dict[str, Any]],
    x: alt.X,
    names: Sequence[str],
    start: float | None = None,
) -> alt.LayerChart:
    losses = [row["loss"] for row in rows] + ([] if start is None else [start])
    room = 0.06 * (max(losses) - min(losses) or 1.0)
    scale = alt.Scale(domain=[min(losses) - room, max(losses) + room], nice=False)
    axis = alt.Axis(tickCount=5)
    y = alt.Y("loss:Q", title=LOSS, scale=scale, axis=axis)
    mean = alt.Y("mean(loss):Q", title=LOSS, scale=scale, axis=axis)
    tint = colour(names, (row["series"] for row in rows))
    base = alt.Chart(data(rows))
    before = alt.Chart(data([] if start is None else [{"loss": start}]))
    return panel(
        title,
        before.mark_rule(strokeDash=[4, 4], strokeWidth=1.2, style="quiet").encode(y),
        base.mark_line(strokeWidth=1, opacity=0.45).encode(x, y, tint, alt.Detail("run:N")),
        base.mark_line(strokeWidth=2.5).encode(x, mean, tint),
        base.mark_circle(size=60, opacity=0).encode(x, y, tooltip=tips()),
    )
