"""The figures of a plan: its options side by side, and replay."""

import math
from dataclasses import replace

import numpy as np

from tongues.pages import Figure, compact
from tongues.pages.axes import (
    LOSS,
    SCIENTIFIC,
    Axis,
    Row,
    colour,
    domain,
    linear,
    logs,
    series_name,
)
from tongues.pages.plots import dots, intervals, line, panel, rule, words
from tongues.plan.options import Option
from tongues.plan.plan import Plan
from tongues.plan.strategies import starting_loss
from tongues.quantities import show_count

_SHOWN = 12  # options side by side
_ROW = 58  # pixels of an option
_WIDE = 424  # pixels a name may take
_SHARES = (0.0, 0.01, 0.05, 0.1, 0.2, 0.5)  # of replay
_ENDLESS = 10.0  # times a value, where the bar of an interval without an end is cut
_BEFORE = " Dashed: the loss on the base language before the first step."


def plan_figures(plan: Plan) -> list[Figure]:
    """Every figure this plan allows."""
    drawn = (_options(plan), _replay(plan))
    return [figure for figure in drawn if figure]


def _options(plan: Plan) -> Figure:
    target = plan.question.target_loss
    by_loss = target is None
    ranked = sorted(plan.options, key=lambda option: option.loss if by_loss else option.flops)
    rows = [_option_row(option, rank, plan) for rank, option in enumerate(ranked)]
    shown = rows[:_SHOWN]
    taken = next(row for row in rows if row["taken"])
    if taken not in shown:
        shown[-1] = taken | {"rank": _SHOWN - 1}
    values = [row[key] for row in shown for key in ("value", "low", "high") if key in row]
    unit = "Loss (bits per byte)" if plan.question.nats_per_bit else LOSS
    x = linear("value", unit, values, room=0.05)
    if not by_loss:
        x = logs("value", "Training compute (FLOPs)", values, SCIENTIFIC, margin=0.06)
    y = Axis("rank", None, None, None, "O")
    names = Row(align="left", limit=_WIDE, dx=2)
    outside = [row for row in shown if row["projection"]]
    text, title = f"For {compact(plan.question.flops or 0.0, 3)} FLOPs", "What the budget buys"
    if not by_loss:
        text, title = (
            f"To a loss of {plan.question.show_loss(target or 0.0)}",
            "What the loss costs",
        )
    drawn = intervals(
        f"{text}, the best first",
        shown,
        x,
        y,
        colour(domain(), shown, "circle"),
        height=_ROW * len(shown),
        tooltip=("option", "loss:.4f", "flops:.3e=FLOPs"),
        size=110,
        width=3,
        lower=17,
        over=(
            dots(outside, x, y, size=26, style="within", yOffset=17),
            *words(shown, 0, y, field="heading", dy=-19, **names),
            *words(shown, 0, y, "note", field="details", dy=-2, **names),
        ),
    )
    notes = {
        "Bars are 95 % intervals.": any("low" in row for row in shown),
        "Cut at ten times: in some resampled fits the loss is never reached.": any(
            row.get("endless") for row in shown
        ),
        "Rings: a projection beyond what the law was fitted on.": bool(outside),
        f"The best of {len(rows)} options; all are in the data.": len(rows) > len(shown),
    }
    caption = " ".join(note for note, applies in notes.items() if applies)
    caption = caption or "Options from the best to the worst."
    return Figure("options", title, caption, (drawn,), tuple(rows))


def _option_row(option: Option, rank: int, plan: Plan) -> Row:
    by_loss = plan.question.target_loss is None
    taken, saved = option is plan.recommendation.option, option.compute_saved
    details: list[str] = []
    if option.params and option.tokens:
        details.append(f"{show_count(option.params)} on {show_count(option.tokens)} tokens")
    if option.hours is not None:
        details.append(f"{option.hours:,.{'3g' if option.hours < 1e3 else '0f'}} h")
    if option.cost is not None:
        details.append(f"${option.cost:,.{0 if option.cost >= 10 else 2}f}")
    if saved is not None:
        details.append(f"saves {saved:.0%}" if saved >= 0 else f"costs {-saved:.0%} more")
    names = ("params", "tokens", "flops", "loss", "hours", "cost", "compute_saved")
    row: Row = {"rank": rank, "option": option.name, "taken": taken}
    row |= {"series": series_name(option.way.strategy)}
    row |= {name: getattr(option, name) for name in names}
    scale = plan.question.nats_per_bit or 1.0
    row |= {"loss": option.loss / scale}
    row |= {"value": option.loss / scale if by_loss else option.flops}
    row |= {"projection": bool(option.projection), "details": " · ".join(details)}
    row |= {"heading": f"{option.name}{' · recommended' if taken else ''}"}
    ends = option.interval if by_loss else option.flops_interval
    if ends is None:
        return row
    ends = (ends[0] / scale, ends[1] / scale) if by_loss else ends
    low, high = (min(end, _ENDLESS * row["value"]) for end in ends)
    return row | {"low": low, "high": high, "endless": math.isinf(ends[1])}


def _replay(plan: Plan) -> Figure | None:
    forgetting, options = plan.laws.find("forgetting"), (plan.recommendation.option, *plan.options)
    taken = next((one for one in options if one.source_loss is not None), None)
    if forgetting is None or taken is None or taken.tokens is None:
        return None
    start = starting_loss(plan.laws)
    rows: list[Row] = []
    for share in sorted({*_SHARES, taken.way.replay}):
        way = replace(taken.way, replay=share)
        source = forgetting.law.loss(D=taken.tokens, r=share, S=start or math.nan)
        loss = float(way.loss(np.array(taken.flops)))
        row: Row = {"replay": share, "text": f"{share * 100:.3g} %", "loss": loss}
        rows.append(row | {"source_loss": float(source), "taken": share == taken.way.replay})
    levels = [*rows, *([start] if start else [])]
    title = "Loss on the {} language (nats per token)"
    x = linear("loss", title.format("target"), rows, room=0.1)
    y = linear("source_loss", title.format("base"), levels, room=0.1)
    drawn = panel(
        "Each dot a share of replay",
        rule(y=y, at=start or None),
        line(rows, x, y, width=1.2, order="replay", style="quiet"),
        dots(rows, x, y, style="quiet"),
        dots([row for row in rows if row["taken"]], x, y, size=130, style="step"),
        *words(rows, x, y, align="left", dx=8, dy=-6),
        height=300,
    )
    caption = (
        "Left is better for the target language, down for the base language; "
        f"the large dot is recommended.{_BEFORE if start else ''}"
    )
    title = "What replay keeps and what it costs"
    return Figure("replay", title, caption, (drawn,), tuple(rows))
