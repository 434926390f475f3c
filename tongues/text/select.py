"""The second stage: which documents are kept, and which belong together, from stored signals.

Nothing is read again: another threshold is another selection over the same signals.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tongues import recipe
from tongues.quantities import percentile
from tongues.text.corpus import Corpus
from tongues.text.duplicates import clusters
from tongues.text.sources import Piece

__all__ = ["REASONS", "Selection", "select"]

# Why a document is dropped, in the order in which it is asked; the first reason counts.
REASONS = (
    "kept",
    "beyond the limit",
    "other language",
    "other script",
    "short",
    "repetitive",
    "repeated lines",
    "symbols",
    "digits",
    "benchmark",
    "copy",
    "near copy",
)
_TOGETHER = 0.5  # similarity from which two documents lie on one side of the split

# Reason, signal, the recipe's word for the threshold, and whether the signal must be above it.
_RULES: tuple[tuple[str, str, str, bool], ...] = (
    ("other language", "language_share", "language", True),
    ("other script", "script_share", "script", True),
    ("short", "characters", "characters", True),
    ("repetitive", "repetition", "repetition", False),
    ("repeated lines", "repeated_lines", "repeated_lines", False),
    ("symbols", "symbols", "symbols", False),
    ("digits", "digits", "digits", False),
)


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What became of every document of a corpus.

    reason: index into `REASONS`; 0 is kept.
    cluster: number of the first document that it is a near copy of, its own if none; -1 where
        it was dropped before copies were looked for.
    component: a hash that documents share when they must lie on one side of the split, because
        they are of one group or alike, in whatever language.
    thresholds: the value of each threshold, by language and its word in the recipe.
    """

    reason: np.ndarray
    cluster: np.ndarray
    component: np.ndarray
    thresholds: dict[str, dict[str, float]]

    @property
    def kept(self) -> np.ndarray:
        """Numbers of the documents that are kept."""
        return np.flatnonzero(self.reason == 0)


def select(settings: recipe.Text, corpus: Corpus, pieces: Sequence[Piece]) -> Selection:
    """Decide about every document of the corpus.

    Made text is made clean: of it nothing is dropped, but alike documents stay together.
    """
    reason = np.zeros(corpus.count, dtype=np.uint8)
    made = set(settings.made.languages) if settings.made else set()
    judged = np.isin(corpus.lang, [corpus.languages.index(lang) for lang in made], invert=True)
    _limit(corpus, pieces, reason)
    thresholds = _judge(settings.clean, corpus, judged, reason)
    most = settings.clean.benchmark
    if most != "off":
        _drop(reason, (corpus.numbers("benchmark") >= most) & judged, "benchmark")
    exact = corpus.numbers("exact")
    size = corpus.numbers("characters")
    alive = np.flatnonzero(reason == 0)
    near = settings.clean.near
    for lang in set(corpus.languages) - made:
        same = {"near": near, "benchmark": most}
        thresholds[lang] |= {word: float(value) for word, value in same.items() if value != "off"}
    similarities = [_TOGETHER] if near == "off" else [_TOGETHER, near]
    found = clusters(
        len(alive),
        lambda band: corpus.band(band)[alive],
        lambda documents: corpus.signatures(alive[documents]),
        similarities,
    )
    those = judged[alive], corpus.lang[alive], size[alive], exact[alive]
    if near != "off":
        reason[alive[_later(found[-1], *those)]] = REASONS.index("near copy")
    reason[alive[_later(exact[alive], *those)]] = REASONS.index("copy")
    cluster = np.full(corpus.count, -1, dtype=np.int64)
    cluster[alive] = alive[found[-1]]
    component = np.zeros(corpus.count, dtype=np.uint64)
    component[alive] = _components(corpus.numbers("group_hash")[alive], found[0], exact[alive])
    return Selection(reason, cluster, component, thresholds)


def _limit(corpus: Corpus, pieces: Sequence[Piece], reason: np.ndarray) -> None:
    """Drop what comes after the most documents or bytes that the recipe wants of a source."""
    sizes = corpus.numbers("bytes").astype(np.int64)
    by_settings: dict[tuple[str, int], list[Piece]] = {}
    for piece in pieces:
        by_settings.setdefault((piece.lang, id(piece.settings)), []).append(piece)
    for (lang, _), same in by_settings.items():
        settings = same[0].settings
        most = None if isinstance(settings, recipe.Made) else settings.at_most
        if most is None or most.unit == "tokens":
            continue
        names = {piece.name for piece in same}
        parts = [part for part in corpus.parts if part.lang == lang and part.piece in names]
        documents = np.concatenate(
            [np.arange(part.first, part.first + part.count) for part in parts] or [np.empty(0, int)]
        )
        one = np.ones(len(documents), np.int64) if most.unit == "documents" else sizes[documents]
        before = np.cumsum(one) - one
        reason[documents[before >= most.number]] = REASONS.index("beyond the limit")


def _judge(
    clean: recipe.Clean, corpus: Corpus, judged: np.ndarray, reason: np.ndarray
) -> dict[str, dict[str, float]]:
    """Apply the thresholds, each among the documents of a language that passed those before.

    A percentile is one of the signal's values there, so it drops nothing where there are few.
    """
    thresholds: dict[str, dict[str, float]] = {lang: {} for lang in corpus.languages}
    for why, signal, word, at_least in _RULES:
        threshold = getattr(clean, word)
        if threshold == "off":
            continue
        values = corpus.numbers(signal).astype(np.float64)
        if signal == "script_share":
            values = np.where(_main_script(corpus, reason), values, 0.0)
        for code, lang in enumerate(corpus.languages):
            here = (corpus.lang == code) & judged & (reason == 0) & ~np.isnan(values)
            if not here.any():
                continue
            if isinstance(threshold, str):
                method = "lower" if at_least else "higher"
                value = float(np.percentile(values[here], percentile(threshold), method=method))
            else:
                value = float(threshold)
            thresholds[lang][word] = value
            beyond = values < value if at_least else values > value
            _drop(reason, here & beyond, why)
    return thresholds


def _main_script(corpus: Corpus, reason: np.ndarray) -> np.ndarray:
    """Whether each document is written in the script that most of its language's are."""
    scripts, names = corpus.words("script")
    main = np.zeros(corpus.count, dtype=bool)
    for code in range(len(corpus.languages)):
        here = (corpus.lang == code) & (reason == 0)
        if here.any():
            most = int(np.argmax(np.bincount(scripts[here], minlength=len(names))))
            main |= (corpus.lang == code) & (scripts == most)
    return main


def _drop(reason: np.ndarray, which: np.ndarray, why: str) -> None:
    reason[which & (reason == 0)] = REASONS.index(why)


def _later(
    cluster: np.ndarray, judged: np.ndarray, lang: np.ndarray, size: np.ndarray, exact: np.ndarray
) -> np.ndarray:
    """Whether a document goes because its cluster has a better one of its language.

    The longest stays, and of equally long ones the one with the least hash, so that the order
    of files decides nothing.
    """
    order = np.lexsort((np.arange(len(exact)), exact, -size.astype(np.int64), lang, cluster))
    later = np.zeros(len(exact), dtype=bool)
    first, second = order[:-1], order[1:]
    later[second] = (cluster[first] == cluster[second]) & (lang[first] == lang[second])
    return later & judged


def _components(group: np.ndarray, cluster: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """The least group hash among all documents linked by groups, copies and likeness."""
    component = group.copy()
    links = [np.unique(key, return_inverse=True)[1] for key in (group, cluster, exact)]
    while True:
        before = component
        for link in links:
            least = np.full(link.max(initial=-1) + 1, np.iinfo(np.uint64).max)
            np.minimum.at(least, link, component)
            component = least[link]
        if np.array_equal(before, component):
            return component
