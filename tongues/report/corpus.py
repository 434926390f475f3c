"""The page of a corpus: how much was kept, what was dropped and why, and what is inside."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tongues.pages import blocks as b
from tongues.pages import check_folder, percent, percent_cell, share, write_page
from tongues.quantities import show_bytes
from tongues.report.corpus_figures import corpus_figures
from tongues.report.held_out import held_out_blocks
from tongues.report.tokenizer import choice, spelling, tokenizer_blocks, tokenizer_numbers
from tongues.text.reading import REASONS
from tongues.text.signals import LIMIT, SIGNALS
from tongues.text.summary import (
    CorpusSummary,
    LanguageSummary,
    TextSize,
    faults_by_reason,
    read_summary,
    show_dropped,
    show_removed,
)
from tongues.tokens.measures import SAMPLE, TokenizerMeasures, documents_on, measure_tokenizers
from tongues.tokens.split import few_groups
from tongues.tokens.store import Manifest, read_manifest, tokens_of

__all__ = ["about_languages", "write_corpus_report"]

_FAULTS = 12  # of a language, shown
_EXAMPLE = 90  # characters of a dropped document
_ABOUT_COPIES = (
    "A cluster holds documents that are near copies of one another, in whatever language; of those "
    "in one language the longest is kept. Near copies, and documents of one group, are on the same "
    "side of the split between training and held-out text."
)


def write_corpus_report(
    place: Path, out: Path, title: str = "", progress: Callable[[str], None] = lambda _: None
) -> Path:
    """Write the page of the corpus at `place` to `out`; returns its `index.html`.

    Where tokens of the corpus are in `tokens/` next to `corpus/`, the page compares their
    tokenizers.
    """
    check_folder(out)
    progress("reading the corpus")
    summary, made = read_summary(place), tokens_of(place)
    manifests = [read_manifest(path) for path in made]
    measures = measure_tokenizers(made, documents_on(place, SAMPLE), progress) if made else []
    for number, (measured, manifest) in enumerate(zip(measures, manifests, strict=True)):
        counts = manifest["languages"]
        languages = {
            lang: replace(each, prepared=counts[lang]["train"]["bytes_per_token"])
            if lang in counts
            else each
            for lang, each in measured.languages.items()
        }
        measures[number] = replace(measured, languages=languages)
    page = _page(title or f"Corpus {place.resolve().name}", summary, measures, manifests)
    return write_page(page, out, progress)


def about_languages(summary: CorpusSummary, clauses: Mapping[str, str]) -> dict[str, str]:
    """What a person needs to know of each language first, in one sentence.

    clauses: how the tokenizer does on a language, in a few words, where that is known.
    """
    sentences: dict[str, str] = {}
    for lang, about in summary["languages"].items():
        read, kept, faults = about["read"], about["kept"], sum(faults_by_reason(about).values())
        foreign, part = about["foreign"], percent(share(kept["bytes"], read["bytes"]))
        parts = [
            f"{part} kept: {kept['documents']:,} of {read['documents']:,} documents, "
            f"{show_bytes(kept['bytes'])}",
            f"dropped: {show_dropped(about['dropped'])}" if about["dropped"] else "",
            f"taken out of documents: {show_removed(about['removed'])}" if about["removed"] else "",
            f"{faults:,} places could not be read" if faults else "",
            f"{percent(foreign)} of what is kept is in other languages" if foreign else "",
            clauses.get(lang, ""),
        ]
        sentence = "; ".join(filter(None, parts)) + "."
        sentences[lang] = sentence if read["documents"] else "no document was read."
    return sentences


def _page(
    title: str,
    summary: CorpusSummary,
    measures: Sequence[TokenizerMeasures],
    manifests: Sequence[Manifest],
) -> b.Page:
    languages = summary["languages"]
    abouts = languages.values()
    read, kept = (
        {unit: sum(about[fate][unit] for about in abouts) for unit in ("documents", "bytes")}
        for fate in ("read", "kept")
    )
    copies = sum(
        size["documents"] for x in abouts for why, size in x["dropped"].items() if "copy" in why
    )
    unread = sum(sum(faults_by_reason(about).values()) for about in abouts)
    of_all = f"{percent(share(copies, read['documents']))} of the documents"
    size = f"{show_bytes(kept['bytes'])} of {show_bytes(read['bytes'])}"
    sources = f"in {sum(len(about['sources']) for about in abouts):,} sources"
    cards = [
        b.Card(percent(share(kept["bytes"], read["bytes"])), size, "of the text kept"),
        b.Card(f"{copies:,}", of_all, "copies and near copies dropped"),
        b.Card(f"{unread:,}", sources, "places that could not be read"),
    ]
    foreign = {
        x: about["foreign"] for x, about in languages.items() if about["foreign"] is not None
    }
    if worst := max(foreign, key=foreign.__getitem__, default=""):
        what = f"of `{worst}` is in other languages" + ", the highest" * (len(foreign) > 1)
        cards.insert(2, b.Card(percent(foreign[worst]), "of the bytes kept", what))
    if manifests:
        cards.insert(1, _held_out_card(manifests[0]))
    sentences = about_languages(summary, spelling(measures[0]) if len(measures) == 1 else {})
    topics = {f"[{lang}](#language-{lang})": [b.Paragraph(s)] for lang, s in sentences.items()}
    cautions = [f"{c['sentence']} ({c['code']})." for c in summary["cautions"]]
    splits = manifests[0]["splits"] if manifests else {}
    few = [each for lang, split in splits.items() for each in few_groups(lang, split)]
    cautions += [f"{each} (few_groups)." for each in few]
    (table, copied), reasons = _tables(languages), _reasons(languages, read)
    lead = (
        f"{len(languages)} language{'s' * (len(languages) != 1)}: {kept['documents']:,} of "
        f"{read['documents']:,} documents kept, {size}"
    )
    return b.Page(
        title,
        [
            b.Cards(cards),
            b.Callout("What to fix", cautions) if cautions else None,
            b.Section("reasons", "What was dropped", [reasons]) if reasons.rows else None,
            *_held_out(manifests),
            b.Topics(topics, "languages"),
            b.Section("languages", "Languages", [table]),
            *corpus_figures(summary),
            b.Section("duplicates", "Duplicates", [_ABOUT_COPIES, copied]),
            b.Paragraph(choice(measures), "lead") if len(measures) > 1 else None,
            *(tokenizer_blocks(measures) if measures else []),
            *(b.Section(f"language-{x}", x, _language(x, about)) for x, about in languages.items()),
        ],
        lead=[b.Paragraph(lead, "lead")],
        numbers={**summary, "sentences": sentences}
        | {"tokenizers": [tokenizer_numbers(each) for each in measures]}
        | {"held_out": splits or None},
    )


def _held_out_card(manifest: Manifest) -> b.Card:
    splits, counts = manifest["splits"].values(), manifest["languages"].values()
    size = sum(each["valid"]["bytes"] for each in counts)
    whole = size + sum(each["train"]["bytes"] for each in counts)
    groups = [each["groups"] for each in splits]
    most = f" to {max(groups)}" if len(groups) > 1 else ""
    what = f"held out, in {min(groups)}{most} independent groups"
    return b.Card(percent(share(size, whole)), show_bytes(size), what + " each" * (len(groups) > 1))


def _held_out(manifests: Sequence[Manifest]) -> list[b.Block]:
    """A section for each held-out text; tokenizers of one share of the hashes have the same."""
    different: list[Manifest] = []
    for manifest in manifests:
        if all(manifest["groups"] != other["groups"] for other in different):
            different.append(manifest)
    return [
        b.Section(f"held-out{'-' * bool(n)}{n or ''}", "Held-out text", held_out_blocks(manifest))
        for n, manifest in enumerate(different)
    ]


def _reasons(languages: Mapping[str, LanguageSummary], read: Mapping[str, int]) -> b.Table:
    """A row for each reason, the largest first, with the beginning of a document, and the rest."""
    lost: dict[str, dict[str, tuple[int, int, str]]] = {}  # documents or places, bytes, example
    for lang, about in languages.items():
        for why, size in about["dropped"].items():
            samples = [each["text"] for each in about["samples"].get(why, [])]
            row = (size["documents"], size["bytes"], "".join(samples[:1]))
            lost.setdefault(why, {})[lang] = row
        for kind, taken in about["removed"].items():
            row = (taken["places"], taken["bytes"], "".join(taken["samples"][:1]))
            lost.setdefault(f"taken out: {kind}", {})[lang] = row
    kept = {
        lang: (about["kept"]["documents"], about["kept"]["bytes"], "")
        for lang, about in languages.items()
    }
    order = sorted(lost, key=lambda why: -sum(size for _, size, _ in lost[why].values()))
    rows = list[Mapping[str, b.Entry]]()
    for why in [*order, "kept"] if order else []:
        each = kept if why == "kept" else lost[why]
        count = sum(row[0] for row in each.values())
        size = sum(row[1] for row in each.values())
        most = max(each, key=lambda lang: each[lang][1])
        example = " ".join(each[most][2].split())[:_EXAMPLE]
        rows.append(
            {"reason": b.Cell(why, strong=why == "kept"), "documents or places": count}
            | {"size": _size(size), "of the bytes": percent_cell(size, read["bytes"])}
            | {"mean size": _size(round(size / max(count, 1)))}
            | {"most in": b.Cell(most, link=f"#language-{most}")}
            | {"example": b.Cell(example, code=bool(example))}
        )
    return b.Table.of(rows)


def _tables(languages: Mapping[str, LanguageSummary]) -> tuple[b.Table, b.Table]:
    """A row per language: what came in and what stayed; and its copies."""
    rows, copied = list[Mapping[str, b.Entry]](), list[Mapping[str, b.Entry]]()
    for lang, about in languages.items():
        read, kept, clusters = about["read"], about["kept"], about["clusters"]
        foreign = about["foreign"]
        rows.append(
            {"language": b.Cell(lang, link=f"#language-{lang}")}
            | {"kept": percent_cell(kept["bytes"], read["bytes"])}
            | {"documents": kept["documents"], "size": _size(kept["bytes"])}
            | {"documents read": read["documents"], "size read": _size(read["bytes"])}
            | {"other languages": percent_cell(foreign) if foreign is not None else "not known"}
            | {"unreadable": sum(faults_by_reason(about).values())}
            | {"scripts": ", ".join(list(about["scripts"])[:3])}
        )
        gone = {why: about["dropped"].get(why) for why in ("copy", "near copy")}
        copied.append(
            {"language": lang}
            | {f"{why} dropped": size and size["documents"] for why, size in gone.items()}
            | {"clusters": clusters["clusters"], "documents in them": clusters["documents"]}
            | {"largest clusters": ", ".join(f"{size:,}" for size in clusters["largest"][:5])}
        )
    return b.Table.of(rows), b.Table.of(copied)


def _size(count: int) -> b.Cell:
    return b.Cell(show_bytes(count), count)


def _language(lang: str, about: LanguageSummary) -> list[b.Block]:
    read, faults = about["read"], faults_by_reason(about)
    lines = []
    for what, counts in (
        ("Scripts, by documents", about["scripts"]),
        ("Identified as, by documents", about["labels"]),
        ("Found inside what is kept, by bytes", about["identified"]),
    ):
        whole = 1.0 if counts is about["identified"] else read["documents"]
        parts = [f"`{name}` {percent(share(n, whole))}" for name, n in list(counts.items())[:6]]
        lines += [f"{what}: {', '.join(parts)}."] if parts else []
    steps: list[tuple[str, TextSize, str]] = [("read", read, "")]
    steps += [(why, size, _rule(why, about)) for why, size in about["dropped"].items()]
    sources = [
        {"source": b.Cell(source["title"]), "documents": source["documents"]}
        | {"size": _size(source["bytes"]), "unreadable": sum(source["faults"].values()) or None}
        | {"": "cut at the limit of the recipe" if source["capped"] else ""}
        for source in about["sources"]
    ]
    table = b.Table.of(
        [
            {"step": b.Cell(name, strong=not rule), "documents": size["documents"]}
            | {"size": _size(size["bytes"])}
            | {"of the bytes": percent_cell(size["bytes"], read["bytes"]), "what goes": rule}
            for name, size, rule in [*steps, ("kept", about["kept"], "")]
        ]
    )
    if removed := about["removed"]:
        lines.append(f"Taken out of documents as they were read: {show_removed(removed)}.")
    blocks: list[b.Block] = [b.Items(lines, "plain"), table, b.Heading("Samples")]
    for kind, taken in removed.items():
        quotes: list[b.Block] = [b.Quote(text, "") for text in taken["samples"]]
        if quotes:
            of = f"{len(quotes)} of {taken['places']:,}"
            blocks.append(b.Details(f"taken out: {kind}", quotes, count=of))
    for why, samples in about["samples"].items():
        kept = why == "kept"
        quotes = []
        for sample in samples:  # what was dropped as another language is not in this one
            quotes.append(b.Quote(sample["text"], "" if why == "other language" else lang))
            if like := sample.get("near_copy_of"):
                quotes += ["kept in its place:", b.Quote(like, lang)]
        count = (about["kept"] if kept else about["dropped"][why])["documents"]
        head = why if kept else f"{why}: {_rule(why, about)}"
        blocks.append(b.Details(head, quotes, kept, f"{len(samples)} of {count:,}"))
    blocks += [b.Heading("Where it came from"), b.Table.of(sources)]
    if faults:
        rows = [row for source in about["sources"] for row in source["fault_samples"]][:_FAULTS]
        places = [
            {"reason": row["reason"], "what it is": REASONS.get(row["reason"])}
            | {"file": b.Cell(row["source"].rsplit("/", 1)[-1], title=row["source"])}
            | {"place": row["place"], "begins": b.Cell(row["sample"], code=True)}
            for row in rows
        ]
        summary = f"{sum(faults.values()):,} places that could not be read"
        blocks.append(b.Details(summary, [b.Table.of(places)]))
    return blocks


def _rule(why: str, about: LanguageSummary) -> str:
    signal = next((each for each in SIGNALS if each.rule and each.rule.reason == why), None)
    if signal is None or signal.rule is None:  # of a package that is not installed, perhaps
        return "read after the most that the recipe wants was there" if why == LIMIT else why
    value = about["thresholds"].get(signal.key)
    return signal.rule.sentence.format("the least" if value is None else signal.show(value))
