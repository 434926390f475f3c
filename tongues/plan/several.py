"""Several budgets or accelerators in one table, a row each."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from tongues.errors import UserError
from tongues.hardware import GPUS
from tongues.plan.plan import Plan, filled

__all__ = ["budget_rows", "plan_each"]

_BUDGETS = ("flops", "hours", "cost", "target_loss", "gpu", "gpus")
_TAKEN = (
    "parameters",
    "tokens",
    "epochs",
    "loss",
    "bits/byte",
    "FLOPs",
    "hours",
    "US$",
    "kWh",
    "kg CO₂",
)

Answer = tuple[dict[str, str], Plan | UserError]


def plan_each(make: Callable[..., Plan], words: Mapping[str, Any]) -> list[Answer]:
    """A plan for every combination of budgets that are lists, as `24,72`, or why there is none.

    `all` as GPU is all of them. Nothing where no budget is a list.
    """
    listed = {name: str(words[name]) for name in _BUDGETS if words.get(name) is not None}
    if listed.get("gpu") == "all":
        listed["gpu"] = ",".join(GPUS)
    several = {name: text.split(",") for name, text in listed.items() if "," in text}
    answers: list[Answer] = []
    for values in product(*several.values()) if several else ():
        budget = dict(zip(several, values, strict=True))
        try:
            answers.append((budget, make(**{**words, **budget})))
        except UserError as error:
            answers.append((budget, error))
    return answers


def budget_rows(answers: Sequence[Answer]) -> list[dict[str, str]]:
    """A row for each: the budget and what to take for it, or why there is nothing."""
    rows: list[dict[str, str]] = []
    for budget, answer in answers:
        row = {f"--{name.replace('_', '-')}": value for name, value in budget.items()}
        if isinstance(answer, UserError):
            rows.append(row | {"advice": f"none ({answer.code or answer.what})"})
            rows[-1] |= dict.fromkeys(_TAKEN, "")
            continue
        taken = answer.recommendation
        cells = next(cells for cells in answer.rows() if cells[""].strip())
        advice = taken.option.name if taken.decided else f"not decided, first {taken.option.name}"
        rows.append(row | {"advice": advice} | {name: cells.get(name, "") for name in _TAKEN})
    return filled(rows)
