"""Which models share the first place, since nothing tells them from the best."""

from collections.abc import Callable, Mapping
from math import comb

from tongues.significance import Difference, holm

__all__ = ["leaders"]


def leaders(
    scores: Mapping[str, float],
    compare: Callable[[str, str], Difference],
    *,
    languages: int,
    lower_wins: bool = False,
) -> list[str]:
    """The best model, and those that cannot be told from it.

    Allowing for all pairs of models, since any might have come out as the best, by luck too, and
    for how many languages are looked at. compare: gives the difference of two models by name.
    """
    best = (min if lower_wins else max)(scores, key=lambda name: scores[name])
    beside = {name: compare(name, best) for name in scores if name != best}
    beside = holm(beside, among=languages * comb(len(scores), 2))
    return [name for name in scores if name == best or not beside[name].told]
