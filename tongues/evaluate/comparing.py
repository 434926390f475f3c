"""Models beside others: one correction for all that is looked at, by luck or not."""

from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from tongues.significance import Difference, holm

__all__ = ["corrected", "translated"]

Pair = TypeVar("Pair")

_PARALLEL = 0.5  # of all documents or items that stand in several languages: translations


def corrected(
    each: Mapping[Pair, Mapping[str, Difference]],
) -> dict[Pair, dict[str, Difference]]:
    """The differences of each pair of models by language, allowing for all pairs and languages."""
    flat = {(pair, language): of for pair, by in each.items() for language, of in by.items()}
    found = holm(flat)
    return {pair: {language: found[pair, language] for language in by} for pair, by in each.items()}


def translated(names: Sequence[Collection[str]]) -> bool:
    """Whether languages say the same: most documents or items, by name, stand in several."""
    own = [set(of) for of in names]
    counts: dict[str, int] = {}
    for of in own:
        for name in of:
            counts[name] = counts.get(name, 0) + 1
    shared = sum(count for count in counts.values() if count > 1)
    return shared > 0 and shared >= _PARALLEL * sum(map(len, own))
