"""The figures of a plan: its options side by side, the range that does not matter, and replay."""

import math
from collections.abc import Sequence

import numpy as np

from tongues.pages import Figure, compact
from tongues.pages.axes import SCIENTIFIC, Axis, Row, colour, linear, logs
from tongues.pages.plots import alt, area, dots, intervals, line, panel, rule, words
from tongues.plan import FlatRange, Option, Plan
from tongues.plan.strategies import starting_loss
from tongues.quantities import show_count
from tongues.report.theme import LOSS, domain, series

__all__ = ["plan_figures"]

_SHOWN = 12  # options side by side
_ROW = 58  # pixels of an option
_WIDE = 424  # pixels a name may take
_AROUND = 6.0  # how far past the flat range sizes are drawn
_POINTS = 61
_ENDLESS = 10.0  # times a value, where the bar of an interval without an end is cut
_NAMES = domain([])


def plan_figures(plan: Plan) -> list[Figure]:
    """Every figure this plan allows."""
    drawn = (_options(plan), _flat_range(plan), _replay(plan))
    return [figure for figure in drawn if figure]


def _options(plan: Plan) -> Figure:
    """The options from the best to the worst, with intervals and what they take."""
    target = plan.question.target_loss
    ranked = sorted(plan.options, key=lambda one: one.loss if target is None else one.flops)
    rows = [_option_row(option, rank, plan) for rank, option in enumerate(ranked)]
    shown = rows[:_SHOWN]
    taken = next(row for row in rows if row["taken"])
    if taken not in shown:
        shown[-1] = taken | {"rank": _SHOWN - 1}
    notes = {
        "Bars are 95 % intervals.": any("low" in row for row in shown),
        "Cut at ten times: in some resampled fits the loss is never reached.": any(
            row.get("endless") for row in shown
        ),
        "Rings: a projection beyond what the law was fitted on.": any(
            row["projection"] for row in shown
        ),
        f"The best of {len(rows)} options; all are in the data.": len(rows) > len(shown),
    }
    if target is None:
        said, title = f"For {compact(plan.question.flops or 0.0, 3)} FLOPs", "What the budget buys"
    else:
        said, title = f"To a loss of {target:g}", "What the loss costs"
    figure = _side_by_side(f"{said}, the best first", shown, by_loss=target is None)
    caption = " ".join(note for note, told in notes.items() if told)
    caption = caption or "Options from the best to the worst."
    return Figure("options", title, caption, (figure,), tuple(rows))


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
    if (saved := option.compute_saved) is not None:
        said.append(f"saves {saved:.0%}" if saved >= 0 else f"costs {-saved:.0%} more")
    return " · ".join(said)


def _side_by_side(title: str, rows: Sequence[Row], *, by_loss: bool) -> alt.LayerChart:
    values = [row[key] for row in rows for key in ("value", "low", "high") if key in row]
    x = logs("value", "Training compute (FLOPs)", values, SCIENTIFIC, margin=0.06)
    if by_loss:
        x = linear("value", LOSS, values, room=0.05)
    y = Axis("rank", None, None, None, "O")
    said = ("option", "loss:.4f", "flops:.3e=FLOPs")
    names = {"align": "left", "limit": _WIDE, "dx": 2}
    outside = [row for row in rows if row["projection"]]
    return intervals(
        title,
        rows,
        x,
        y,
        colour(_NAMES, [row["series"] for row in rows], "circle"),
        height=_ROW * len(rows),
        said=said,
        size=110,
        width=3,
        lower=17,
        over=(
            dots(outside, x, y, size=26, style="within", yOffset=17),
            *words(rows, 0, y, field="heading", dy=-19, **names),
            *words(rows, 0, y, "note", field="details", dy=-2, **names),
        ),
    )


def _flat_range(plan: Plan) -> Figure | None:
    """Loss against size for the same compute, where size is a choice."""
    taken, flat = plan.recommendation.option, plan.recommendation.flat_range
    if flat is None:
        return None
    alike = [option for option in plan.options if _same_question(option, taken)]
    curves = [row for option in alike if not option.way.settled for row in _curve(option, flat)]
    marks: list[Row] = [
        {"kind": "option", "series": series(option.way.strategy, 0.0), "option": option.name}
        | {"params": option.params, "loss": option.loss}
        for option in alike
    ]
    rows = [*curves, *marks]
    x = logs("params", "Parameters", [row["params"] for row in rows], margin=0.0, grid=False)
    y = linear("loss", LOSS, [row["loss"] for row in rows], room=(0.06, 0.12))
    tint = colour(_NAMES, [row["series"] for row in rows])
    least, most = flat.params
    middle: list[Row] = [{"params": math.sqrt(least * most), "text": "hardly matters"}]
    figure = panel(
        f"From {show_count(least)} to {show_count(most)} parameters it hardly matters",
        area((x, x.of("end")), params=least, end=most),
        line(curves, x, y, tint, "option"),
        dots(marks, x, y, tint, size=90, said=("option", "loss:.4f")),
        *words(middle, x, 0, "note", baseline="top", dy=6),
        *words(marks, x, y, field="option", dy=-14),
        height=300,
    )
    caption = (
        f"Loss at {compact(flat.flops, 3)} FLOPs by size, the tokens being what these leave. "
        "Shaded: sizes within half a percent of the lowest loss. Dots are options."
    )
    return Figure("flat-range", "How much the size matters", caption, (figure,), tuple(rows))


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
    levels = [row["source_loss"] for row in rows] + ([starting] if starting else [])
    title = "Loss on the {} language (nats per token)"
    x = linear("loss", title.format("target"), [row["loss"] for row in rows], room=0.1)
    y = linear("source_loss", title.format("source"), levels, room=0.1)
    figure = panel(
        "Each dot a share of replay",
        rule(y=y, at=starting or None),
        line(rows, x, y, by="way", width=1.2, order="replay", style="quiet"),
        dots(rows, x, y, style="quiet"),
        dots([row for row in rows if row["taken"]], x, y, size=130, style="step"),
        *words(rows, x, y, align="left", dx=8, dy=-6),
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
