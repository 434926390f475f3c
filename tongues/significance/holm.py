"""Many comparisons at once: luck alone would tell one of twenty apart."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from tongues.estimate import LEVEL, Estimate
from tongues.significance.paired import CUTS, fewest_documents

__all__ = ["holm"]

Key = TypeVar("Key")


def holm(differences: Mapping[Key, Estimate], among: int | None = None) -> dict[Key, Estimate]:
    """The same differences with p by Holm: that any is told apart by luck happens in 5 % at most.

    Those of which nothing can be told are not counted. Intervals stay those of each alone. among:
    of how many these were chosen, where that is more. One whose documents are too few for so many
    comparisons says so.
    """
    ranked = sorted(
        ((of.p, key) for key, of in differences.items() if of.p is not None),
        key=lambda pair: pair[0],
    )
    count = max(len(ranked), among or 0)
    found, p = dict(differences), 0.0
    for place, (own, key) in enumerate(ranked):
        p = max(p, min(1.0, own * (count - place)))
        found[key] = _allowing(differences[key], p, count)
    return found


def _allowing(of: Estimate, p: float, count: int) -> Estimate:
    """The difference among so many comparisons, at the p that follows."""
    corrected = replace(of, p=p, among=count)
    needed = fewest_documents(count) if of.method == CUTS and of.n is not None else 0
    if p > LEVEL and (of.n or 0) < needed:
        what = f"{needed} documents are needed for {count} comparisons"
        return replace(corrected, reason=f"{what}, there are {of.n}")
    return corrected
