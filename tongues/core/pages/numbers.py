"""How numbers are written, with their intervals, everywhere: one true minus, none before zero."""

import re
from collections.abc import Callable, Iterable
from math import isnan
from typing import Any

from tongues.core.estimate import Estimate
from tongues.core.pages.blocks import Cell

Show = Callable[[float], str]


def fixed(digits: int) -> Show:
    """Writes numbers to that many decimals."""
    return lambda value: f"{value:,.{digits}f}"


def minus(text: str) -> str:
    """A number with a true minus, and none before a zero."""
    return text.lstrip("-") if not text.strip("-0., %") else text.replace("-", "−")


def signed(value: float, show: Show) -> str:
    """With its sign; zero has none."""
    text = minus(show(value))
    return text if text.startswith("−") or not text.strip("0.,") else f"+{text}"


def interval(of: Estimate, show: Show) -> str:
    """`[0.12, 0.16]`; nothing where there is no interval."""
    if of.low is None or of.high is None:
        return ""
    return f"[{minus(show(of.low))}, {minus(show(of.high))}]"


def number(of: Estimate, show: Show) -> str:
    """`0.14 [0.12, 0.16]`."""
    value = "not known" if isnan(of.value) else minus(show(of.value))
    return f"{value} {interval(of, show)}".rstrip()


def estimate_cell(
    of: Estimate | None,
    show: Show,
    *,
    plus: bool = False,
    after: bool = False,
    quiet: bool = False,
) -> Cell:
    """The value with its interval below, or after it.

    A value that has none for a reason is followed by `too few`, which `too_few` explains below the
    table; one that is not known, by the reason.
    """
    if of is None:
        return Cell("")
    reason = of.reason if isnan(of.value) or not of.reason else "too few"
    ends = interval(of, show) or reason
    text = "not known" if isnan(of.value) else minus(show(of.value))
    text = signed(of.value, show) if plus and not isnan(of.value) else text
    below, behind = ("", ends) if after else (ends, "")
    return Cell(text, of, below, behind, quiet=quiet)


def too_few(estimates: Iterable[Estimate]) -> str:
    """What `too few` in tables of these means; empty where it is in none."""
    reasons = dict.fromkeys(of.reason.partition(", there ")[0] for of in estimates if of.reason)
    return f"Not tested, or `too few` in tables: {'; '.join(reasons)}." if reasons else ""


def value_cell(value: float | None, show: Show, **more: Any) -> Cell:
    """A number as a table shows it, nothing where it is not known; more: as `Cell` takes it."""
    return Cell("" if value is None else minus(show(value)), value, **more)


def share(part: float, whole: float) -> float:
    """The part of a whole; 0 of an empty whole."""
    return part / whole if whole else 0.0


def percent(value: float) -> str:
    """A share to a tenth of a percent, but never nothing where there is something."""
    if 0 < value < 0.0005:
        return "< 0.1 %"
    return f"{value * 100:.{0 if value >= 0.9995 else 1}f} %"


def percent_cell(part: float, whole: float = 1.0) -> Cell:
    """A part of a whole as a table shows it."""
    return Cell(percent(share(part, whole)), share(part, whole))


def compact(value: float, digits: int = 1) -> str:
    """A number as people write FLOPs, at that number of digits: 2e12."""
    base, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{float(base):g}e{int(exponent)}"


def short(value: float, figures: int = 2) -> str:
    """Few figures, but no exponent below a thousand."""
    text = f"{value:.{3 if 100 <= abs(value) < 1000 else figures}g}"
    return re.sub(r"e\+?(-?)0*", r"e\1", text)
