"""The second stage: which documents are kept, and which the split keeps together.

It reads the stored signals, not the text: a new threshold needs only this stage again.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tongues import recipe
from tongues.core.errors import UserError
from tongues.core.files import fingerprint, read_json, whole_file, write_json
from tongues.core.ranks import Say
from tongues.languages import expected_scripts
from tongues.text.corpus import Corpus, Selection
from tongues.text.siblings import likeness
from tongues.text.signals import LIMIT, NEAR, SIGNALS, Rule, Signal, in_order, reasons, signals_in
from tongues.text.signals.benchmarks import load_benchmarks
from tongues.text.signals.near import clusters, connect
from tongues.text.sources import TextSource, files_passed_over, find_benchmarks
from tongues.text.summarise import summarise
from tongues.text.summary import read_summary
from tongues.text.words import SAID, nothing_kept_words, selection_lines, show_dropped

_LAYOUT = 3  # raised when the same signals and thresholds give another selection than before
_TOGETHER = 0.5  # similarity from which the split keeps two documents together


def write_selection(
    settings: recipe.Text, corpus: Corpus, sources: Sequence[TextSource], tell: Say
) -> None:
    """Write the selection, unless it is up to date, and report what it kept."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    clean = settings.model_dump(mode="json")
    read_from = [each["made_from"] for each in corpus.sources]
    aside = files_passed_over(settings)
    parts = {"layout": _LAYOUT, "clean": clean, "sources": read_from, "passed_over": aside}
    made_from = fingerprint(parts)
    path, selected = corpus.path / "corpus.json", corpus.path / "selected.parquet"
    there = path.exists() and selected.exists()
    if not there or read_json(path)["made_from"] != made_from:
        path.unlink(missing_ok=True)  # a kill must not leave it with another selection
        selection = select(settings, corpus, sources)
        names = {"reason": selection.reason, "cluster": selection.cluster}
        table = pa.table(names | {"component": selection.component})
        with whole_file(selected) as temporary:
            pq.write_table(table, temporary, compression="zstd")
        summary = summarise(corpus, selection, aside)
        write_json(path, {"made_from": made_from, "reasons": selection.reasons, **summary})
    named = load_benchmarks(find_benchmarks(settings))
    if named.too_short:
        tell(SAID["too_short"].format(items=named.items, few=named.too_short))
    for line in selection_lines(read_summary(corpus.path)):
        tell(line)


def read_selection(corpus: Corpus) -> Selection:
    """The selection in a corpus's folder."""
    import pyarrow.parquet as pq

    table = pq.ParquetFile(corpus.path / "selected.parquet").read(use_threads=False)
    names = ("reason", "cluster", "component")
    reason, cluster, component = (table[name].to_numpy() for name in names)
    summary = read_summary(corpus.path)
    thresholds = {lang: about["thresholds"] for lang, about in summary["languages"].items()}
    component = component.astype(np.uint64, copy=False)
    return Selection(tuple(summary["reasons"]), reason, cluster, component, thresholds)


def nothing_kept(corpus: Corpus) -> dict[str, UserError]:
    """Of each language without a document that is kept, the reason and the next step."""
    errors: dict[str, UserError] = {}
    keys = {rule.reason: signal.key for signal, rule in in_order(SIGNALS.built_in)}
    for lang, about in read_summary(corpus.path)["languages"].items():
        if about["kept"]["documents"]:
            continue
        samples = [sample for source in about["sources"] for sample in source["fault_samples"]]
        why, fault, named = "no_document", dict[str, Any](), dict[str, object]()
        if about["read"]["documents"]:
            most = max(about["dropped"].items(), key=lambda each: each[1]["documents"])[0]
            named = {"dropped": show_dropped(about["dropped"]), "corpus": corpus.path}
            named["key"] = keys.get(most)
            why = "dropped_by_key" if named["key"] else "dropped"
        elif samples:
            fault = samples[0]
            why = "unreadable" if fault["sample"] else "empty"
        what, hint = nothing_kept_words(why, lang, fault, **named)
        errors[lang] = UserError(what, where=f"text of {lang}", hint=hint)
    return errors


def select(settings: recipe.Text, corpus: Corpus, sources: Sequence[TextSource]) -> Selection:
    """Which documents to keep.

    Synthetic text is clean: none of it is dropped, but the split keeps similar documents together.
    """
    levels = settings.clean.levels
    levels_of = {lang: settings.clean.levels_of(lang) for lang in corpus.languages}
    signals = signals_in(tuple(levels))
    names = reasons(signals)
    reason = np.zeros(corpus.count, dtype=np.uint8)
    synthetic = set(settings.synthetic.languages) if settings.synthetic else set()
    judged = np.isin(corpus.lang, [corpus.languages.index(lang) for lang in synthetic], invert=True)
    reason[_beyond_limits(corpus, sources)] = names.index(LIMIT)
    thresholds: dict[str, dict[str, float]] = {lang: {} for lang in corpus.languages}
    for signal, rule in in_order(signals):
        level = {lang: each.get(signal.key, "off") for lang, each in levels_of.items()}
        if rule.keeps != "one of each" and set(level.values()) != {"off"}:
            beyond = _judge(signal, rule, level, corpus, judged & (reason == 0), thresholds)
            reason[beyond] = names.index(rule.reason)
    near = levels[NEAR.key]
    for lang in set(corpus.languages) - synthetic if near != "off" else ():
        thresholds[lang][NEAR.key] = float(near)
    alive = np.flatnonzero(reason == 0)
    at_thresholds = clusters(
        len(alive),
        lambda band: corpus.numbers(f"band_{band:02}")[alive],
        lambda documents: corpus.signatures(alive[documents]),
        [_TOGETHER] if near == "off" else [_TOGETHER, float(near)],
    )
    cluster = np.full(corpus.count, -1, dtype=np.int64)
    cluster[alive] = alive[at_thresholds[-1]]
    once = [(signal, rule) for signal, rule in in_order(signals) if rule.keeps == "one of each"]
    once = [(x, rule) for x, rule in once if rule.always or levels[x.key] != "off"]
    component = np.zeros(corpus.count, dtype=np.uint64)
    equal = (corpus.numbers(signal.name)[alive] for signal, _ in once if signal is not NEAR)
    component[alive] = _components(corpus.numbers("group_hash")[alive], at_thresholds[0], equal)
    del at_thresholds  # memory, with millions of documents
    for signal, rule in once:
        there = np.flatnonzero(reason == 0)
        key = cluster if signal is NEAR else corpus.numbers(signal.name)
        later = there[_later(key[there], corpus, there)]
        reason[later[judged[later]]] = names.index(rule.reason)
    return Selection(names, reason, cluster, component, thresholds)


def _beyond_limits(corpus: Corpus, sources: Sequence[TextSource]) -> np.ndarray:
    beyond = np.zeros(corpus.count, dtype=bool)
    by_settings: dict[tuple[str, int], list[TextSource]] = {}
    for source in sources:
        by_settings.setdefault((source.lang, id(source.settings)), []).append(source)
    for (lang, _), same in by_settings.items():
        most, names = same[0].at_most, {source.name for source in same}
        if most is None or most.unit == "tokens":
            continue
        parts = [part for part in corpus.parts if part.lang == lang and part.source in names]
        ranges = [np.arange(part.first, part.first + part.count) for part in parts]
        documents = np.concatenate([np.empty(0, int), *ranges])
        ones = np.ones(len(documents), int)
        amounts = ones if most.unit == "documents" else corpus.sizes[documents]
        beyond[documents[np.cumsum(amounts) - amounts >= most.number]] = True
    return beyond


def _judge(
    signal: Signal,
    rule: Rule,
    level: Mapping[str, float | str],
    corpus: Corpus,
    among: np.ndarray,
    thresholds: dict[str, dict[str, float]],
) -> np.ndarray:
    """Which of the documents `among` a threshold drops; fills in `thresholds` by language."""
    values = corpus.numbers(signal.name).astype(np.float64)
    if signal.name == "script_share":
        scripts, names = corpus.words("script")
        for code, lang in enumerate(corpus.languages):  # documents in another script than its own
            here = (corpus.lang == code) & among
            if not here.any():
                continue
            counts = np.bincount(scripts[here], minlength=len(names))
            own = expected_scripts(lang)
            expected = [of in own for of in names]
            main = np.where(expected, counts, 0) if counts[expected].any() else counts
            values[here & (scripts != main.argmax())] = 0.0
    if signal.name == "siblings":
        values[:] = np.nan
        for lang in (each for each in corpus.languages if level[each] != "off"):
            values = np.fmax(values, likeness(corpus, lang, among))
    beyond = np.zeros(corpus.count, dtype=bool)
    compare = {"at least": np.less, "at most": np.greater, "below": np.greater_equal}[rule.keeps]
    for code, lang in enumerate(corpus.languages):
        here = (corpus.lang == code) & among & ~np.isnan(values)
        value = level[lang]
        if not here.any() or value == "off":
            continue
        thresholds[lang][signal.key] = float(value)
        beyond |= here & compare(values, float(value))
    return beyond


def _later(key: np.ndarray, corpus: Corpus, documents: np.ndarray) -> np.ndarray:
    """Whether a better document of the language has the same key.

    The longest is best, then the one with the least hash, so the order of files does not matter.
    """
    lang, exact = corpus.lang[documents], corpus.numbers("exact")[documents]
    size = -corpus.numbers("characters")[documents].astype(np.int64)
    order = np.lexsort((exact, size, lang, key))
    later = np.zeros(len(exact), dtype=bool)
    first, second = order[:-1], order[1:]
    later[second] = (key[first] == key[second]) & (lang[first] == lang[second])
    return later


def _components(group: np.ndarray, label: np.ndarray, keys: Iterable[np.ndarray]) -> np.ndarray:
    """The least group hash among all documents linked by their groups, a label or one of the keys.

    label: the smallest index of the documents that are together already.
    """
    label = label.copy()
    for key in (group, *keys):
        order = np.argsort(key, kind="stable")
        same = key[order[1:]] == key[order[:-1]]
        connect(label, order[:-1][same], order[1:][same])
    least = np.full(len(group), np.iinfo(np.uint64).max)
    np.minimum.at(least, label, group)
    return least[label]
