"""Numbers as the page of experts writes them."""

from html import escape

from tongues.estimate import Estimate
from tongues.pages import fixed, interval, minus, number
from tongues.report.experts.outcome import Setting

__all__ = [
    "between",
    "compared",
    "difference",
    "drawn",
    "nats",
    "perplexity",
    "setting_name",
    "short_time",
]

nats = fixed(3)  # a loss


def setting_name(setting: Setting) -> str:
    """A division and its routing; one model alone has no routing."""
    return setting.division if setting.k == 1 else f"{setting.division}, {setting.routing}"


def short_time(seconds: float) -> str:
    """What a token takes: `17.2 µs`, `0.25 s`."""
    scale, unit = (1e6, "µs") if seconds < 1e-3 else (1e3, "ms") if seconds < 1 else (1, "s")
    return f"{seconds * scale:.3g} {unit}"


def perplexity(value: float | None) -> str:
    """At about three figures; None: over 1e299."""
    if value is None or value == float("inf"):
        return "over 1e299"
    if value >= 1e7:
        return f"{value:.1e}".replace("e+", "e")
    return f"{value:,.{2 if value < 10 else 1 if value < 1000 else 0}f}"


def between(of: Estimate) -> str:
    """`[0.035, 0.047]`."""
    return interval(of, nats) or "(too few texts)"


def difference(of: Estimate) -> str:
    """`0.040 [0.035, 0.047]`."""
    return number(of, nats) if of.low is not None else f"{minus(nats(of.value))} (too few texts)"


def compared(less: Estimate | None) -> str:
    """A difference and its interval, quiet where it is not significant."""
    if less is None:
        return ""
    value = minus(nats(less.value))
    value = value if less.significant else f'<span class="quiet">{value}</span>'
    return f'{value}<small class="beside">{escape(between(less))}</small>'


def drawn(of: Estimate) -> dict[str, float | int | None]:
    """A difference in the rows of a figure."""
    return {"mean": of.value, "low": of.low, "high": of.high, "told": of.significant}
