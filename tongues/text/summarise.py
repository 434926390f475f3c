"""What a corpus is like once documents are selected: the content of `corpus.json`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tongues.core.files import read_lines
from tongues.text.corpus import Corpus, Selection
from tongues.text.signals import counts_as, large_others, own_label, same_language
from tongues.text.summary import MARKUP, LanguageSummary, TextSize, faults_by_reason
from tongues.text.words import caution_sentence

_SAMPLES = 5  # of each language and reason
_SAMPLE = 400  # characters
_FAULTS = 20  # of each source, in the summary
_OF_SOURCE = ("name", "title", "documents", "bytes", "capped", "faults", "lost", "repaired")
_NO_LANGUAGE = ("und", "zxx")  # und: too few letters; zxx: code, tables and the like
_INSIDE = 0.0005  # share from which another language is named; chosen: one text in 2,000
_MISTAGGED = 0.3  # share of documents in another language, from which the tag may be wrong; chosen
_MARKED_UP = 0.01  # share of the documents kept that are full of markup; chosen
_GARBLED = 0.01  # share of documents of another encoding, from which a caution is due; chosen
_FOREIGN = 0.05  # share of other languages from which a caution is due; chosen


def summarise(
    corpus: Corpus,
    selection: Selection,
    passed_over: Mapping[str, dict[str, dict[str, int]]],
) -> dict[str, Any]:
    """The content of `corpus.json` but for its fingerprint and reasons."""
    sizes = corpus.sizes
    markup = corpus.numbers("markup")
    labels, label_names = corpus.words("label")
    scripts, script_names = corpus.words("script")
    known = {each["lang"]: bool(each["known"]) for each in corpus.sources}
    shares = _shares(corpus, selection, sizes)
    samples = _samples(corpus, selection)

    def amount(which: np.ndarray) -> TextSize:
        return TextSize(documents=int(which.sum()), bytes=int(sizes[which].sum()))

    languages: dict[str, LanguageSummary] = {}
    for code, lang in enumerate(corpus.languages):
        here = corpus.lang == code
        kept = here & (selection.reason == 0)
        amounts = {
            why: amount(here & (selection.reason == number))
            for number, why in enumerate(selection.reasons)
            if number
        }
        others = {
            label: share
            for label, share in shares[lang].items()
            if label not in _NO_LANGUAGE and not counts_as(lang, label, known[lang])
        }
        sources = [
            {key: each[key] for key in _OF_SOURCE}
            | {"fault_samples": _faults(corpus.path / lang / each["name"])}
            for each in corpus.sources
            if each["lang"] == lang
        ]
        judged = bool(here.any() and (known[lang] or large_others(lang)))
        named = {label: share for label, share in others.items() if share >= _INSIDE}
        languages[lang] = LanguageSummary(
            sources=sources,
            marked_up=int((kept & (markup > MARKUP)).sum()),
            passed_over=passed_over.get(lang, {}),
            read=amount(here),
            kept=amount(kept),
            dropped={why: size for why, size in amounts.items() if size["documents"]},
            thresholds=selection.thresholds[lang],
            labels=_counts(labels[here], label_names),
            scripts=_counts(scripts[here], script_names),
            identified=shares[lang],
            known=known[lang],
            foreign=round(sum(others.values()), 6) if judged else None,
            foreign_shares=named if judged else None,
            samples=samples[lang],
        )
    cautions = [
        {"code": code, "sentence": caution_sentence(code, lang, about, title)}
        for lang, about in languages.items()
        for code, title in _cautions(lang, about)
    ]
    return {"languages": languages, "cautions": cautions}


def _faults(folder: Path) -> list[dict[str, Any]]:
    return read_lines(folder / "faults.jsonl")[:_FAULTS]


def _counts(codes: np.ndarray, names: list[str]) -> dict[str, int]:
    counts = np.bincount(codes, minlength=len(names))
    order = np.lexsort((np.array(names, dtype=str), -counts))
    return {names[code]: int(counts[code]) for code in order if counts[code]}


def _shares(corpus: Corpus, selection: Selection, sizes: np.ndarray) -> dict[str, dict[str, float]]:
    sums: dict[str, dict[str, float]] = {lang: {} for lang in corpus.languages}
    for part, document, labels, shares in corpus.identified():
        there = slice(part.first, part.first + part.count)
        weights = np.where(selection.reason[there] == 0, sizes[there], 0)[document] * shares
        names, code = np.unique(labels, return_inverse=True)
        totals = np.bincount(code, weights, len(names)).tolist()
        for name, weight in zip(names.tolist(), totals, strict=True):
            sums[part.lang][name] = sums[part.lang].get(name, 0.0) + weight
    shares_of: dict[str, dict[str, float]] = {}
    for code, lang in enumerate(corpus.languages):
        total = max(int(sizes[(corpus.lang == code) & (selection.reason == 0)].sum()), 1)
        parts = sorted(sums[lang].items(), key=lambda item: (-item[1], item[0]))
        shares_of[lang] = {name: round(s / total, 6) for name, s in parts if s / total >= 1e-4}
    return shares_of


def _samples(corpus: Corpus, selection: Selection) -> dict[str, dict[str, list[dict[str, str]]]]:
    exact = corpus.numbers("exact")
    chosen = [np.empty(0, int)]
    for code in range(len(corpus.languages)):
        for number in range(len(selection.reasons)):
            there = np.flatnonzero((corpus.lang == code) & (selection.reason == number))
            chosen.append(there[np.argsort(exact[there], kind="stable")[:_SAMPLES]])
    documents = np.concatenate(chosen)
    samples: dict[str, dict[str, list[dict[str, str]]]] = {lang: {} for lang in corpus.languages}
    for document, text in zip(documents.tolist(), corpus.chosen_texts(documents), strict=True):
        why, lang = selection.reasons[selection.reason[document]], corpus.lang[document]
        of_reason = samples[corpus.languages[lang]].setdefault(why, [])
        of_reason.append({"text": text[:_SAMPLE]})
    return samples


def _cautions(lang: str, about: LanguageSummary) -> Iterator[tuple[str, str]]:
    """What to look at in the text of a language, each with the title of a source it is about."""
    read, foreign = about["read"]["documents"], about["dropped"].get("other language")
    garbled = about["dropped"].get("mojibake")
    own = own_label(lang, about["identified"])
    kin = (share for x, share in about["identified"].items() if x != own and same_language(lang, x))
    made = all(source["name"] == "synthetic" for source in about["sources"])
    found = {
        "unreadable_places": bool(faults_by_reason(about)),
        "passed_over": bool(about["passed_over"]),
        "other_language": bool(foreign) and foreign["documents"] > _MISTAGGED * read,
        "markup": about["marked_up"] > _MARKED_UP * about["kept"]["documents"],
        "mojibake": bool(garbled) and garbled["documents"] > _GARBLED * read,
        "siblings": sum(kin) > _FOREIGN,
        "unknown_language": bool(read) and not about["known"] and not made,
    }
    yield from ((code, "") for code, is_so in found.items() if is_so)
    empty = [f"`{source['title']}`" for source in about["sources"] if not source["documents"]]
    if empty:
        yield "empty_source", empty[0] + (f" and {len(empty) - 1} more" if empty[1:] else "")
    if (about["foreign"] or 0.0) > _FOREIGN:
        yield "other_languages_inside", ""
