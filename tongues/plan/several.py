"""Several budgets or accelerators in one table, a row each."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

from tongues.errors import UserError
from tongues.hardware import GPUS
from tongues.plan.plan import Plan, filled

_BUDGETS = ("flops", "hours", "cost", "target_loss", "gpu", "gpus")
# One number with a comma in it, not a list: 0,5 and 1,000 and 1,5e21 ...
_ONE = re.compile(r"^0,|,0\d|(^|,)\d{1,3},\d+([eE][+-]?\d+|[kMBGT])(,|$)")
_GROUPED = re.compile(r"\d{1,3}(,\d{3})+(\.\d+)?")
# ... and what may be either: 20,500 US$ and a loss of 2,4. Hours 24,168 are a day and a week.
_EITHER = {"flops": _GROUPED, "cost": _GROUPED, "target_loss": re.compile(r"\d,\d+")}
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
    for name, text in listed.items():
        _refuse_comma(name, text)
    several = {name: text.split(",") for name, text in listed.items() if "," in text}
    answers: list[Answer] = []
    for values in product(*several.values()) if several else ():
        budget = dict(zip(several, values, strict=True))
        try:
            answers.append((budget, make(**{**words, **budget})))
        except UserError as error:
            answers.append((budget, error))
    return answers


def _refuse_comma(name: str, text: str) -> None:
    """Refuse a number with a comma for thousands or decimals, which would be read as a list."""
    either = name in _EITHER and _EITHER[name].fullmatch(text)
    if not (either or _ONE.search(text)):
        return
    grouped = _GROUPED.fullmatch(text) and not text.startswith("0,")
    hint = f"write `{text.replace(',', '') if grouped else text.replace(',', '.', 1)}`"
    if either and not _ONE.search(text):
        hint += f", or for a list `{text.replace(',', '.0,')}`"
    where = f"--{name.replace('_', '-')}"
    what = f"`{text}` looks like one number, and a comma separates several"
    raise UserError(what, where=where, hint=hint)


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
