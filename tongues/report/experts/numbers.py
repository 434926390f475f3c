"""Numbers as the page of experts says them."""

from collections.abc import Mapping

__all__ = ["between", "difference", "nats", "perplexity", "setting_name", "sign"]

Interval = Mapping[str, float]  # mean, low, high


def setting_name(setting: Mapping[str, object]) -> str:
    """A division and its routing; one model alone has no routing."""
    alone = setting["k"] == 1
    return str(setting["division"]) if alone else f"{setting['division']}, {setting['routing']}"


def sign(interval: Interval) -> int:
    """1 or -1 where the interval lies on one side of 0, else 0."""
    return (interval["low"] > 0) - (interval["high"] < 0)


def nats(value: float) -> str:
    """A loss to a thousandth of a nat."""
    return f"{value:.3f}"


def perplexity(value: float) -> str:
    """At about three figures."""
    return f"{value:,.{2 if value < 10 else 1 if value < 1000 else 0}f}"


def between(interval: Interval, *, turned: bool = False) -> str:
    """`[0.035, 0.047]`; `turned` gives the interval of the difference taken the other way."""
    ends = (interval["low"], interval["high"])
    low, high = (-ends[1], -ends[0]) if turned else ends
    return f"[{_set(low)}, {_set(high)}]"


def difference(interval: Interval, *, turned: bool = False) -> str:
    """`0.040 [0.035, 0.047]`."""
    mean = -interval["mean"] if turned else interval["mean"]
    return f"{_set(mean)} {between(interval, turned=turned)}"


def _set(value: float) -> str:
    """With a true minus, and none before nothing."""
    said = nats(value)
    return said.lstrip("-") if not said.strip("-0.") else said.replace("-", "−")
