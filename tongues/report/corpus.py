"""The page of a corpus: how much was kept, what was dropped and why, and what is inside."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tongues.core.pages import blocks as b
from tongues.core.pages import percent_cell
from tongues.core.quantities import counted, show_bytes
from tongues.report.corpus_figures import languages_identified
from tongues.report.tokenizer import choice, tokenizer_blocks, tokenizer_numbers
from tongues.text.reading import REASONS
from tongues.text.signals import LIMIT, SIGNALS
from tongues.text.summary import (
    CorpusSummary,
    LanguageSummary,
    faults_by_reason,
    read_summary,
)
from tongues.text.tokens.measures import SAMPLE, TokenizerMeasures, documents_on, measure_tokenizers
from tongues.text.tokens.split import few_groups
from tongues.text.tokens.store import Manifest, read_manifest, tokens_of

Row = Mapping[str, b.Entry]

_FAULTS = 12  # of a language, shown
_EXAMPLE = 90  # characters of a dropped document
_SOURCES = 12  # of a language, the largest, next to their part of the held-out text
_ABOUT_HELD_OUT = (
    "Groups of documents are held out by the hash of their name, so the held-out text stays the "
    "same when text is added. Of few groups, or large ones, its sources have other shares than "
    "those of the training text: the table by source compares them. Left out: documents of either "
    "side that contain much of a document of the other."
)


def corpus_page(place: Path, progress: Callable[[str], None]) -> b.Page:
    """The page of the corpus at `place`; `progress` gets a line for each step.

    Where tokens of the corpus are in `tokens/` next to `corpus/`, the page compares their
    tokenizers.
    """
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
    return _page(f"Corpus {place.resolve().name}", summary, measures, manifests)


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
    size = f"{show_bytes(kept['bytes'])} of {show_bytes(read['bytes'])}"
    cautions = [f"{c['sentence']} ({c['code']})." for c in summary["cautions"]]
    splits = manifests[0]["splits"] if manifests else {}
    few = [few_groups(lang, split) for lang, split in splits.items()]
    cautions += [f"{each}." for each in few if each]
    reasons = b.Table.of(_reasons(languages, read["bytes"]))
    table = b.Table.of(_row(lang, about) for lang, about in languages.items())
    lead = (
        f"{counted(len(languages), 'language')}: {kept['documents']:,} of "
        f"{read['documents']:,} documents kept, {size}"
    )
    return b.Page(
        title,
        [
            b.Callout("What to fix", cautions) if cautions else None,
            b.Section("reasons", "What was dropped", [reasons]) if reasons.rows else None,
            *_held_out(manifests),
            b.Section("languages", "Languages", [table]),
            languages_identified(languages),
            b.Paragraph(choice(measures), "lead") if len(measures) > 1 else None,
            *(tokenizer_blocks(measures) if measures else []),
            *(b.Section(f"language-{x}", x, _language(x, about)) for x, about in languages.items()),
        ],
        lead=[b.Paragraph(lead, "lead")],
        numbers={**summary}
        | {"tokenizers": [tokenizer_numbers(each) for each in measures]}
        | {"held_out": splits or None},
    )


def _held_out(manifests: Sequence[Manifest]) -> list[b.Block]:
    """A section for each held-out text; tokenizers of one share of the hashes have the same."""
    different: list[Manifest] = []
    for manifest in manifests:
        if all(manifest["groups"] != other["groups"] for other in different):
            different.append(manifest)
    return [
        b.Section(f"held-out{'-' * bool(n)}{n or ''}", "Held-out text", _of_split(manifest))
        for n, manifest in enumerate(different)
    ]


def _of_split(manifest: Manifest) -> list[b.Block]:
    """What the held-out text of each language consists of, next to its training text."""
    rows, sources = list[Row](), list[Row]()
    for lang, split in manifest["splits"].items():
        valid, overlap = manifest["languages"][lang]["valid"], split["overlap"]
        rows.append(
            {"language": lang, "independent groups": split["groups"], **_amount(valid)}
            | {"left out": overlap["documents"], "size left out": _size(overlap["bytes"])}
        )
        totals = {
            side: sum(each[side] for each in split["sources"].values())
            for side in ("train", "valid")
        }
        largest = sorted(split["sources"].items(), key=lambda each: -sum(each[1].values()))
        sources += [
            {"language": lang, "source": title}
            | {"of the held-out text": percent_cell(sizes["valid"], totals["valid"])}
            | {"of the training text": percent_cell(sizes["train"], totals["train"])}
            for title, sizes in largest[:_SOURCES]
        ]
    table = b.Table.of(sources)
    folded = b.Details("by source", [table], count=str(len(sources)))
    return [_ABOUT_HELD_OUT, b.Table.of(rows), table if len(sources) <= _SOURCES else folded]


def _reasons(languages: Mapping[str, LanguageSummary], read: int) -> Iterator[Row]:
    """A row for each reason, the largest first, with the beginning of a document, and the rest."""
    lost: dict[str, dict[str, tuple[int, int, str]]] = {}  # documents, bytes, example
    for lang, about in languages.items():
        for why, size in about["dropped"].items():
            samples = [each["text"] for each in about["samples"].get(why, [])]
            row = (size["documents"], size["bytes"], "".join(samples[:1]))
            lost.setdefault(why, {})[lang] = row
    order = sorted(lost, key=lambda why: -sum(size for _, size, _ in lost[why].values()))
    sizes = ((lang, about["kept"]) for lang, about in languages.items())
    kept = {lang: (size["documents"], size["bytes"], "") for lang, size in sizes}
    for why, each in [*((why, lost[why]) for why in order), ("kept", kept)] if lost else []:
        count, size = sum(row[0] for row in each.values()), sum(row[1] for row in each.values())
        most = max(each, key=lambda lang: each[lang][1])
        example = " ".join(each[most][2].split())[:_EXAMPLE]
        yield (
            {"reason": b.Cell(why, strong=why == "kept"), "documents": count}
            | {"size": _size(size), "of the bytes": percent_cell(size, read)}
            | {"mean size": _size(round(size / max(count, 1)))}
            | {"most in": b.Cell(most, link=f"#language-{most}")}
            | {"example": b.Cell(example, code=bool(example))}
        )


def _row(lang: str, about: LanguageSummary) -> Row:
    """What came in of a language and what stayed."""
    read, kept, foreign = about["read"], about["kept"], about["foreign"]
    return (
        {"language": b.Cell(lang, link=f"#language-{lang}")}
        | {"kept": percent_cell(kept["bytes"], read["bytes"]), **_amount(kept)}
        | {"documents read": read["documents"], "size read": _size(read["bytes"])}
        | {"other languages": "not known" if foreign is None else percent_cell(foreign)}
        | {"unreadable": sum(faults_by_reason(about).values())}
        | {"scripts": ", ".join(list(about["scripts"])[:3])}
    )


def _size(count: int) -> b.Cell:
    return b.Cell(show_bytes(count), count)


def _amount(size: Mapping[str, Any]) -> dict[str, b.Entry]:
    return {"documents": size["documents"], "size": _size(size["bytes"])}


def _language(lang: str, about: LanguageSummary) -> list[b.Block]:
    read, faults = about["read"], faults_by_reason(about)
    dropped = ((why, size, _rule(why, about)) for why, size in about["dropped"].items())
    table = b.Table.of(
        {"step": b.Cell(name, strong=not rule), **_amount(size)}
        | {"of the bytes": percent_cell(size["bytes"], read["bytes"]), "what goes": rule}
        for name, size, rule in [("read", read, ""), *dropped, ("kept", about["kept"], "")]
    )
    blocks: list[b.Block] = [table, b.Heading("Samples")]
    for why, samples in about["samples"].items():
        kept = why == "kept"
        known = "" if why == "other language" else lang  # what is in another is not in this one
        quotes = [b.Quote(sample["text"], known) for sample in samples]
        count = (about["kept"] if kept else about["dropped"][why])["documents"]
        head = why if kept else f"{why}: {_rule(why, about)}"
        blocks.append(b.Details(head, quotes, kept, f"{len(samples)} of {count:,}"))
    sources = b.Table.of(
        {"source": source["title"], **_amount(source)}
        | {"unreadable": sum(source["faults"].values()) or None}
        | {"": "cut at the limit of the recipe" if source["capped"] else ""}
        for source in about["sources"]
    )
    blocks += [b.Heading("Where it came from"), sources]
    if faults:
        rows = [row for source in about["sources"] for row in source["fault_samples"]][:_FAULTS]
        places = b.Table.of(
            {"reason": row["reason"], "what it is": REASONS.get(row["reason"])}
            | {"file": b.Cell(row["source"].rsplit("/", 1)[-1], title=row["source"])}
            | {"place": row["place"], "begins": b.Cell(row["sample"], code=True)}
            for row in rows
        )
        blocks.append(
            b.Details(f"{sum(faults.values()):,} places that could not be read", [places])
        )
    return blocks


def _rule(why: str, about: LanguageSummary) -> str:
    signal = next((each for each in SIGNALS if each.rule and each.rule.reason == why), None)
    if signal is None or signal.rule is None:  # of a package that is not installed, perhaps
        return "read after the most that the recipe wants was there" if why == LIMIT else why
    value = about["thresholds"].get(signal.key)
    return signal.rule.sentence.format("the least" if value is None else signal.show(value))
