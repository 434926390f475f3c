"""What comparisons of models have in common: who leads, and corrections for many of them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import comb
from typing import TypeVar

from tongues.estimate import Estimate
from tongues.significance import holm

__all__ = ["corrected", "leaders", "translated"]

Pair = TypeVar("Pair")

_PARALLEL = 0.5  # of all documents or items that are in several languages: translations


def corrected(each: Mapping[Pair, Mapping[str, Estimate]]) -> dict[Pair, dict[str, Estimate]]:
    """The differences of each pair of models by language, allowing for all pairs and languages."""
    flat = {(pair, language): of for pair, by in each.items() for language, of in by.items()}
    found = holm(flat)
    return {pair: {language: found[pair, language] for language in by} for pair, by in each.items()}


def leaders(
    scores: Mapping[str, float],
    compare: Callable[[str, str], Estimate],
    *,
    languages: int,
    lower_wins: bool = False,
) -> list[str]:
    """The best model, and those that do not differ from it significantly.

    Allowing for all pairs of models, since any might have come out as the best, by chance too, and
    for how many languages are looked at. compare: gives the difference of two models by name.
    """
    best = (min if lower_wins else max)(scores, key=lambda name: scores[name])
    others = {name: compare(name, best) for name in scores if name != best}
    others = holm(others, among=languages * comb(len(scores), 2))
    return [name for name in scores if name == best or not others[name].significant]


def translated(names: Sequence[Collection[str]]) -> bool:
    """Whether languages say the same: most documents or items, by name, are in several."""
    own = [set(of) for of in names]
    counts: dict[str, int] = {}
    for of in own:
        for name in of:
            counts[name] = counts.get(name, 0) + 1
    shared = sum(count for count in counts.values() if count > 1)
    return shared > 0 and shared >= _PARALLEL * sum(map(len, own))
