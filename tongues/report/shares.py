"""Parts of a whole, counted and said."""

__all__ = ["percent", "share"]


def share(part: float, whole: float) -> float:
    """The part of a whole; nothing is no part of nothing."""
    return part / whole if whole else 0.0


def percent(value: float) -> str:
    """A share to a tenth of a percent, but never nothing where there is something."""
    if 0 < value < 0.0005:
        return "< 0.1 %"
    return f"{value * 100:.{0 if value >= 0.9995 else 1}f} %"
