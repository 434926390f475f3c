"""The distances of made languages: how far each drifted, along the tree of mothers."""

from collections.abc import Mapping

from tongues.experts.partition.partition import Distances
from tongues.recipe import Drift

__all__ = ["family_distances"]


def family_distances(languages: Mapping[str, Drift]) -> Distances:
    """1 - the share that was kept on the way from one to the other; 1 without a common mother."""
    kept = {lang: _kept(lang, languages) for lang in languages}
    return {
        lang: {other: _apart(kept[lang], kept[other]) for other in languages} for lang in languages
    }


def _kept(lang: str, languages: Mapping[str, Drift]) -> dict[str, float]:
    """What a language shares with itself and with each of its mothers."""
    found, share = {}, 1.0
    at: str | None = lang
    while at is not None:
        found[at] = share
        share *= 1.0 - languages[at].distance
        at = languages[at].mother
    return found


def _apart(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """By way of the nearest mother that both have."""
    common = [one[lang] * other[lang] for lang in one if lang in other]
    return 1.0 - max(common, default=0.0)
