"""Differences, measurements and counts in words: the one place where it is said what was told."""

from collections.abc import Callable, Iterable
from math import isnan

from tongues.estimate import LEVEL, Estimate
from tongues.significance.signs import Chance, Signs, fewest_languages, fewest_wins

__all__ = [
    "UNTOLD",
    "about_signs",
    "in_words",
    "measured_in_words",
    "signs_in_words",
    "value_in_words",
]

UNTOLD = "cannot be told apart"
_TOO_FEW = "too few to tell"
_SAME = "the languages say the same: in how many a model is ahead tells no more than the mean"

Show = Callable[[float], str]


def _plain(value: float) -> str:
    return f"{value:.2f}"


def in_words(
    difference: Estimate,
    show: Show = _plain,
    unit: str = "",
) -> str:
    """`lower by 0.12 [0.08, 0.16]`, `cannot be told apart` with what it may be, or `the same`.

    Or `too few to tell`, and how many are needed. show: writes a number. unit: stands behind the
    interval, such as `points`.
    """
    behind = f" {unit}" if unit else ""
    if difference.low is None or difference.high is None:
        return f"{_TOO_FEW} ({difference.reason})"
    if difference.low == difference.high == 0:
        return "the same"
    if not difference.significant:
        ends = f"[{show(difference.low)}, {show(difference.high)}]{behind}"
        if difference.reason:
            return f"{_TOO_FEW} {ends} ({difference.reason})"
        apart = difference.low > 0 or difference.high < 0  # by itself, not among so many
        among = f", allowing for {difference.among} comparisons" if apart else ""
        return f"{UNTOLD} {ends}{among}"
    size = difference.times(difference.significant)
    low, high = show(size.low or 0.0), show(size.high or 0.0)
    way = "lower by" if difference.significant < 0 else "higher by"
    return f"{way} {show(size.value)} [{low}, {high}]{behind}"


def value_in_words(value: float, show: Show) -> str:
    """A measured value, or that there is none."""
    return "not known" if isnan(value) else show(value)


def measured_in_words(
    measured: Estimate, show: Show = _plain, *, chance: Chance | None = None
) -> str:
    """`0.41 [0.38, 0.44]`; with chance also whether it can be told from guessing."""
    value = value_in_words(measured.value, show)
    if measured.low is None or measured.high is None:
        return f"{value} ({measured.reason})"
    said = f"{value} [{show(measured.low)}, {show(measured.high)}]"
    if chance is None:
        return said
    guessed = f"chance ({show(chance.level)} ± {show(chance.error)})"
    if measured.low > chance.level:
        return f"{said}, above {guessed}"
    if measured.high < chance.level:
        return f"{said}, below {guessed}"
    return f"{said}, cannot be told from {guessed}"


def signs_in_words(signs: Signs) -> str:
    """`ahead in 13 of 16 languages, 1 tie`, and where luck does as much, how many would tell."""
    count = signs.wins + signs.losses
    ties = f", {signs.ties} {'tie' if signs.ties == 1 else 'ties'}" if signs.ties else ""
    ahead = "ahead" if signs.wins >= signs.losses else "behind"
    said = f"{ahead} in {max(signs.wins, signs.losses)} of {count} languages{ties}"
    if signs.translated or (signs.p is not None and signs.p <= LEVEL):
        return said
    needed = fewest_wins(count, signs.among)
    return f"{said}: {f'{UNTOLD} ({needed} of {count} would tell)' if needed else _TOO_FEW}"


def about_signs(each: Iterable[Signs]) -> list[str]:
    """Why counts of languages tell nothing, each reason once for all of them."""
    reasons: dict[str, None] = {}
    for of in each:
        count = of.wins + of.losses
        if count + of.ties < 2:
            continue
        if of.translated:
            reasons[_SAME] = None
        elif fewest_wins(count, of.among) is None:
            needed = fewest_languages(of.among)
            reasons[f"a count of languages tells something from {needed} languages on"] = None
    return list(reasons)
