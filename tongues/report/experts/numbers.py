"""Numbers as the page of experts says them."""

from collections.abc import Mapping
from typing import Any

from tongues.significance.student import LEVEL

__all__ = [
    "Interval",
    "between",
    "compared",
    "difference",
    "is_told",
    "nats",
    "perplexity",
    "setting_name",
    "short_time",
    "sign",
]

Interval = Mapping[str, Any]  # a `Difference`: the ends are None where texts are too few


def setting_name(setting: Mapping[str, object]) -> str:
    """A division and its routing; one model alone has no routing."""
    alone = setting["k"] == 1
    return str(setting["division"]) if alone else f"{setting['division']}, {setting['routing']}"


def is_told(interval: Interval) -> bool:
    """Whether there are texts enough for its ends."""
    return interval["low"] is not None


def sign(interval: Interval) -> int:
    """1 or -1 where it is told from 0, among all languages it is one of; else 0."""
    if interval["p"] is None or interval["p"] > LEVEL:
        return 0
    return 1 if interval["mean"] > 0 else -1


def nats(value: float) -> str:
    """A loss to a thousandth of a nat."""
    return f"{value:.3f}"


def short_time(seconds: float) -> str:
    """What a token takes: `17.2 µs`, `0.25 s`."""
    scale, unit = (1e6, "µs") if seconds < 1e-3 else (1e3, "ms") if seconds < 1 else (1, "s")
    return f"{seconds * scale:.3g} {unit}"


def perplexity(value: float | None) -> str:
    """At about three figures; None: over 1e299."""
    if value is None:
        return "over 1e299"
    if value >= 1e7:
        return f"{value:.1e}".replace("e+", "e")
    return f"{value:,.{2 if value < 10 else 1 if value < 1000 else 0}f}"


def between(interval: Interval, *, turned: bool = False) -> str:
    """`[0.035, 0.047]`; `turned` gives the interval of the difference taken the other way."""
    if not is_told(interval):
        return "(too few texts)"
    ends = (interval["low"], interval["high"])
    low, high = (-ends[1], -ends[0]) if turned else ends
    return f"[{_set(low)}, {_set(high)}]"


def difference(interval: Interval, *, turned: bool = False) -> str:
    """`0.040 [0.035, 0.047]`."""
    mean = -interval["mean"] if turned else interval["mean"]
    return f"{_set(mean)} {between(interval, turned=turned)}"


def compared(less: Interval | None) -> str:
    """A difference and its interval, quiet where it cannot be told from 0."""
    if less is None:
        return ""
    mean = nats(less["mean"]).replace("-", "−")
    mean = mean if sign(less) else f'<span class="quiet">{mean}</span>'
    return f'{mean}<small class="beside">{between(less)}</small>'


def _set(value: float) -> str:
    """With a true minus, and none before nothing."""
    said = nats(value)
    return said.lstrip("-") if not said.strip("-0.") else said.replace("-", "−")
