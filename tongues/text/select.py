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
from tongues.text.signals import LIMIT, NEAR, Rule, Signal, in_order, reasons, signals_in
from tongues.text.sources import Piece

__all__ = ["Selection", "select"]

_TOGETHER = 0.5  # similarity from which two documents lie on one side of the split


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """What became of every document of a corpus.

    reasons: what becomes of documents; the first is that they are kept.
    reason: index into `reasons`.
    cluster: number of the first document that it is a near copy of, its own if none; -1 where
        it was dropped before copies were looked for.
    component: a hash that documents share when they must lie on one side of the split, because
        they are of one group or alike, in whatever language.
    thresholds: the value of each threshold, by language and its word in the recipe.
    """

    reasons: tuple[str, ...]
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
    levels = settings.clean.levels
    signals = signals_in(tuple(levels))
    names = reasons(signals)
    reason = np.zeros(corpus.count, dtype=np.uint8)
    made = set(settings.made.languages) if settings.made else set()
    judged = np.isin(corpus.lang, [corpus.languages.index(lang) for lang in made], invert=True)
    reason[_beyond_limits(corpus, pieces)] = names.index(LIMIT)
    thresholds: dict[str, dict[str, float]] = {lang: {} for lang in corpus.languages}
    for signal, rule in in_order(signals):
        level = levels.get(signal.key, "off")
        if rule.keeps != "one of each" and level != "off":
            beyond = _judge(signal, rule, level, corpus, judged & (reason == 0), thresholds)
            reason[beyond] = names.index(rule.reason)
    near = levels[NEAR.key]
    for lang in set(corpus.languages) - made if near != "off" else ():
        thresholds[lang][NEAR.key] = float(near)
    alive = np.flatnonzero(reason == 0)
    found = clusters(
        len(alive),
        lambda band: corpus.band(band)[alive],
        lambda documents: corpus.signatures(alive[documents]),
        [_TOGETHER] if near == "off" else [_TOGETHER, float(near)],
    )
    keys = {
        signal: corpus.numbers(signal.name)
        for signal, rule in in_order(signals)
        if rule.keeps == "one of each"
        and signal is not NEAR
        and (rule.always or levels[signal.key] != "off")
    }
    component = np.zeros(corpus.count, dtype=np.uint64)
    links = [found[0], *(key[alive] for key in keys.values())]
    component[alive] = _components(corpus.numbers("group_hash")[alive], links)
    cluster = np.full(corpus.count, -1, dtype=np.int64)
    cluster[alive] = alive[found[-1]]
    for signal, rule in in_order(signals):
        key = keys.get(signal, cluster if signal is NEAR and near != "off" else None)
        if key is not None:
            there = np.flatnonzero(reason == 0)
            those = there[_later(key[there], corpus, there)]
            reason[those[judged[those]]] = names.index(rule.reason)
    return Selection(names, reason, cluster, component, thresholds)


def _beyond_limits(corpus: Corpus, pieces: Sequence[Piece]) -> np.ndarray:
    """What comes after the most documents or bytes that the recipe wants of a source."""
    beyond = np.zeros(corpus.count, dtype=bool)
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
        beyond[documents[before >= most.number]] = True
    return beyond


def _judge(
    signal: Signal,
    rule: Rule,
    level: float | str,
    corpus: Corpus,
    among: np.ndarray,
    thresholds: dict[str, dict[str, float]],
) -> np.ndarray:
    """Which of some documents a threshold drops; its value in each language goes to `thresholds`.

    A percentile is one of the signal's values there, so it drops nothing where there are few.
    """
    values = corpus.numbers(signal.name).astype(np.float64)
    if signal.name == "script_share":
        values = np.where(_main_script(corpus, among), values, 0.0)
    beyond = np.zeros(corpus.count, dtype=bool)
    for code, lang in enumerate(corpus.languages):
        here = (corpus.lang == code) & among & ~np.isnan(values)
        if not here.any():
            continue
        if isinstance(level, str):
            method = "lower" if rule.keeps == "at least" else "higher"
            value = float(np.percentile(values[here], percentile(level), method=method))
        else:
            value = float(level)
        thresholds[lang][signal.key] = value
        compare = {"at least": np.less, "at most": np.greater, "below": np.greater_equal}
        beyond |= here & compare[rule.keeps](values, value)
    return beyond


def _main_script(corpus: Corpus, among: np.ndarray) -> np.ndarray:
    """Whether each document is written in the script that most of its language's are."""
    scripts, names = corpus.words("script")
    main = np.zeros(corpus.count, dtype=bool)
    for code in range(len(corpus.languages)):
        here = (corpus.lang == code) & among
        if here.any():
            most = int(np.argmax(np.bincount(scripts[here], minlength=len(names))))
            main |= (corpus.lang == code) & (scripts == most)
    return main


def _later(key: np.ndarray, corpus: Corpus, documents: np.ndarray) -> np.ndarray:
    """Whether a document goes because a better one of its language has the same key.

    The longest stays, and of equally long ones the one with the least hash, so that the order
    of files decides nothing.
    """
    lang, exact = corpus.lang[documents], corpus.numbers("exact")[documents]
    size = corpus.numbers("characters")[documents].astype(np.int64)
    order = np.lexsort((np.arange(len(exact)), exact, -size, lang, key))
    later = np.zeros(len(exact), dtype=bool)
    first, second = order[:-1], order[1:]
    later[second] = (key[first] == key[second]) & (lang[first] == lang[second])
    return later


def _components(group: np.ndarray, keys: Sequence[np.ndarray]) -> np.ndarray:
    """The least group hash among all documents linked by groups or by one of some keys."""
    component = group.copy()
    links = [np.unique(key, return_inverse=True)[1] for key in (group, *keys)]
    while True:
        before = component
        for link in links:
            least = np.full(link.max(initial=-1) + 1, np.iinfo(np.uint64).max)
            np.minimum.at(least, link, component)
            component = least[link]
        if np.array_equal(before, component):
            return component
