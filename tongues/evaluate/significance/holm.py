"""Many comparisons at once: luck alone would tell one of twenty apart."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from tongues.evaluate.significance.difference import Difference

__all__ = ["holm"]

Key = TypeVar("Key")


def holm(differences: Mapping[Key, Difference]) -> dict[Key, Difference]:
    """The same differences with p by Holm: that any is told apart by luck happens in 5 % at most.

    Those of which nothing can be told are not counted. Intervals stay those of each alone.
    """
    ranked = sorted(
        ((of.p, key) for key, of in differences.items() if of.p is not None),
        key=lambda pair: pair[0],
    )
    found, p = dict(differences), 0.0
    for place, (own, key) in enumerate(ranked):
        p = max(p, min(1.0, own * (len(ranked) - place)))
        found[key] = replace(differences[key], p=p, among=len(ranked))
    return found
