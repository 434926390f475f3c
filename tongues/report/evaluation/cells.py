"""Numbers as the tables of an evaluation show them."""

from html import escape

from tongues.estimate import LEVEL, Estimate
from tongues.evaluate.numbers import Show, hundredths
from tongues.significance import Chance, Signs
from tongues.significance.words import value_in_words

__all__ = ["between", "chance_cell", "difference_cell", "measured_cell", "signs_cell", "strong"]


def measured_cell(of: Estimate, show: Show) -> str:
    """A value above its interval."""
    return f"{value_in_words(of.value, show)}<small>{between(of, show)}</small>"


def difference_cell(of: Estimate, show: Show) -> str:
    """A difference above its interval, and whether nothing was told, or nothing could be."""
    ends, value = between(of, show), _signed(of.value, show)
    if of.significant:
        return f"{value}<small>{ends}</small>"
    if of.low is not None:
        ends += ", too few" if of.reason else ", not told"
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


def between(of: Estimate, show: Show) -> str:
    """`[0.12, 0.16]`, or that there are too few for it."""
    if of.low is None or of.high is None:
        return "(too few)"
    return escape(f"[{_set(show(of.low))}, {_set(show(of.high))}]")


def _signed(value: float, show: Show) -> str:
    said = _set(show(value))
    return said if said.startswith("−") or not said.strip("0.") else f"+{said}"


def _set(said: str) -> str:
    """With a true minus, and none before nothing."""
    return said.lstrip("-") if not said.strip("-0.") else said.replace("-", "−")
