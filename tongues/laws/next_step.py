"""What to do with fitted laws: plan by them, or add the runs that they need."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tongues.laws.law import Law

if TYPE_CHECKING:
    from tongues.laws.ask import FitAnswer

__all__ = ["MORE_SHAPES", "after_fit", "plan_command"]

MORE_SHAPES = "'study.shapes=[…]' 'study.budgets=[…]'"  # overrides of a study, to be filled in
_BEYOND = 10.0  # times the largest run: far enough to be of use, near enough to be known
_MISREAD = {"not_nats", "implausible_amounts"}  # cautions of numbers of another kind
_OF_OTHERS = ("forgetting", "repetition")  # laws that say nothing without another


def after_fit(answer: "FitAnswer", place: Path, out: Path | None, more: str) -> str:
    """The command that comes after a fit to a place, or advice.

    out: where the laws are. more: the command that trains more runs of a study.
    """
    laws, law = answer.laws, answer.law
    plan = plan_command(answer.experts or laws, out) if out else ""
    if answer.experts and plan:
        return plan
    if answer.targets:
        if _well_known(laws):
            return plan or f"tongues report {shlex.quote(str(place))}"
        if any(law.form == "one-base" for law in laws):
            return "train runs of other lengths (`train.budget`), the longer the better; fit again"
        return more
    codes = {one.code for one in (*answer.cautions, *(law.warnings if law else ()))}
    if codes & _MISREAD:
        return "correct the columns as the cautions say, and fit again"
    if "mixed_experiments" in codes:
        return "fit the runs of one experiment: choose them with --where"
    if law and "lack_of_fit" in codes and not law.stack:
        return "leave out --law: other forms are weighed then, and predict together"
    if law and law.loose:
        return "add runs of other sizes and budgets, or hold parameters with --fix and --tie"
    if plan:
        return plan
    if answer.comparison:
        return "`--law NAME -o law.json` writes the law you choose"
    return "the same with `-o law.json` writes the law for `tongues plan`"


def _well_known(laws: Sequence[Law]) -> list[Law]:
    """The laws that a plan can be made by: of what models learn, and pinned down by their runs."""
    return [law for law in laws if law.equation.role not in _OF_OTHERS and not law.loose]


def plan_command(laws: Sequence[Law], file: Path) -> str:
    """The plan that laws in a file are good for, of a budget near their runs; empty if of none."""
    able = _well_known(laws)
    if not able:
        return ""
    several = len({law.target for law in laws if law.target}) > 1
    target = f" --target {shlex.quote(able[-1].target)}" if several else ""
    flops = f"{_BEYOND * max(map(_most_compute, able)):.0e}".replace("e+", "e")
    return f"tongues plan --law {shlex.quote(str(file))}{target} --flops {flops}"


def _most_compute(law: Law) -> float:
    """FLOPs of the largest run behind a law."""
    if "C" in law.range:
        return law.range["C"][1]
    return 6.0 * law.range.get("N", (0.0, 1e9))[1] * law.range["D"][1]
