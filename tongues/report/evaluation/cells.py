"""Numbers as the tables of an evaluation show them."""

from html import escape

from tongues.evaluate.numbers import Show, hundredths
from tongues.significance import Chance, Difference, Measured, Signs
from tongues.significance.student import LEVEL
from tongues.significance.words import value_in_words

__all__ = ["between", "chance_cell", "difference_cell", "measured_cell", "signs_cell", "strong"]


def measured_cell(of: Measured, show: Show) -> str:
    """A value above its interval."""
    return f"{value_in_words(of.value, show)}<small>{between(of.low, of.high, show)}</small>"


def difference_cell(of: Difference, show: Show) -> str:
    """A difference above its interval, and whether nothing was told, or nothing could be."""
    ends, value = between(of.low, of.high, show), _signed(of.mean, show)
    if of.told:
        return f"{value}<small>{ends}</small>"
    if of.low is not None:
        ends += ", too few" if of.lacking else ", not told"
    return f'<span class="quiet">{value}</span><small>{ends}</small>'


def signs_cell(of: Signs) -> str:
    """In how many languages it is ahead, and how many are level."""
    said = f"{of.wins} of {of.wins + of.losses + of.ties}"
    told = of.p is not None and of.p <= LEVEL
    shown = said if told else f'<span class="quiet">{said}</span>'
    return shown + (f"<small>{of.ties} level</small>" if of.ties else "")


def chance_cell(of: Chance) -> str:
    """What guessing gives, in hundredths, above its standard error."""
    return f"{hundredths(of.level)}<small>± {hundredths(of.error)}</small>"


def strong(cell: str, is_so: bool) -> str:
    """In bold, where it is so."""
    value, small, rest = cell.partition("<small>")
    return f"<strong>{value}</strong>{small}{rest}" if is_so else cell


def between(low: float | None, high: float | None, show: Show) -> str:
    """`[0.12, 0.16]`, or that there are too few for it."""
    if low is None or high is None:
        return "(too few)"
    return escape(f"[{_set(show(low))}, {_set(show(high))}]")


def _signed(value: float, show: Show) -> str:
    said = _set(show(value))
    return said if said.startswith("−") or not said.strip("0.") else f"+{said}"


def _set(said: str) -> str:
    """With a true minus, and none before nothing."""
    return said.lstrip("-") if not said.strip("-0.") else said.replace("-", "−")
