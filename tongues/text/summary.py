"""What came in, what was dropped and why, and what is inside: `corpus.json`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tongues.errors import Caution
from tongues.files import read_lines
from tongues.text.corpus import Corpus
from tongues.text.select import Selection
from tongues.text.signals import Signal, same_language

__all__ = ["show_dropped", "summarise"]

_BINS = 24
_SAMPLES = 5  # of each language and reason
_SAMPLE = 400  # characters
_FAULTS = 20  # of each piece, shown
_LARGEST = 10  # clusters shown
_NO_LANGUAGE = ("und", "zxx")  # nothing to tell a language by; code, tables and the like
_INSIDE = 0.0005  # share of a language inside, from which it is named
_MISTAGGED = 0.3  # share of documents in another language, from which the tag is doubted
_FOREIGN = 0.05  # share of other languages inside, from which a caution is due


def summarise(corpus: Corpus, selection: Selection, signals: Sequence[Signal]) -> dict[str, Any]:
    """Everything about a corpus that people should know, by language, in JSON."""
    sizes = corpus.numbers("bytes").astype(np.int64)
    characters = corpus.numbers("characters").astype(np.int64)
    labels, label_names = corpus.words("label")
    scripts, script_names = corpus.words("script")
    drawn = [(each, corpus.numbers(each.name)) for each in signals if each.axis]
    unknown = np.isnan(corpus.numbers("language_share"))
    exact = corpus.numbers("exact")
    shares = _shares(corpus, selection, sizes)
    samples = _samples(corpus, selection, exact)
    languages: dict[str, Any] = {}
    for code, lang in enumerate(corpus.languages):
        here = corpus.lang == code
        kept = here & (selection.reason == 0)
        languages[lang] = {
            "pieces": _pieces(corpus, lang),
            "read": _amount(here, sizes, characters),
            "kept": _amount(kept, sizes, characters),
            "dropped": {
                why: _amount(here & (selection.reason == number), sizes, characters)
                for number, why in enumerate(selection.reasons)
                if number and (here & (selection.reason == number)).any()
            },
            "thresholds": selection.thresholds[lang],
            "labels": _counts(labels[here], label_names),
            "scripts": _counts(scripts[here], script_names),
            "found": shares[lang],
            **_foreign(lang, shares[lang], bool(unknown[here].all())),
            "clusters": _clusters(selection.cluster[here & (selection.cluster >= 0)]),
            "signals": {
                each.name: _histogram(values[kept], values[here & ~kept], each)
                for each, values in drawn
            },
            "samples": samples[lang],
        }
    return {"languages": languages, "cautions": _cautions(languages)}


def show_dropped(dropped: Mapping[str, Mapping[str, object]]) -> str:
    """How many documents were dropped for each reason, in words."""
    return ", ".join(f"{why} {amount['documents']:,}" for why, amount in dropped.items())


def _pieces(corpus: Corpus, lang: str) -> list[dict[str, Any]]:
    pieces = []
    for mark in corpus.pieces:
        if mark["lang"] == lang:
            rows = read_lines(corpus.path / lang / mark["name"] / "faults.jsonl")[:_FAULTS]
            wanted = ("name", "source", "documents", "bytes", "capped", "faults")
            pieces.append({key: mark[key] for key in wanted} | {"fault_samples": rows})
    return pieces


def _amount(which: np.ndarray, sizes: np.ndarray, characters: np.ndarray) -> dict[str, int]:
    return {
        "documents": int(which.sum()),
        "bytes": int(sizes[which].sum()),
        "characters": int(characters[which].sum()),
    }


def _counts(codes: np.ndarray, names: list[str]) -> dict[str, int]:
    """How often each word occurs, the most frequent first."""
    counts = np.bincount(codes, minlength=len(names))
    order = np.lexsort((np.array(names, dtype=str), -counts))
    return {names[code]: int(counts[code]) for code in order if counts[code]}


def _shares(corpus: Corpus, selection: Selection, sizes: np.ndarray) -> dict[str, dict[str, float]]:
    """Of the kept text of each language, the share of its bytes found to be of each language."""
    sums: dict[str, dict[str, float]] = {lang: {} for lang in corpus.languages}
    for part, document, labels, shares in corpus.found():
        there = slice(part.first, part.first + part.count)
        weights = np.where(selection.reason[there] == 0, sizes[there], 0)[document] * shares
        names, code = np.unique(labels, return_inverse=True)
        for name, weight in zip(
            names.tolist(), np.bincount(code, weights, len(names)), strict=True
        ):
            sums[part.lang][name] = sums[part.lang].get(name, 0.0) + float(weight)
    found: dict[str, dict[str, float]] = {}
    for code, lang in enumerate(corpus.languages):
        total = max(int(sizes[(corpus.lang == code) & (selection.reason == 0)].sum()), 1)
        parts = sorted(sums[lang].items(), key=lambda item: (-item[1], item[0]))
        found[lang] = {name: round(s / total, 6) for name, s in parts if s / total >= 1e-4}
    return found


def _foreign(lang: str, found: dict[str, float], unknown: bool) -> dict[str, Any]:
    """The share of kept text that was found to be of other languages, and of which.

    Nothing is known where the identifier does not know the language itself.
    """
    if unknown:
        return {"foreign": None, "inside": None}
    others = {
        label: share
        for label, share in found.items()
        if label not in _NO_LANGUAGE and not same_language(lang, label)
    }
    inside = {label: share for label, share in others.items() if share >= _INSIDE}
    return {"foreign": round(sum(others.values()), 6), "inside": inside}


def _clusters(cluster: np.ndarray) -> dict[str, Any]:
    """How many documents have near copies, and how large the largest clusters of them are."""
    _, sizes = np.unique(cluster, return_counts=True)
    several = np.sort(sizes[sizes > 1])[::-1]
    return {
        "clusters": len(several),
        "documents": int(several.sum()),
        "largest": several[:_LARGEST].tolist(),
    }


def _histogram(kept: np.ndarray, dropped: np.ndarray, signal: Signal) -> dict[str, list[float]]:
    """Counts of a signal among the kept and the dropped; counts of things in doubling steps."""
    values = np.concatenate([kept, dropped]).astype(np.float64)
    values = values[~np.isnan(values)]
    if not len(values):
        return {"edges": [], "kept": [], "dropped": []}
    bins = signal.axis.bins if signal.axis else "small"
    if bins == "doubling":
        top = int(np.ceil(np.log2(max(values.max(), 1) + 1)))
        edges = np.concatenate([[0], 2.0 ** np.arange(top + 1)])
    else:  # most shares are small: narrow bins there
        power = 1 if bins == "even" else 3
        edges = np.linspace(0.0, 1.0, _BINS + 1) ** power
    both = [np.histogram(part[~np.isnan(part)], edges)[0].tolist() for part in (kept, dropped)]
    return {"edges": edges.tolist(), "kept": both[0], "dropped": both[1]}


def _samples(
    corpus: Corpus, selection: Selection, exact: np.ndarray
) -> dict[str, dict[str, list[dict[str, str]]]]:
    """The beginnings of some documents of each language and fate, chosen by hash."""
    chosen: list[np.ndarray] = []
    for code in range(len(corpus.languages)):
        for number in range(len(selection.reasons)):
            there = np.flatnonzero((corpus.lang == code) & (selection.reason == number))
            chosen.append(there[np.argsort(exact[there], kind="stable")[:_SAMPLES]])
    documents = np.concatenate([np.empty(0, int), *chosen])
    likes = _kept_likes(corpus, selection, documents)
    texts = corpus.chosen_texts(np.concatenate([documents, likes[likes >= 0]]))
    others = iter(texts[len(documents) :])
    samples: dict[str, dict[str, list[dict[str, str]]]] = {lang: {} for lang in corpus.languages}
    for document, like, text in zip(documents.tolist(), likes.tolist(), texts, strict=False):
        sample = {"text": text[:_SAMPLE]}
        if like >= 0:
            sample["like"] = next(others)[:_SAMPLE]
        why = selection.reasons[selection.reason[document]]
        samples[corpus.languages[corpus.lang[document]]].setdefault(why, []).append(sample)
    return samples


def _kept_likes(corpus: Corpus, selection: Selection, documents: np.ndarray) -> np.ndarray:
    """For each near copy among documents the one that was kept for it; -1 for others."""
    likes = np.full(len(documents), -1, dtype=np.int64)
    near = selection.reasons.index("near copy")
    for place in np.flatnonzero(selection.reason[documents] == near):
        document = documents[place]
        same = (selection.cluster == selection.cluster[document]) & (selection.reason == 0)
        likes[place] = np.flatnonzero(same & (corpus.lang == corpus.lang[document]))[0]
    return likes


def _said(about: dict[str, Any]) -> str:
    """How many places could not be read, by reason."""
    counts: dict[str, int] = {}
    for piece in about["pieces"]:
        for reason, count in piece["faults"].items():
            counts[reason] = counts.get(reason, 0) + count
    places = sum(counts.values())
    reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(counts.items()))
    return f"{places} place{'s' * (places > 1)} ({reasons})"


def _cautions(languages: dict[str, Any]) -> list[dict[str, str]]:
    cautions: list[Caution] = []
    for lang, about in languages.items():
        faults = sum(sum(piece["faults"].values()) for piece in about["pieces"])
        if faults:
            sentence = (
                f"{lang}: {_said(about)} could not be read; see corpus/*/{lang}/*/faults.jsonl"
            )
            cautions.append(Caution("unreadable_places", sentence))
        foreign = about["dropped"].get("other language", {"documents": 0})["documents"]
        if foreign > _MISTAGGED * about["read"]["documents"]:
            label, count = next(iter(about["labels"].items()))
            sentence = f"{lang}: {count} of {about['read']['documents']} documents were identified "
            sentence += f"as {label}; is the tag right?"
            cautions.append(Caution("other_language", sentence))
        for piece in about["pieces"]:
            if not piece["documents"]:
                sentence = f"{lang}: `{piece['source']}` holds no document"
                cautions.append(Caution("nothing_in_it", sentence))
        if (about["foreign"] or 0.0) > _FOREIGN:
            sentence = f"{lang}: {about['foreign']:.1%} of the kept text is of other languages"
            cautions.append(Caution("other_languages_inside", sentence))
    return [{"code": caution.code, "sentence": caution.sentence} for caution in cautions]
