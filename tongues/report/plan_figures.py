"""The figures of a plan: its options side by side, the range that does not matter, and replay."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from tongues.plan import FlatRange, Option, Plan
from tongues.plan.strategies import starting_loss
from tongues.quantities import show_count
from tongues.report.charts import (
    LOSS,
    SCIENTIFIC,
    Figure,
    colour,
    compact,
    data,
    label,
    log_axis,
    log_scale,
    panel,
)
from tongues.report.theme import domain, series

__all__ = ["plan_figures"]

_SHOWN = 12  # options side by side
_ROW = 58  # pixels of an option
_WIDE = 424  # pixels a name may take
_AROUND = 6.0  # how far past the flat range sizes are drawn
_POINTS = 61
_ENDLESS = 10.0  # times a value, where the bar of an interval without an end is cut
_NAMES = domain([])

Row = dict[str, Any]


def plan_figures(plan: Plan) -> list[Figure]:
    """Every figure this plan allows."""
    drawn = (_options(plan), _flat_range(plan), _replay(plan))
    return [figure for figure in drawn if figure]


def _options(plan: Plan) -> Figure:
    """The options from the best to the worst, with intervals and what they take."""
    by_loss = plan.question.target_loss is None
    ranked = sorted(plan.options, key=lambda one: one.loss if by_loss else one.flops)
    rows = [_option_row(option, rank, plan) for rank, option in enumerate(ranked)]
    shown = rows[:_SHOWN]
    taken = next(row for row in rows if row["taken"])
    if taken not in shown:
        shown[-1] = taken | {"rank": _SHOWN - 1}
    notes = ["Bars are 95 % intervals." if any("low" in row for row in shown) else ""]
    if any(row.get("endless") for row in shown):
        notes.append("Cut at ten times: in some resampled fits the loss is never reached.")
    if any(row["projection"] for row in shown):
        notes.append("Rings: a projection beyond what the law was fitted on.")
    if len(rows) > len(shown):
        notes.append(f"The best of {len(rows)} options; all are in the data.")
    if by_loss:
        said, title = f"For {compact(plan.question.flops or 0.0, 3)} FLOPs", "What the budget buys"
    else:
        said = f"To a loss of {plan.question.target_loss:g}"
        title = "What the loss costs"
    figure = _side_by_side(f"{said}, the best first", shown, by_loss)
    caption = " ".join(note for note in notes if note)
    return Figure(
        "options", title, caption or "Options from the best to the worst.", (figure,), tuple(rows)
    )


def _option_row(option: Option, rank: int, plan: Plan) -> Row:
    """One option: what is drawn, and its numbers."""
    by_loss = plan.question.target_loss is None
    taken = option is plan.recommendation.option
    ends = option.interval if by_loss else option.flops_interval
    row: Row = {
        "rank": rank,
        "option": option.name,
        "taken": taken,
        "series": series(option.way.strategy, 0.0),
        "params": option.params,
        "tokens": option.tokens,
        "flops": option.flops,
        "loss": option.loss,
        "value": option.loss if by_loss else option.flops,
        "hours": option.hours,
        "cost": option.cost,
        "compute_saved": option.compute_saved,
        "projection": bool(option.projection),
        "heading": f"{option.name}{' · recommended' if taken else ''}",
        "details": _details(option),
    }
    if ends is None:
        return row
    low, high = (min(end, _ENDLESS * row["value"]) for end in ends)
    return row | {"low": low, "high": high, "endless": math.isinf(ends[1])}


def _details(option: Option) -> str:
    """What the option takes, in a few words."""
    said = []
    if option.params and option.tokens:
        said.append(f"{show_count(option.params)} on {show_count(option.tokens)} tokens")
    if option.hours is not None:
        said.append(f"{option.hours:,.3g} h" if option.hours < 1e3 else f"{option.hours:,.0f} h")
    if option.cost is not None:
        said.append(f"${option.cost:,.0f}" if option.cost >= 10 else f"${option.cost:.2f}")
    if option.compute_saved is not None:
        saved = option.compute_saved
        said.append(f"saves {saved:.0%}" if saved >= 0 else f"costs {-saved:.0%} more")
    return " · ".join(said)


def _side_by_side(title: str, rows: Sequence[Row], by_loss: bool) -> alt.LayerChart:
    values = [row[key] for row in rows for key in ("value", "low", "high") if key in row]
    if by_loss:
        room = 0.05 * (max(values) - min(values)) or 0.01
        scale = alt.Scale(domain=[min(values) - room, max(values) + room], nice=False)
        unit, axis = LOSS, alt.Axis(tickCount=5)
    else:
        scale = log_scale(values, 0.06)
        unit, axis = "Training compute (FLOPs)", log_axis(values, SCIENTIFIC)
    x = alt.X("value:Q", title=unit, scale=scale, axis=axis)
    y = alt.Y("rank:O", axis=None)
    tint = colour(_NAMES, (row["series"] for row in rows), "circle")
    base = alt.Chart(data(rows))
    ranged = alt.Chart(data(row for row in rows if "low" in row))
    inside = alt.Chart(data(row for row in rows if not row["projection"]))
    outside = alt.Chart(data(row for row in rows if row["projection"]))
    left = alt.value(0)
    tips = [
        alt.Tooltip("option:N"),
        alt.Tooltip("loss:Q", format=".4f"),
        alt.Tooltip("flops:Q", title="FLOPs", format=".3e"),
    ]
    at: dict[str, Any] = {"x": x, "y": y, "color": tint, "tooltip": tips}
    return panel(
        title,
        ranged.mark_rule(strokeWidth=3, yOffset=17).encode(
            alt.X("low:Q", title=unit, scale=scale), alt.X2("high"), y, tint
        ),
        inside.mark_circle(size=110, opacity=1, yOffset=17).encode(**at),
        outside.mark_point(
            shape="circle", size=90, filled=True, stroke=None, opacity=1, yOffset=17
        ).encode(**at),
        outside.mark_point(
            shape="circle", size=26, filled=True, style="within", opacity=1, yOffset=17
        ).encode(x, y),
        *label(base.encode(x=left, y=y), "heading:N", align="left", limit=_WIDE, dx=2, dy=-19),
        *label(
            base.encode(x=left, y=y), "details:N", "note", align="left", limit=_WIDE, dx=2, dy=-2
        ),
        height=_ROW * len(rows),
    )


def _flat_range(plan: Plan) -> Figure | None:
    """Loss against size for the same compute, where size is a choice."""
    taken, flat = plan.recommendation.option, plan.recommendation.flat_range
    if flat is None:
        return None
    alike = [option for option in plan.options if _same_question(option, taken)]
    curves = [row for option in alike if not option.way.settled for row in _curve(option, flat)]
    marks = [
        {
            "kind": "option",
            "series": series(option.way.strategy, 0.0),
            "option": option.name,
            "params": option.params,
            "loss": option.loss,
        }
        for option in alike
    ]
    rows = [*curves, *marks]
    size, loss = [row["params"] for row in rows], [row["loss"] for row in rows]
    x = alt.X("params:Q", title="Parameters", scale=log_scale(size, 0.0))
    x = x.axis(log_axis(size, grid=False))
    room = 0.06 * (max(loss) - min(loss))
    scale = alt.Scale(domain=[min(loss) - room, max(loss) + 2 * room], nice=False)
    y = alt.Y("loss:Q", title=LOSS, scale=scale, axis=alt.Axis(tickCount=5))
    tint = colour(_NAMES, (row["series"] for row in rows))
    lines = alt.Chart(data(curves))
    dots = alt.Chart(data(marks))
    least, most = flat.params
    zone = alt.Chart(data([{"params": least, "end": most}]))
    middle = alt.Chart(data([{"params": math.sqrt(least * most), "text": "hardly matters"}]))
    figure = panel(
        f"From {show_count(least)} to {show_count(most)} parameters it hardly matters",
        zone.mark_rect(style="beyond").encode(
            x, alt.X2("end"), y=alt.value(0), y2=alt.value("height")
        ),
        lines.mark_line(strokeWidth=2.5).encode(x, y, tint, alt.Detail("option:N")),
        dots.mark_circle(size=90, opacity=1).encode(
            x, y, tint, tooltip=[alt.Tooltip("option:N"), alt.Tooltip("loss:Q", format=".4f")]
        ),
        *label(middle.encode(x, y=alt.value(0)), "text:N", "note", baseline="top", dy=6),
        *label(dots.encode(x, y), "option:N", dy=-14),
        height=300,
    )
    caption = (
        f"Loss at {compact(flat.flops, 3)} FLOPs by size, the tokens being what these leave. "
        "Shaded: sizes within half a percent of the lowest loss. Dots are options."
    )
    title = "How much the size matters"
    return Figure("flat-range", title, caption, (figure,), tuple(rows))


def _same_question(option: Option, taken: Option) -> bool:
    """Whether it spends the same compute, by a law of size, with no other share of replay."""
    return (
        option.params is not None
        and abs(option.flops / taken.flops - 1.0) < 0.01
        and option.way.replay in (0.0, taken.way.replay)
        and (option.way.strategy != taken.way.strategy or option.way.replay == taken.way.replay)
    )


def _curve(option: Option, flat: FlatRange) -> list[Row]:
    least, most = flat.params
    N = np.geomspace(least / _AROUND, most * _AROUND, _POINTS)
    losses = option.way.loss_of(N, flat.flops / (6.0 * N))
    shared = {"kind": "law", "series": series(option.way.strategy, 0.0), "option": option.name}
    return [
        shared | {"params": float(n), "loss": float(loss)}
        for n, loss in zip(N, losses, strict=True)
        if np.isfinite(loss)
    ]


def _replay(plan: Plan) -> Figure | None:
    """The loss on the source language against that on the target, along the shares of replay."""
    told = [option for option in plan.options if option.source_loss is not None]
    if len({option.way.replay for option in told}) < 2:
        return None
    rows: list[Row] = [
        {
            "option": option.name,
            "way": f"{option.way.law_name} {option.way.base.name if option.way.base else ''}",
            "replay": option.way.replay,
            "text": f"{option.way.replay * 100:.3g} %",
            "loss": option.loss,
            "source_loss": option.source_loss,
            "taken": option is plan.recommendation.option,
        }
        for option in told
    ]
    starting = starting_loss(plan.laws, plan.question)
    x = alt.X(
        "loss:Q", title="Loss on the target language (nats per token)", axis=alt.Axis(tickCount=5)
    )
    x = x.scale(_around([row["loss"] for row in rows]))
    levels = [row["source_loss"] for row in rows] + ([starting] if starting else [])
    y = alt.Y("source_loss:Q", title="Loss on the source language (nats per token)")
    y = y.scale(_around(levels)).axis(alt.Axis(tickCount=5))
    base = alt.Chart(data(rows))
    taken = alt.Chart(data(row for row in rows if row["taken"]))
    before = alt.Chart(data([{"source_loss": starting}] if starting else []))
    figure = panel(
        "Each dot a share of replay",
        before.mark_rule(strokeDash=[4, 4], strokeWidth=1.2, style="quiet").encode(y),
        base.mark_line(strokeWidth=1.2, style="quiet").encode(
            x, y, alt.Detail("way:N"), order="replay:Q"
        ),
        base.mark_circle(size=60, style="quiet", opacity=1).encode(x, y),
        taken.mark_circle(size=130, style="step", opacity=1).encode(x, y),
        *label(base.encode(x, y), "text:N", align="left", dx=8, dy=-6),
        height=300,
    )
    caption = (
        "Left is better for the target language, down for the source language; a line joins the "
        "shares of one way, the large dot is recommended."
    )
    if starting:
        caption += " Dashed: the source loss before the first step."
    title = "What replay keeps and what it costs"
    return Figure("replay", title, caption, (figure,), tuple(rows))


def _around(values: Sequence[float]) -> alt.Scale:
    room = 0.1 * (max(values) - min(values)) or 0.01
    return alt.Scale(domain=[min(values) - room, max(values) + room], nice=False)
