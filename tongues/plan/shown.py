"""A plan as rows and sentences for a terminal."""

import math

from tongues.plan.certainty import FLAT
from tongues.plan.options import Option
from tongues.plan.plan import Plan
from tongues.quantities import show_bytes, show_count

__all__ = ["plan_rows", "plan_sentences"]


def plan_rows(plan: Plan) -> list[dict[str, str]]:
    """A row an option; columns that no option fills are left out."""
    rows = [_row(option, taken=option is plan.recommendation.option) for option in plan.options]
    filled = [column for column in rows[0] if any(row[column] for row in rows)]
    return [{column: row[column] for column in filled} for row in rows]


def plan_sentences(plan: Plan) -> list[str]:
    """What is asked, and what to do: a title and a sentence each."""
    taken = plan.recommendation
    said = [f"advice: {taken.why}", f"how sure: {taken.sure}"]
    if taken.flat_range:
        (least, most), (fewest, longest) = taken.flat_range.params, taken.flat_range.tokens
        said.append(
            f"does not matter: from {show_count(least)} parameters on {show_count(longest)} tokens "
            f"to {show_count(most)} on {show_count(fewest)}, the same FLOPs come within "
            f"{FLAT:.1%} of that loss; a smaller model is cheaper to use."
        )
    if taken.replay:
        said.append(f"replay: {taken.replay}")
    shown = [option for option in plan.options if not option.way.replay or option is taken.option]
    return said + [f"note: {o.name}: {note}." for o in shown for note in o.notes]


def _row(option: Option, taken: bool) -> dict[str, str]:
    loss = f"{option.loss:.4g}"
    if option.interval:
        loss += f" [{option.interval[0]:.4g}, {option.interval[1]:.4g}]"
    return {
        "": "→" if taken else " ",
        "option": option.name,
        "parameters": _count(option.params),
        "tokens": _count(option.tokens),
        "loss": loss,
        "source loss": "" if option.source_loss is None else f"{option.source_loss:.4g}",
        "FLOPs": _compute(option),
        "epochs": "" if option.epochs is None else f"{option.epochs:,.4g}",
        "hours": "" if option.hours is None else _amount(option.hours),
        "US$": "" if option.cost is None else _amount(option.cost),
        "memory/GPU": "" if option.memory_per_gpu is None else show_bytes(option.memory_per_gpu),
        "compute saved": _saved(option),
        "projection": "yes" if option.projection else "",
    }


def _compute(option: Option) -> str:
    """The FLOPs, and between what they lie where a loss was asked for."""
    if option.flops_interval is None:
        return f"{option.flops:.3g}"
    low, high = (f"{end:.3g}" if math.isfinite(end) else "∞" for end in option.flops_interval)
    return f"{option.flops:.3g} [{low}, {high}]"


def _saved(option: Option) -> str:
    """The share of compute saved, or how many times as much it takes."""
    if option.compute_saved is None:
        return ""
    ends = option.compute_saved_interval
    between = f" [{ends[0]:.0%}, {ends[1]:.0%}]" if ends else ""
    if option.compute_saved < 0:
        return f"none, {1 - option.compute_saved:.3g} times as much"
    return f"{option.compute_saved:.1%}{between}"


def _count(number: float | None) -> str:
    return "" if number is None else show_count(number)


def _amount(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
