"""What was read, what was dropped and why, and its languages: `corpus.json`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from tongues.core.errors import UserError
from tongues.core.files import read_json, read_lines
from tongues.core.quantities import counted, show_bytes
from tongues.text.corpus import Corpus, Selection
from tongues.text.reading.streams import content_kind
from tongues.text.signals import counts_as, large_others

_SAMPLES = 5  # of each language and reason
_SAMPLE = 400  # characters
_FAULTS = 20  # of each source, in the summary
_FAULT_FILE = "faults.jsonl"
_OF_SOURCE = ("name", "title", "documents", "bytes", "capped", "faults", "lost")
_LARGEST = 10  # clusters of near copies in the summary
_NO_LANGUAGE = ("und", "zxx")  # und: too few letters; zxx: code, tables and the like
_INSIDE = 0.0005  # share from which another language is named
_MISTAGGED = 0.3  # share of documents in another language, from which the tag may be wrong
_MARKUP, _MARKED_UP = 0.2, 0.01  # share of a document, share of documents: a caution is due
_FOREIGN = 0.05  # share of other languages from which a caution is due


class TextSize(TypedDict):
    """An amount of text."""

    documents: int
    bytes: int
    characters: int


class LanguageSummary(TypedDict):
    """What was read, kept and dropped of a language's text."""

    sources: list[dict[str, Any]]  # title, documents, bytes, capped, faults, lost, fault_samples
    marked_up: int  # documents kept of which a fifth or more is tags
    passed_over: dict[str, dict[str, int]]  # files and bytes of its folders not read, by kind
    read: TextSize
    kept: TextSize
    dropped: dict[str, TextSize]  # by reason
    thresholds: dict[str, float]  # by recipe key
    labels: dict[str, int]  # documents by identified language
    scripts: dict[str, int]  # documents by the script of most of their letters
    identified: dict[str, float]  # share of the kept bytes, by identified language
    known: bool  # whether the identifier knows the language; else only large others are foreign
    foreign: float | None  # share of the kept bytes in other languages; None: unknown
    foreign_shares: dict[str, float] | None  # of each other language, but for the rarest
    clusters: dict[str, Any]  # clusters, documents, largest
    samples: dict[str, list[dict[str, str]]]  # by reason, and of the kept


class CorpusSummary(TypedDict):
    """`corpus.json`."""

    made_from: str
    reasons: list[str]
    languages: dict[str, LanguageSummary]
    cautions: list[dict[str, str]]


def read_summary(path: Path) -> CorpusSummary:
    """Read the summary of the corpus at `path`; a UserError when it is missing or damaged."""
    file = path / "corpus.json"
    hint = "run `tongues prepare` with its recipe"
    try:
        summary = read_json(file)
    except OSError:
        raise UserError("there is no corpus.json", where=str(path), hint=hint) from None
    except ValueError as error:
        raise UserError(f"cannot be read ({error})", where=str(file), hint=hint) from None
    whole = isinstance(summary, dict) and summary.keys() >= CorpusSummary.__required_keys__
    if not whole or not all(
        isinstance(about, dict) and about.keys() >= LanguageSummary.__required_keys__
        for about in summary["languages"].values()
    ):
        raise UserError("is not a complete summary of a corpus", where=str(file), hint=hint)
    return CorpusSummary(**summary)


def what_helps(lang: str, samples: Sequence[Mapping[str, Any]]) -> str:
    """What to do about files in another encoding, and about plain text too long for a document.

    samples: of faults. Empty where there is nothing to do.
    """
    advice = ""
    if any(sample["reason"] == "bad encoding" for sample in samples):
        advice = f"; `text.files.{lang}.encoding` names another encoding"
    if any(
        sample["reason"] == "too long" and content_kind(sample["source"]) in ("txt", "md")
        for sample in samples
    ):
        paragraphs = f"`text.files.{lang}.documents: paragraphs`"
        advice += f"; {paragraphs} makes documents of parts of a text file"
    return advice


def faults_by_reason(about: LanguageSummary) -> dict[str, int]:
    """The number of faults in a language's text, by reason."""
    counts: dict[str, int] = {}
    for source in about["sources"]:
        for reason, count in source["faults"].items():
            counts[reason] = counts.get(reason, 0) + count
    return counts


def show_dropped(dropped: Mapping[str, TextSize]) -> str:
    """The documents and bytes dropped by reason, as a sentence."""
    return "; ".join(
        f"{why} {amount['documents']:,}, {show_bytes(amount['bytes'])}"
        for why, amount in dropped.items()
    )


def summarise(
    corpus: Corpus,
    selection: Selection,
    passed_over: Mapping[str, dict[str, dict[str, int]]],
) -> dict[str, Any]:
    """The content of `corpus.json` but for its fingerprint and reasons."""
    sizes = corpus.numbers("bytes").astype(np.int64)
    characters = corpus.numbers("characters").astype(np.int64)
    markup = corpus.numbers("markup")
    labels, label_names = corpus.words("label")
    scripts, script_names = corpus.words("script")
    known = {each["lang"]: bool(each["known"]) for each in corpus.sources}
    shares = _shares(corpus, selection, sizes)
    samples = _samples(corpus, selection)

    def amount(which: np.ndarray) -> TextSize:
        size, length = int(sizes[which].sum()), int(characters[which].sum())
        return TextSize(documents=int(which.sum()), bytes=size, characters=length)

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
            | {
                "fault_samples": read_lines(corpus.path / lang / each["name"] / _FAULT_FILE)[
                    :_FAULTS
                ]
            }
            for each in corpus.sources
            if each["lang"] == lang
        ]
        near = selection.cluster[here & (selection.cluster >= 0)]
        cluster_sizes = np.unique(near, return_counts=True)[1]
        cluster_sizes = np.sort(cluster_sizes[cluster_sizes > 1])[::-1]
        in_clusters = {"clusters": len(cluster_sizes), "documents": int(cluster_sizes.sum())}
        judged = bool(here.any() and (known[lang] or large_others(lang)))
        named = {label: share for label, share in others.items() if share >= _INSIDE}
        languages[lang] = LanguageSummary(
            sources=sources,
            marked_up=int((kept & (markup > _MARKUP)).sum()),
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
            clusters=in_clusters | {"largest": cluster_sizes[:_LARGEST].tolist()},
            samples=samples[lang],
        )
    cautions = [{"code": code, "sentence": sentence} for code, sentence in _cautions(languages)]
    return {"languages": languages, "cautions": cautions}


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
    likes = np.full(len(documents), -1, dtype=np.int64)  # the document kept in place of a near copy
    near = selection.reasons.index("near copy")
    for place in np.flatnonzero(selection.reason[documents] == near):
        document = documents[place]
        same = (selection.cluster == selection.cluster[document]) & (selection.reason == 0)
        likes[place] = np.flatnonzero(same & (corpus.lang == corpus.lang[document]))[0]
    texts = corpus.chosen_texts(np.concatenate([documents, likes[likes >= 0]]))
    others = iter(texts[len(documents) :])
    samples: dict[str, dict[str, list[dict[str, str]]]] = {lang: {} for lang in corpus.languages}
    for document, like, text in zip(documents.tolist(), likes.tolist(), texts, strict=False):
        sample = {"text": text[:_SAMPLE]} | (
            {"near_copy_of": next(others)[:_SAMPLE]} if like >= 0 else {}
        )
        why = selection.reasons[selection.reason[document]]
        samples[corpus.languages[corpus.lang[document]]].setdefault(why, []).append(sample)
    return samples


def _cautions(languages: Mapping[str, LanguageSummary]) -> Iterator[tuple[str, str]]:
    for lang, about in languages.items():
        samples = [row for source in about["sources"] for row in source["fault_samples"]]
        if faults := faults_by_reason(about):
            places = sum(faults.values())
            reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(faults.items()))
            lost = sum(sum(source["lost"].values()) for source in about["sources"])
            what = f"{lang}: {counted(places, 'place')} ({reasons}; {show_bytes(lost)}) "
            what += f"could not be read; see corpus/*/{lang}/*/faults.jsonl"
            yield "unreadable_places", what + what_helps(lang, samples)
        if kinds := about["passed_over"]:
            sizes = [f"{x} {n['files']}, {show_bytes(n['bytes'])}" for x, n in kinds.items()]
            files = sum(each["files"] for each in kinds.values())
            what = f"{lang}: {counted(files, 'file')} passed over ({'; '.join(sizes)})"
            yield "passed_over", what
        read, foreign = about["read"]["documents"], about["dropped"].get("other language")
        if foreign and foreign["documents"] > _MISTAGGED * read:
            label, count = next(iter(about["labels"].items()))
            what = f"{lang}: {count} of {read} documents were identified as {label}; "
            what += "is the tag right? If it is, "
            what += f"`text.clean: {{languages: {{{lang}: {{language: off}}}}}}` keeps them"
            yield "other_language", what
        if about["marked_up"] > _MARKED_UP * about["kept"]["documents"]:
            what = f"{lang}: {about['marked_up']} of the documents kept are full of HTML or XML; "
            yield "markup", f"{what}`text.clean: {{markup: {_MARKUP}}}` drops them"
        made = all(source["name"] == "synthetic" for source in about["sources"])
        if read and not about["known"] and not made:
            searched = ", ".join(sorted(large_others(lang)))
            what = f"{lang}: the language identifier does not know it; "
            what += f"only documents in {searched} are dropped" if searched else "none is dropped"
            yield "unknown_language", f"{what}; name a model in `text.identifier` that does"
        for source in about["sources"]:
            if not source["documents"]:
                yield "empty_source", f"{lang}: `{source['title']}` holds no document"
        if (about["foreign"] or 0.0) > _FOREIGN:
            what = f"{lang}: {about['foreign']:.1%} of the kept text is in other languages"
            yield "other_languages_inside", what
