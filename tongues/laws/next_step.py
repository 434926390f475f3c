"""The plan that fitted laws are good for, or which of them need more runs."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from tongues.laws.law import Law

MORE_SHAPES = "'study.shapes=[…]' 'study.budgets=[…]'"  # overrides of a study, to be filled in
_BEYOND = 10.0  # times the largest run: far enough to be of use, near enough to be known
_OF_OTHERS = ("forgetting", "repetition")  # laws that say nothing without another


def well_known(laws: Sequence[Law]) -> list[Law]:
    """The laws that a plan can be made by: of what models learn, and pinned down by their runs."""
    return [law for law in laws if law.equation.role not in _OF_OTHERS and not law.loose]


def plan_command(laws: Sequence[Law], file: Path) -> str:
    """The plan that laws in a file are good for, of a budget near their runs; empty if of none."""
    able = well_known(laws)
    if not able:
        return ""
    words = ["tongues plan --law", shlex.quote(str(file))]
    if len({law.target for law in laws if law.target}) > 1:
        words += ["--language", shlex.quote(able[-1].target)]
    if all("cpt" in (law.equation.role, law.strategy) for law in able):
        words.append("--base NAME=SIZE")
    flops = f"{_BEYOND * max(map(_most_compute, able)):.0e}".replace("e+", "e")
    return " ".join([*words, "--budget", f"'{flops} FLOPs'"])


def _most_compute(law: Law) -> float:
    """FLOPs of the largest run behind a law."""
    by_size = 6.0 * law.range.get("N", (0.0, 1e9))[1] * law.range.get("D", (0.0, 0.0))[1]
    return law.range.get("C", (0.0, by_size))[1]
