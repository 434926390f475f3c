"""Distances between languages: of a family, from features, and the nearest languages."""

from collections.abc import Mapping, Sequence

import numpy as np

from tongues.core.errors import UserError
from tongues.experts import words
from tongues.experts.partition.partition import Distances
from tongues.recipe import Ancestry


def nearest_donors(
    distances: Distances, known: Sequence[str], new: Sequence[str]
) -> dict[str, str]:
    """The nearest of the known languages for every new one; of equally near ones the first.

    A UserError where all of several known languages are equally far: the distances say nothing.
    """
    if not known:
        raise UserError("there is no language to be a donor", hint="name the known languages")
    chosen = {}
    for lang in new:
        far = {distances[lang][other] for other in known}
        if len(known) > 1 and len(far) == 1:
            what = f"all languages are equally far from `{lang}`, at {far.pop():.3g}"
            raise UserError(what, hint="name its donor")
        chosen[lang] = min(known, key=distances[lang].__getitem__)
    return chosen


def family_distances(languages: Mapping[str, Ancestry]) -> Distances:
    """1 - the share that was kept on the way from one to the other; 1 without a common parent."""
    shared: dict[str, dict[str, float]] = {}  # of each language, with itself and its ancestors
    for lang in languages:
        shared[lang], share, at = {}, 1.0, lang
        while at is not None:
            shared[lang][at] = share
            share *= 1.0 - languages[at].divergence
            at = languages[at].parent

    def apart(one: Mapping[str, float], other: Mapping[str, float]) -> float:
        return 1.0 - max((one[lang] * other[lang] for lang in one if lang in other), default=0.0)

    return {a: {b: apart(shared[a], shared[b]) for b in languages} for a in languages}


def named(languages: Sequence[str], matrix: np.ndarray) -> Distances:
    """A square matrix as distances by name; the two halves become exactly equal."""
    even = (matrix + matrix.T) / 2
    np.fill_diagonal(even, 0.0)
    rows = zip(languages, even.tolist(), strict=True)
    return {lang: dict(zip(languages, row, strict=True)) for lang, row in rows}


def cosine_distances(
    languages: Sequence[str], features: np.ndarray
) -> tuple[Distances, tuple[str, ...]]:
    """Distances 1 - cosine between rows of features, NaN where one is not known, and notes.

    A product is of features known of both languages; a norm is of all known of one.
    Languages without a known feature are at distance 1 from all; a note names them.
    """
    known = ~np.isnan(features)
    filled = np.where(known, features, 0.0)
    norms = np.sqrt((filled * filled).sum(axis=1))
    scale = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    cosine = (filled * scale[:, None]) @ (filled * scale[:, None]).T
    distances = named(languages, np.clip(1 - cosine, 0.0, 2.0))
    counts = dict(zip(languages, known.sum(axis=1).tolist(), strict=True))
    width, notes = features.shape[1], []
    if unknown := ", ".join(f"`{lang}`" for lang in languages if not counts[lang]):
        notes.append(words.NONE_KNOWN.format(languages=unknown))
    notes += [
        words.FEW_KNOWN.format(language=lang, count=count, width=width)
        for lang, count in counts.items()
        if 0 < count < width / 2
    ]
    both = known.astype(np.int32) @ known.T
    apart = [
        f"`{languages[i]}` and `{languages[j]}`"
        for i, j in np.argwhere(np.triu(both == 0, 1)).tolist()
        if counts[languages[i]] and counts[languages[j]]
    ]
    if apart:
        notes.append(words.NONE_SHARED.format(pairs="; ".join(apart)))
    return distances, tuple(notes)
